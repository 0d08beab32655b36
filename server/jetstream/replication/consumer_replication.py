"""ReplicatedPersistence: lets the replicas agree on what a consumer's leader did.

Promises: changes reach the log in order, one under way at a time, each relative to the one before; who waits
(`after`) is called once all that had happened before is agreed on, and never when it is not. Plain acks and
deliveries go together, within `REST` and a little more for much that is pending. Where very much is, what is
sent costs by what changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....store.consumer_state import ConsumerChange, ConsumerState, encoding
from ...clock import DeadlineTimer
from ...slices import Slices
from ..consumers.delivery_state import MANY

if TYPE_CHECKING:
    from ...clock import Clock
    from ...slices import LoopTurns
    from ..consumers.delivery_state import DeliveryState
    from ..consumers.message_selector import StartPosition
    from ..consumers.persistence import ConsumerPersistence
    from .consumer_state import ReplicatedConsumerState

REST = 10_000_000  # ns between two changes of one consumer
PER_PENDING = 5_000  # ns more of it per pending message, up to MANY: they are compared, more are not

# Proposes (name, base, whole, change); the callback gets whether it was taken in, None: nobody knows.
Propose = Callable[[str, int, bool, bytes, Callable[[bool | None], None]], None]


class ReplicatedPersistence:
    """A `ConsumerPersistence` that keeps a consumer's delivery state in the log."""

    def __init__(
        self,
        state: ReplicatedConsumerState,
        delivery_state: DeliveryState,
        clock: Clock,
        turns: LoopTurns,
        propose: Propose,
    ) -> None:
        self._state = state
        self._delivery_state = delivery_state
        self._clock = clock
        self._turns = turns
        self._propose = propose
        self._timer = DeadlineTimer(clock, self._begin)
        self._known = True  # whether the delivery state's changes follow the agreed state
        self._waiting: list[Callable[[], None]] = []
        self._dirty = self._running = self._closed = False
        self._last = 0

    def changed(self) -> None:
        """Let it be known soon."""
        if self._dirty or self._closed:
            return
        self._dirty = True
        if not self._running:
            self._arm()

    def _arm(self) -> None:
        rest = REST + min(self._delivery_state.outstanding, MANY) * PER_PENDING
        self._timer.at(max(self._last + rest, self._clock.now()))

    def after(self, done: Callable[[], None]) -> None:
        """Let it be known at once, and call `done` when it is agreed on."""
        if self._closed:
            return
        self._waiting.append(done)
        self._dirty = True
        if not self._running:
            self._timer.at(self._clock.now())

    def _begin(self) -> None:
        if self._running or self._closed or not self._dirty:
            return
        self._dirty = False
        waiting, self._waiting = self._waiting, []
        self._last = self._clock.now()
        self._running = True
        state, known, news = self._state, self._known, self._delivery_state.to_save()
        if not known and isinstance(news, ConsumerChange):
            news = self._delivery_state.state()
        version = state.version

        def finished(taken: bool | None) -> None:
            self._finished(waiting, taken)

        def encoded(change: bytes) -> None:
            if not self._closed:
                self._propose(state.name, version, not known, change, finished)

        steps = encoding(news, state.state if known else None)
        Slices(self._turns, steps, encoded, lambda _: finished(None))

    def _finished(self, waiting: list[Callable[[], None]], taken: bool | None) -> None:
        self._running = False
        if self._closed:
            return
        self._known = bool(taken)  # what is not known is sent as a whole next time
        if taken:
            for done in waiting:
                done()
        else:
            self._waiting = waiting + self._waiting
            self._dirty = True
        if self._waiting and taken:
            self._timer.at(self._clock.now())
        elif self._dirty:
            self._arm()

    def close(self) -> None:
        """End: another leads. What was not agreed on will be done again."""
        self._closed = True
        self._timer.clear()
        self._waiting.clear()

    def halt(self) -> None:
        """End, as `close`, which does not block."""
        self.close()

    def write_out(self) -> None:
        """Do nothing: what the log has is on the disk."""

    def abandon(self) -> None:
        """End: the consumer is deleted."""
        self.close()


class LeaderReplication:
    """A `ConsumerReplication` for the leader of one consumer."""

    def __init__(
        self, state: ReplicatedConsumerState, clock: Clock, turns: LoopTurns, propose: Propose
    ) -> None:
        self._state = state
        self._clock = clock
        self._turns = turns
        self._propose = propose

    def state(self) -> ConsumerState:
        """What is agreed on; the caller gets its own."""
        state = self._state.state
        return ConsumerState(state.delivered, state.ack_floor, dict(state.pending), dict(state.redelivered))

    def start(self) -> StartPosition:
        """Where to read on."""
        return self._state.start()

    def last_active(self) -> tuple[int, int]:
        """When the last message was delivered and acknowledged."""
        return self._state.delivered_at, self._state.acked_at

    def persistence(self, delivery_state: DeliveryState) -> ConsumerPersistence:
        """The persistence that replicates the changes of `delivery_state`."""
        return ReplicatedPersistence(self._state, delivery_state, self._clock, self._turns, self._propose)
