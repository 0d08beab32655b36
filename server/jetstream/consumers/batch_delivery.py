"""BatchDelivery: a run of messages at once for the pull requests of a consumer that asks for no acks.

Promises the frames, counts and order that one by one would give, and does it only where nothing can come
between: one client that takes messages as they are subscribes to all reply subjects, no request ends within
the run, and the run is what comes next in the stream. Everything else is delivered one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .acks import ack_prefix
from .delivery_run import DeliveryRun, fitting

if TYPE_CHECKING:
    from ...accounts.plan import Target
    from .core import Consumer
    from .pull import Pull

RUN = 512  # messages
_LEAST = 4  # messages for each request; fewer are not worth the trouble
_MOST_PULLS = 8


class BatchDelivery:
    """The batch deliveries of one consumer."""

    __slots__ = ("_ack_prefix", "_consumer")

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._ack_prefix = ack_prefix(consumer.stream.name, consumer.name) + "1."

    def serve(self, pulls: list[Pull], now: int) -> bool:
        """Deliver a run to these requests, in turn, one message each. False if it is not for this way.

        Their figures are brought up to date; those that are done have nothing left.
        """
        consumer = self._consumer
        if len(pulls) > _MOST_PULLS or any(pull.expires and now >= pull.expires for pull in pulls):
            return False
        most = min(min([pull.left for pull in pulls]) * len(pulls), RUN, consumer.num_pending.count)
        if most < _LEAST * len(pulls) or (target := self._listener(pulls)) is None:
            return False
        messages = consumer.selector.peek(most)
        if not messages:
            return False
        run = DeliveryRun(
            messages, self._ack_prefix, consumer.delivery_state.consumer_seq, consumer.num_pending.count
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
        """The one client that subscribes to all their reply subjects, by one subscription."""
        listener: Target | None = None
        for pull in pulls:
            found = self._consumer.sender.fast_sender.client(pull.reply)
            if found is None or (listener is not None and found[0] is not listener[0]):
                return None
            listener = found
        return listener

    def _send(self, run: DeliveryRun, last_seq: int, count: int, target: Target, now: int) -> None:
        """Write the first of these messages, up to `last_seq`, down as delivered and send them."""
        consumer = self._consumer
        data, payloads = run.data(target[0].sid, count), run.payloads(count)
        consumer.selector.skip(count)
        consumer.delivery_state.deliver_run(last_seq, count)
        consumer.num_pending.count -= count
        consumer.sender.delivered_at = now
        target[0].delivered += count
        target[1].send_run(data, count, payloads)
