"""RemovedMessages: what a consumer does when messages leave its stream.

Promises: no ack of such a message is expected, and it counts no more as pending. The ack floor never passes
the stream's last message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...slices import Steps
    from .delivery_parts import DeliveryParts


class RemovedMessages:
    """Takes note of them for one consumer."""

    __slots__ = (
        "_ack_waits",
        "_deliver",
        "_delivery_state",
        "_num_pending",
        "_persistence",
        "_release",
        "_selector",
        "_store",
    )

    def __init__(
        self,
        parts: DeliveryParts,
        store: StreamStore,
        deliver: Callable[[], None],
        release: Callable[[], None],
    ) -> None:
        """deliver: delivers what can be delivered now. release: frees what the delivery state dropped."""
        self._delivery_state = parts.delivery_state
        self._selector = parts.selector
        self._num_pending = parts.num_pending
        self._ack_waits = parts.ack_waits
        self._persistence = parts.persistence
        self._store = store
        self._deliver = deliver
        self._release = release

    def on_removed(self, seq: int, subject: str) -> None:
        """Take note that a message left the stream, so that no ack for it is expected."""
        picked = self._selector.removed(seq)
        if picked:
            self._num_pending.count -= 1
        else:
            self._num_pending.removed(seq, subject, self._selector.tail)
        if self._delivery_state.entry(seq) is not None:
            self._ack_waits.dropped(seq)
        elif seq in self._delivery_state.redelivered:
            self._delivery_state.gone(seq)
            self._persistence.changed()

    def on_purging(self, gone: Sequence[int] | None) -> Steps[None]:
        """Take note that these messages, or (None) all below the first, left the stream in a purge."""
        first = self._store.first_seq
        stalled = self._delivery_state.stalled
        self._selector.purged(first, gone or ())
        self._num_pending.recount(self._selector.tail, self._selector.picked)
        yield from self._delivery_state.purging(first, gone)
        self._release()
        self._persistence.changed()
        if stalled and not self._delivery_state.stalled:
            self._deliver()

    def after_purge(self) -> Steps[None]:
        """Take note that a purge is complete."""
        delivery_state, first = self._delivery_state, self._store.first_seq
        if not delivery_state.outstanding and delivery_state.stream_seq < first - 1:
            delivery_state.skip_to(first - 1)
        # Messages that were queued for redelivery wait for their acks again, as on the reference.
        yield from delivery_state.unqueueing()
        self._ack_waits.arm()
        self._num_pending.recount(self._selector.tail, self._selector.picked)
        self._persistence.changed()
