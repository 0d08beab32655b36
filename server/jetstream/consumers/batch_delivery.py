"""BatchDelivery: delivers many messages at once to the pull requests of a consumer.

Promises the same frames, counts and order as a delivery one by one. So it does nothing unless three things
are certain: one client that takes messages as they are subscribes to all reply subjects, no request ends
within the run, and the run is what comes next in the stream. All else is delivered one by one.

`DeliveryRun` makes all frames at once, and calculates their sizes, which count in the limits of the requests.
"""

from __future__ import annotations

from itertools import accumulate, chain
from operator import add
from typing import TYPE_CHECKING

from ....native import frame_deliveries
from ...accounts.subscription import DeliveredRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....store.message import StoredMessage
    from ...accounts.plan import Target
    from ...accounts.subscription import RunSubscription
    from .delivery_parts import DeliveryParts
    from .pull import Pull

RUN = 512  # messages
LEAST = 4  # messages for each request; for fewer, a run is not faster
MOST_PULLS = 8
_FIGURES = b"%d.%d.%d.%d"
_TO_SERVER = b"%b%d.%d.%d.%d@%b %b%d\r\n%b%b\r\n"


class BatchDelivery:
    """The batch deliveries of one consumer."""

    __slots__ = ("_ack_prefix", "_parts")

    def __init__(self, parts: DeliveryParts) -> None:
        self._parts = parts
        self._ack_prefix = _octets(parts.sender.ack_prefix + "1.")

    def serve(self, pulls: list[Pull], now: int) -> bool:
        """Deliver a run to these requests, one message to each in turn. Return False if nothing was done.

        pulls: at most `MOST_PULLS`, as this costs by their number. What they may still get is updated; it is
        0 for those that are done. now: ns.
        """
        parts = self._parts
        if any(pull.expires and now >= pull.expires for pull in pulls):
            return False
        state = parts.delivery_state
        most = min(min([pull.left for pull in pulls]) * len(pulls), RUN, parts.num_pending.count)
        if state.max_ack_pending > 0:
            most = min(most, state.max_ack_pending - state.outstanding)
        if most < LEAST * len(pulls) or (target := self._listener(pulls)) is None:
            return False
        messages = parts.selector.peek(most, parts.stream.committed_seq)
        if not messages:
            return False
        run = DeliveryRun(messages, self._ack_prefix, state.consumer_seq, parts.num_pending.count)
        room = min([pull.max_bytes for pull in pulls if pull.max_bytes], default=0)
        sizes = run.sizes() if room else []
        count = fitting(sizes, room) if room else len(messages)
        count -= count % len(pulls)
        if count < LEAST * len(pulls) or not (target[1].headers or run.plain):
            return False
        self._send(run, count, target, now)
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

    def _send(self, run: DeliveryRun, count: int, target: Target, now: int) -> None:
        record(self._parts, run, count, now)
        run.send(count, target)


def record(parts: DeliveryParts, run: DeliveryRun, count: int, now: int) -> None:
    """Record the first `count` messages of a run, which `peek` returned, as delivered."""
    parts.selector.skip(count)
    parts.delivery_state.deliver_run(run.seqs(count), now)
    parts.num_pending.count -= count
    parts.sender.delivered_at = now


class DeliveryRun:
    """The next deliveries of a consumer, each the first one of its message.

    messages: at least one.
    ack_prefix: the part of the reply subjects before the figures.
    number: the consumer sequence of the delivery before these.
    pending: how many messages the consumer has yet to deliver, these included.
    """

    __slots__ = ("_ack_prefix", "_messages", "_number", "_pending")

    def __init__(
        self, messages: Sequence[StoredMessage], ack_prefix: bytes, number: int, pending: int
    ) -> None:
        self._messages, self._ack_prefix = messages, ack_prefix
        self._number, self._pending = number, pending

    @property
    def plain(self) -> bool:
        """Whether none of the messages has headers."""
        return not any(message.header for message in self._messages)

    def seqs(self, count: int) -> list[int]:
        """Return the sequences of the first `count` messages."""
        return [message[0] for message in self._messages[:count]]

    def sizes(self) -> list[int]:
        """Return what each delivery counts, in bytes: its subject, its reply subject, its header and body."""
        seqs, subjects, headers, bodies, times = zip(*self._messages, strict=True)
        last, left = self._number + len(seqs), self._pending - len(seqs)
        figures = (seqs, range(self._number + 1, last + 1), times, range(self._pending - 1, left - 1, -1))
        width = _width(*figures)
        fixed = len(self._ack_prefix) + width
        counted = {subject: fixed + len(_octets(subject)) for subject in set(subjects)}
        sizes = list(
            map(add, map(counted.__getitem__, subjects), map(add, map(len, headers), map(len, bodies)))
        )
        if width:
            return sizes
        return list(map(add, sizes, map(len, map(_FIGURES.__mod__, zip(*figures, strict=True)))))

    def frames(self, sid: bytes, count: int) -> tuple[bytes, int]:
        """Return the frames of the first `count` messages for the subscription `sid`, and what they carry.

        The latter is the size of all headers and bodies.
        """
        return frame_deliveries(self._messages, count, sid, self._ack_prefix, self._number, self._pending)

    def send(self, count: int, target: Target) -> None:
        """Send the first `count` messages to a client."""
        data, payloads = self.frames(target[0].sid, count)
        target[0].delivered += count
        target[1].send_run(data, count, payloads)

    def server_frames(self, prefix: bytes, header_prefix: bytes, count: int) -> tuple[bytes, int]:
        """Return the frames of the first `count` messages for a leaf or route, and what they carry.

        prefix, header_prefix: what precedes the reply of a message without headers, and of one with. The
            subject of the message follows the ack subject there; see `leaf.frames`.
        """
        seqs, subjects, headers, bodies, times = zip(*self._messages[:count], strict=True)
        lead, header_lead = prefix + self._ack_prefix, header_prefix + self._ack_prefix
        shown = {subject: _octets(subject) for subject in set(subjects)}
        lengths = list(map(add, map(len, headers), map(len, bodies)))
        columns = (
            [header_lead if header else lead for header in headers],
            seqs,
            range(self._number + 1, self._number + 1 + count),
            times,
            range(self._pending - 1, self._pending - 1 - count, -1),
            map(shown.__getitem__, subjects),
            [b"%d " % len(header) if header else b"" for header in headers],
            lengths,
            headers,
            bodies,
        )
        rows = chain.from_iterable(zip(*columns, strict=True))
        return _TO_SERVER * count % tuple(rows), sum(lengths)

    def send_to_server(self, count: int, target: Target) -> None:
        """Send the first `count` messages to a leaf or route."""
        data, payloads = self.server_frames(target[3], target[4], count)
        target[0].delivered += count
        target[1].send_run(data, count, payloads)

    def hand_over(self, count: int, subscription: RunSubscription) -> None:
        """Give the first `count` messages to a subscription of the server itself."""
        subscription.delivered += count
        ack_prefix = self._ack_prefix.decode("utf-8", "surrogateescape")
        messages, pending = self._messages[:count], self._pending - count
        subscription.run_callback(DeliveredRun(ack_prefix, self._number + 1, messages, pending))


def _width(seqs: Sequence[int], numbers: Sequence[int], times: Sequence[int], pending: Sequence[int]) -> int:
    """Return the length of the figures in each reply subject; 0 if it is not the same for all."""
    first = len(_FIGURES % (seqs[0], numbers[0], min(times), pending[0]))
    rising = (seqs[-1], numbers[-1], max(times))
    if len(_FIGURES % (*rising, pending[-1])) != first or len(str(pending[0])) != len(str(pending[-1])):
        return 0
    return first


def fitting(sizes: list[int], room: int) -> int:
    """Return how many of these sizes, from the first on, make less than `room` together."""
    return len(sizes) if sum(sizes) < room else sum(1 for total in accumulate(sizes) if total < room)


def _octets(subject: str) -> bytes:
    return subject.encode("utf-8", "surrogateescape")
