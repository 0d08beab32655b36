"""Taking what a source brings, as long as nothing but message ids has to be checked."""

from __future__ import annotations

from collections.abc import Sequence

from .ingest import MAX_HEADER, VERSION, only_id

Label = tuple[bytes, bytes | None, bytes]


def take_copies(
    messages: Sequence[tuple[int, str, bytes, bytes, int]],
    originals: Sequence[str],
    start: int,
    most: int,
    known: dict[bytes, int] | None,
    label: Label,
    first: int,
    time: int,
    copies: list[tuple[str, bytes, bytes]],
    ids: list[tuple[int, bytes, int]],
) -> tuple[int, bytes, int]:
    """Take the messages from place `start` on; return (stop, id, newest).

    `stop` is the place of the first message that must be looked at: it would be larger than `most` bytes, or
    its header is not of the usual version, would be too long, or has a line `Nats-…` besides that of a
    message id. The id is that of the last new message, b"" if it has none; `newest` is its sequence in the
    origin, 0 if there is no new message.

    messages: (sequence, subject, header, body, time) of each, under the subject that the copy gets.
    originals: the subject of each in the origin.
    known: sequences by message id; receives those of the new messages. None: ids have no meaning.
    label: the line that a copy's header gets: its bytes before the sequence in the origin; between that and
        the subject in the origin, None for no subject; and after those, with the end of the header.
    first: the sequence that the first copy gets.
    time: of all copies, in ns.
    copies: receives (subject, header, body) of each message whose id is not known.
    ids: receives (time, id, sequence) of those with an id, unless `known` is None.
    """
    last, newest, sequence = b"", 0, first
    lead, between, end = label
    for place in range(start, len(messages)):
        number, subject, header, body, _ = messages[place]
        identifier = only_id(header)
        line = b"%b%d" % (lead, number)
        if between is not None:
            line += between + originals[place].encode("utf-8", "surrogateescape")
        labelled = (header[:-2] if header else VERSION) + line + end
        if identifier is None or len(labelled) > MAX_HEADER or len(labelled) + len(body) > most:
            return place, last, newest
        if identifier and known is not None:
            if known.get(identifier, 0):
                continue
            known[identifier] = sequence
            ids.append((time, identifier, sequence))
        copies.append((subject, labelled, body))
        last, newest = identifier, number
        sequence += 1
    return len(messages), last, newest
