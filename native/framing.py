"""Framing a run of a consumer's deliveries, which one client receives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import add

_PLAIN = b"MSG %b%d.%d.%d.%d %d\r\n%b\r\n"
_HEADED = b"%bMSG %b%d.%d.%d.%d %b%d\r\n%b%b\r\n"


def frame_deliveries(
    messages: Sequence[tuple[int, str, bytes, bytes, int]],
    count: int,
    sid: bytes,
    ack_prefix: bytes,
    number: int,
    pending: int,
) -> tuple[bytes, int]:
    """Return the frames of the first `count` messages, each delivered once, and the size of their payloads.

    messages: (sequence, subject, header, body, time in ns) of each.
    count: at least one, and not more than there are.
    sid: the receiver's subscription.
    ack_prefix: the part of the ack subjects before the figures, which are sequence, consumer sequence, time
        and number of messages that are then left.
    number: the consumer sequence of the delivery before these.
    pending: how many messages the consumer has yet to deliver, these included.
    """
    # One format for all, because a format for each takes twice as long.
    seqs, subjects, headers, bodies, times = zip(*messages[:count], strict=True)
    figures = (
        seqs,
        range(number + 1, number + 1 + count),
        times,
        range(pending - 1, pending - 1 - count, -1),
    )
    ends = b" %b %b" % (sid, ack_prefix)
    leads = {subject: subject.encode("utf-8", "surrogateescape") + ends for subject in set(subjects)}
    led = map(leads.__getitem__, subjects)
    lengths = list(map(len, bodies))
    if not any(headers):
        rows = zip(led, *figures, lengths, bodies, strict=True)
        return _PLAIN * count % tuple(chain.from_iterable(rows)), sum(lengths)
    lengths = list(map(add, lengths, map(len, headers)))
    verbs = [b"H" if header else b"" for header in headers]
    sizes = [b"%d " % len(header) if header else b"" for header in headers]
    columns = (verbs, led, *figures, sizes, lengths, headers, bodies)
    return _HEADED * count % tuple(chain.from_iterable(zip(*columns, strict=True))), sum(lengths)
