"""Finding the acks of one consumer's messages in what a client sends."""

from __future__ import annotations

from typing import Any

from .deliveries import RESERVED_STARTS
from .publishes import PUB, scan_publishes

_START = b"$JS.ACK."
_PLAIN = frozenset((b"", b"+ACK", b"+OK"))
_SHORT_DOTS, _LONG_DOTS = 8, 10
_MOST_DIGITS = 19


def scan_acks(
    data: bytes,
    pos: int,
    most: int,
    longest: int,
    largest: int,
    verbs: tuple[bytes, bytes],
    seqs: list[int],
    replies: list[tuple[int, bytes]],
) -> tuple[int, int, bytes, int]:
    """Find the plain acks that begin at `pos` and are all of one consumer.

    Return (position, size, head, dots): where the first publish begins that is none of them, the bytes of
    their payloads, the part of their subjects before the five figures, and how many dots each subject has.
    That part is b"" if there is none of them.

    A plain ack is a whole publish of the common form (see `scan_publishes`) without header, that says nothing
    but "acknowledged". Its subject is `$JS.ACK.<stream>.<consumer>` or `$JS.ACK.<domain>.<account>.<stream>.
    <consumer>`, and five figures; more may follow the longer form. Its reply must not be looked at.

    seqs: receives the stream sequence of each, the second figure, which has at most 19 digits and is not 0.
    replies: receives (sequence, reply) of those with a reply.
    most, longest, largest, verbs: as in `scan_publishes`.
    """
    total = dots = 0
    head = b""
    for _ in range(most):
        found: list[Any] = []
        stop = scan_publishes(data, pos, 1, longest, largest, verbs, found)
        if not found:
            break
        code, subject, reply, _, size, tail = found[0]
        if code != PUB or reply[:2] in RESERVED_STARTS or tail[len(tail) - 2 - size : -2] not in _PLAIN:
            break
        lead, count, seq = _read(subject)
        if not seq or (head and (lead, count) != (head, dots)):
            break
        head, dots, total, pos = lead, count, total + size, stop
        seqs.append(seq)
        if reply:
            replies.append((seq, reply))
    return pos, total, head, dots


def _read(subject: bytes) -> tuple[bytes, int, int]:
    """Return (head, dots, stream sequence) of the subject of an ack; the last one is 0 if it is none."""
    dots = subject.count(b".")
    if not subject.startswith(_START) or not (dots == _SHORT_DOTS or dots >= _LONG_DOTS):
        return b"", 0, 0
    tokens = subject.split(b".")
    first = 4 if dots == _SHORT_DOTS else 6
    figures = tokens[first : first + 5]
    if not all(figure.isdigit() for figure in figures) or len(figures[1]) > _MOST_DIGITS:
        return b"", 0, 0
    return b".".join(tokens[:first]), dots, int(figures[1])
