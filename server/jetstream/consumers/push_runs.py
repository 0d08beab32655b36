"""PushRuns: delivers many messages at once to the receiver of a push consumer.

Promises the same messages, counts and order as a delivery one by one. So it does nothing unless one client
or one other server that takes messages as they are, or the server itself, is all that listens, and unless the
run is what comes next in the stream. A run ends before the message with which a flow control request is due,
or with which the window is full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .batch_delivery import LEAST, RUN, DeliveryRun, fitting, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....store.message import StoredMessage
    from .delivery_parts import DeliveryParts
    from .flow_window import FlowWindow


class PushRuns:
    """The runs of one consumer."""

    __slots__ = ("_ack_prefix", "_parts")

    def __init__(self, parts: DeliveryParts) -> None:
        self._parts = parts
        self._ack_prefix = f"{parts.sender.ack_prefix}1.".encode("utf-8", "surrogateescape")

    def serve(self, subject: str, flow: FlowWindow | None, now: int) -> int:
        """Deliver a run to `subject`. Return its size in bytes, 0 if nothing was done.

        flow: the flow control window, in which the run is counted; None without flow control. now: ns.
        """
        parts = self._parts
        target, own = parts.sender.client(subject), parts.sender.own_subscription(subject)
        server = parts.sender.server(subject)
        if target is None and own is None and server is None:
            return 0
        state = parts.delivery_state
        most = min(RUN, parts.num_pending.count)
        if state.max_ack_pending > 0:
            most = min(most, state.max_ack_pending - state.outstanding)
        if most < LEAST or not (messages := parts.selector.peek(most, parts.stream.committed_seq)):
            return 0
        run = DeliveryRun(messages, self._ack_prefix, state.consumer_seq, parts.num_pending.count)
        if target is not None and not (target[1].headers or run.plain):
            return 0
        count, size = self._fitting(run, messages, flow, len(subject))
        if count < LEAST:
            return 0
        record(parts, run, count, now)
        if flow is not None:
            flow.sent(size)
        if target is not None:
            run.send(count, target)
        elif own is not None:
            run.hand_over(count, own)
        elif server is not None:
            run.send_to_server(count, server)
        if not state.track and parts.releases:
            parts.remove_all_acked(run.seqs(count))
        return size

    @staticmethod
    def _fitting(
        run: DeliveryRun, messages: Sequence[StoredMessage], flow: FlowWindow | None, subject: int
    ) -> tuple[int, int]:
        """Return how many messages fit into the window, and their size there, which is not 0.

        subject: the length of the deliver subject.
        """
        if flow is None:
            return len(messages), sum([1, *[len(message.header) + len(message.body) for message in messages]])
        sizes = [size + subject for size in run.sizes()]
        count = fitting(sizes, flow.room + 1)
        return count, sum(sizes[:count])
