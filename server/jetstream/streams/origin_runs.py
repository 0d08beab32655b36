"""What an origin on another server delivers, as runs: many messages are then stored at once.

Promises the same messages in the same order as if each were read by itself. What is not plainly the next
delivery of the same consumer, for the first time, ends a run, and comes as a message of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ....store.message import StoredMessage
from ...accounts.subscription import Callback, DeliveredRun, Message, Publish, RunCallback, message_of

CONTROL = b"NATS/1.0 100"
_FIGURES = re.compile(rb"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,19})\.([0-9]{1,18})@(.+)", re.DOTALL)
_LATEST = (1 << 63) - 1  # ns
_FORMS = {9: 2, 11: 4}  # the number of tokens of an ack subject, and of those before the stream's name


def hand_over(one: Callback, run: RunCallback, publishes: Sequence[Publish]) -> None:
    """Read publishes, and call `run` with each run, `one` with what is in none, in their order."""
    for found in read_runs(publishes):
        if isinstance(found, DeliveredRun):
            run(found)
        else:
            one(found)


def read_runs(publishes: Sequence[Publish]) -> Iterator[DeliveredRun | Message]:
    """Read publishes in their order; a message stands for what is in no run."""
    place = 0
    while place < len(publishes):
        run = _run(publishes, place)
        if run is None:
            yield message_of(publishes[place])
            place += 1
        else:
            yield run
            place += len(run.messages)


def _run(publishes: Sequence[Publish], place: int) -> DeliveredRun | None:
    """Return the run that begins at `place`, None if there is none."""
    prefix = _ack_prefix(publishes[place][1])
    if not prefix:
        return None
    read, start = _FIGURES.fullmatch, len(prefix)
    messages: list[StoredMessage] = []
    first = last = number = pending = 0
    while place < len(publishes):
        _, reply, header_size, size, tail = publishes[place]
        found = read(reply, start) if reply.startswith(prefix) else None
        if found is None:
            break
        seq, at, time, left, subject = found.groups()
        sequence, consumer_seq, nanoseconds = int(seq), int(at), int(time)
        body_at = len(tail) - 2 - size + header_size
        header = tail[body_at - header_size : body_at]
        if messages and (sequence <= last or consumer_seq != number + 1):
            break
        if nanoseconds > _LATEST or (size == header_size and header.startswith(CONTROL)):
            break
        shown = subject.decode("utf-8", "surrogateescape")
        first = first if messages else consumer_seq
        messages.append(StoredMessage(sequence, shown, header, tail[body_at:-2], nanoseconds))
        last, number, pending = sequence, consumer_seq, int(left)
        place += 1
    if not messages:
        return None
    return DeliveredRun(prefix.decode("utf-8", "surrogateescape"), first, messages, pending)


def _ack_prefix(reply: bytes) -> bytes:
    """Return an ack subject up to its four figures; b"" if it is not that of a first delivery."""
    tokens = reply.partition(b"@")[0].split(b".")
    at = _FORMS.get(len(tokens), 0)
    if not at or tokens[:2] != [b"$JS", b"ACK"] or tokens[at + 2] != b"1":
        return b""
    return b".".join(tokens[: at + 3]) + b"."
