"""A run of deliveries as the wire has them, made at once from columns.

Promises the bytes, and the sizes against the limits of pull requests, that one delivery after the other would
have. One format for all is half the work of one for each.
"""

from __future__ import annotations

from itertools import accumulate, chain
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....store.message import StoredMessage

_PLAIN = b"MSG %b%d.%d.%d.%d %d\r\n%b\r\n"
_HEADED = b"%bMSG %b%d.%d.%d.%d %b%d\r\n%b%b\r\n"
_FIGURES = b"%d.%d.%d.%d"


class DeliveryRun:
    """The next deliveries of a consumer, each the first of its message.

    ack_prefix: of the reply subjects, up to the figures. number: of the delivery before; pending: messages
    that the consumer had left then. headed: whether any has headers.
    """

    __slots__ = ("_ack_prefix", "_bodies", "_figures", "_headers", "_lengths", "_subjects", "headed")

    def __init__(self, messages: Sequence[StoredMessage], ack_prefix: str, number: int, pending: int) -> None:
        count = len(messages)
        seqs, self._subjects, self._headers, self._bodies, times = zip(*messages, strict=True)
        numbers = range(number + 1, number + 1 + count)
        self._figures = (seqs, numbers, times, range(pending - 1, pending - 1 - count, -1))
        self._ack_prefix = ack_prefix.encode("utf-8", "surrogateescape")
        self._lengths = list(map(len, self._bodies))
        self.headed = any(self._headers)
        if self.headed:
            self._lengths = list(map(add, self._lengths, map(len, self._headers)))

    def payloads(self, count: int) -> int:
        """Bytes of the headers and bodies of the first `count`."""
        return sum(self._lengths[:count])

    def sizes(self) -> list[int]:
        """What each counts, in bytes: its subject, its reply subject, its header and body."""
        width = self._width()
        fixed = len(self._ack_prefix) + width
        counted = {subject: fixed + len(_octets(subject)) for subject in set(self._subjects)}
        sizes = list(map(add, map(counted.__getitem__, self._subjects), self._lengths))
        if width:
            return sizes
        return list(map(add, sizes, map(len, map(_FIGURES.__mod__, zip(*self._figures, strict=True)))))

    def _width(self) -> int:
        """Bytes of the figures in each reply subject; 0 when they differ."""
        seqs, numbers, times, pending = self._figures
        first = len(_FIGURES % (seqs[0], numbers[0], min(times), pending[0]))
        rising = (seqs[-1], numbers[-1], max(times))
        if len(_FIGURES % (*rising, pending[-1])) != first or len(str(pending[0])) != len(str(pending[-1])):
            return 0
        return first

    def data(self, sid: bytes, count: int) -> bytes:
        """The frames of the first `count`, for the subscription `sid`."""
        ends = b" %b %b" % (sid, self._ack_prefix)
        leads = {subject: _octets(subject) + ends for subject in set(self._subjects)}
        led = map(leads.__getitem__, self._subjects[:count])
        if not self.headed:
            rows = zip(led, *self._figures, self._lengths, self._bodies, strict=False)
            return _PLAIN * count % tuple(chain.from_iterable(rows))
        verbs = [b"H" if header else b"" for header in self._headers]
        sizes = [b"%d " % len(header) if header else b"" for header in self._headers]
        columns = (verbs, led, *self._figures, sizes, self._lengths, self._headers, self._bodies)
        return _HEADED * count % tuple(chain.from_iterable(zip(*columns, strict=False)))


def fitting(sizes: list[int], room: int) -> int:
    """How many of these, from the first on, make less than `room`."""
    return len(sizes) if sum(sizes) < room else sum(1 for total in accumulate(sizes) if total < room)


def _octets(subject: str) -> bytes:
    return subject.encode("utf-8", "surrogateescape")
