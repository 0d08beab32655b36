"""BatchDelivery: delivers many messages at once to the pull requests of a consumer without acks.

Promises the same frames, counts and order as a delivery one by one. So it does nothing unless three things
are certain: one client that takes messages as they are subscribes to all reply subjects, no request ends
within the run, and the run is what comes next in the stream. All else is delivered one by one.

`DeliveryRun` makes all frames by one format from columns, which is half the work of a format for each, and
calculates their sizes, which count in the limits of the requests.
"""

from __future__ import annotations

from itertools import accumulate, chain
from operator import add
from typing import TYPE_CHECKING

from .acks import ack_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....store.message import StoredMessage
    from ...accounts.plan import Target
    from .delivery_parts import DeliveryParts
    from .pull import Pull

RUN = 512  # messages
_LEAST = 4  # messages for each request; for fewer, a run is not faster
_MOST_PULLS = 8
_PLAIN = b"MSG %b%d.%d.%d.%d %d\r\n%b\r\n"
_HEADED = b"%bMSG %b%d.%d.%d.%d %b%d\r\n%b%b\r\n"
_FIGURES = b"%d.%d.%d.%d"


class BatchDelivery:
    """The batch deliveries of one consumer."""

    __slots__ = ("_ack_prefix", "_parts")

    def __init__(self, parts: DeliveryParts) -> None:
        self._parts = parts
        self._ack_prefix = ack_prefix(parts.stream.name, parts.name) + "1."

    def serve(self, pulls: list[Pull], now: int) -> bool:
        """Deliver a run to these requests, one message to each in turn. Return False if nothing was done.

        What the requests may still get is updated; it is 0 for those that are done. now: ns.
        """
        parts = self._parts
        if len(pulls) > _MOST_PULLS or any(pull.expires and now >= pull.expires for pull in pulls):
            return False
        most = min(min([pull.left for pull in pulls]) * len(pulls), RUN, parts.num_pending.count)
        if most < _LEAST * len(pulls) or (target := self._listener(pulls)) is None:
            return False
        messages = parts.selector.peek(most, parts.stream.committed_seq)
        if not messages:
            return False
        run = DeliveryRun(
            messages, self._ack_prefix, parts.delivery_state.consumer_seq, parts.num_pending.count
        )
        room = min([pull.max_bytes for pull in pulls if pull.max_bytes], default=0)
        sizes = run.sizes() if room else []
        count = fitting(sizes, room) if room else len(messages)
        count -= count % len(pulls)
        if count < _LEAST * len(pulls) or (run.headed and not target[1].headers):
            return False
        self._send(run, messages[count - 1].seq, count, target, now)
        for place, pull in enumerate(pulls):
            pull.left -= count // len(pulls)
            pull.delivered += count // len(pulls)
            if pull.max_bytes:
                pull.max_bytes -= sum(sizes[place : count : len(pulls)])
            if pull.heartbeat:
                pull.heartbeat_at = now + pull.heartbeat
        return True

    def _listener(self, pulls: list[Pull]) -> Target | None:
        """Return the only client that subscribes to all their reply subjects, by one subscription."""
        listener: Target | None = None
        for pull in pulls:
            found = self._parts.sender.client(pull.reply)
            if found is None or (listener is not None and found[0] is not listener[0]):
                return None
            listener = found
        return listener

    def _send(self, run: DeliveryRun, last_seq: int, count: int, target: Target, now: int) -> None:
        """Record the first `count` messages, up to `last_seq`, as delivered, and send them."""
        parts = self._parts
        data, payloads = run.data(target[0].sid, count), run.payloads(count)
        parts.selector.skip(count)
        parts.delivery_state.deliver_run(last_seq, count)
        parts.num_pending.count -= count
        parts.sender.delivered_at = now
        target[0].delivered += count
        target[1].send_run(data, count, payloads)


class DeliveryRun:
    """The next deliveries of a consumer, each the first one of its message.

    messages: at least one.
    ack_prefix: the part of the reply subjects before the figures.
    number: the consumer sequence of the delivery before these.
    pending: how many messages the consumer has yet to deliver, these included.
    headed: whether one of the messages has headers.
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
        """Return the bytes of the headers and bodies of the first `count` messages."""
        return sum(self._lengths[:count])

    def sizes(self) -> list[int]:
        """Return what each delivery counts, in bytes: its subject, its reply subject, its header and body."""
        width = self._width()
        fixed = len(self._ack_prefix) + width
        counted = {subject: fixed + len(_octets(subject)) for subject in set(self._subjects)}
        sizes = list(map(add, map(counted.__getitem__, self._subjects), self._lengths))
        if width:
            return sizes
        return list(map(add, sizes, map(len, map(_FIGURES.__mod__, zip(*self._figures, strict=True)))))

    def _width(self) -> int:
        """Return the length of the figures in each reply subject; 0 if it is not the same for all."""
        seqs, numbers, times, pending = self._figures
        first = len(_FIGURES % (seqs[0], numbers[0], min(times), pending[0]))
        rising = (seqs[-1], numbers[-1], max(times))
        if len(_FIGURES % (*rising, pending[-1])) != first or len(str(pending[0])) != len(str(pending[-1])):
            return 0
        return first

    def data(self, sid: bytes, count: int) -> bytes:
        """Return the frames of the first `count` messages, for the subscription `sid`."""
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
    """Return how many of these sizes, from the first on, make less than `room` together."""
    return len(sizes) if sum(sizes) < room else sum(1 for total in accumulate(sizes) if total < room)


def _octets(subject: str) -> bytes:
    return subject.encode("utf-8", "surrogateescape")
