"""Judging publishes to a stream, as long as nothing but their message id has to be checked."""

from __future__ import annotations

from typing import Final

VERSION: Final = b"NATS/1.0\r\n"
MAX_HEADER: Final = 65535  # bytes of the headers of a message
_FAST_BATCH: Final = b".$FI"  # ends the reply subjects of fast batches
_SPECIAL: Final = b"\r\nNats-"  # begins a header that may matter to the stream
_ID: Final = b"\r\nNats-Msg-Id:"


def take_publishes(
    run: list[tuple[bytes, bytes, int, int, bytes]],
    start: int,
    most: int,
    known: dict[bytes, int] | None,
    ack: bytes | None,
    first: int,
    time: int,
    messages: list[tuple[str, bytes, bytes]],
    ids: list[tuple[int, bytes, int]],
    answers: list[tuple[bytes, bytes]],
) -> tuple[int, bytes]:
    """Take the publishes from place `start` on; return (stop, id).

    `stop` is the place of the first publish that must be looked at: it is larger than `most` bytes, is of a
    fast batch, or its header is not of the usual version, is too long, or has a line `Nats-…` besides that
    of a message id. The id is that of the last new message, b"" if it has none.

    run: (subject, reply, header_size, size, tail) of each, see `protocol.wire.ops`.
    known: sequences by message id; receives those of the new messages. None: ids have no meaning.
    ack: the acknowledgement up to the sequence; None if there are none.
    first: the sequence that the first new message gets.
    time: of all, in ns.
    messages: receives (subject, header, body) of each message whose id is not known.
    ids: receives (time, id, sequence) of those with an id, unless `known` is None.
    answers: receives (reply, acknowledgement) for each publish with a reply.
    """
    last, sequence = b"", first
    for place in range(start, len(run)):
        subject, reply, header_size, size, tail = run[place]
        at = len(tail) - 2 - size
        body_at = at + header_size
        header = tail[at:body_at]
        identifier = only_id(header)
        if size > most or identifier is None or reply.endswith(_FAST_BATCH):
            return place, last
        duplicate = known.get(identifier, 0) if identifier and known is not None else 0
        if duplicate:
            if reply and ack is not None:
                answers.append((reply, b'%b%d,"duplicate": true}' % (ack, duplicate)))
            continue
        messages.append((subject.decode("utf-8", "surrogateescape"), header, tail[body_at:-2]))
        last = identifier
        if identifier and known is not None:
            known[identifier] = sequence
            ids.append((time, identifier, sequence))
        if reply and ack is not None:
            answers.append((reply, b"%b%d}" % (ack, sequence)))
        sequence += 1
    return len(run), last


def only_id(header: bytes) -> bytes | None:
    """Return the message id, b"" if there is none; None if other headers matter too, or may do."""
    if not header:
        return b""
    special = header.count(_SPECIAL)
    if len(header) > MAX_HEADER or not header.startswith(VERSION) or special > 1:
        return None
    if not special:
        return b""
    at = header.find(_ID)
    if at < 0:
        return None
    at += len(_ID)
    end = header.find(b"\r\n", at)
    return header[at : end if end >= 0 else len(header)].strip(b" \t") or None
