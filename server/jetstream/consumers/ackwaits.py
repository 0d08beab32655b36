"""AckWaits: handles messages whose ack is late, and messages that need no ack any more.

Promises: however many waits end at one moment, each turn of the loop handles only a few hundred of them, so
that nobody else waits. Each message that is out of deliveries gets its advisory.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from ....protocol.dead_letters import MAX_DELIVERIES
from ...clock import DeadlineTimer
from .advisories import LIMITS_REASON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...clock import Clock
    from ...slices import Steps
    from .advisories import ConsumerAdvisories
    from .dead_letters import DeadLetters
    from .delivery_state import DeliveryState
    from .persistence import ConsumerPersistence


class Deliverer(Protocol):
    """The consumer, as acks and expired waits use it."""

    def deliver(self) -> None:
        """Deliver what can be delivered now."""

    def deliver_later(self) -> None:
        """Deliver what can be delivered, in the loop's next turn."""

    def spread(self, steps: Iterator[None], then: Callable[[], None]) -> None:
        """Run the steps in slices, and then call `then`, unless the consumer stops first."""


class AckWaits:
    """The ack waits of one consumer."""

    __slots__ = (
        "_advisories",
        "_clock",
        "_dead_letters",
        "_deliverer",
        "_delivery_state",
        "_persistence",
        "_timer",
    )

    def __init__(
        self,
        clock: Clock,
        delivery_state: DeliveryState,
        persistence: ConsumerPersistence,
        advisories: ConsumerAdvisories,
        dead_letters: DeadLetters,
        deliverer: Deliverer,
    ) -> None:
        self._clock = clock
        self._delivery_state = delivery_state
        self._persistence = persistence
        self._advisories = advisories
        self._dead_letters = dead_letters
        self._deliverer = deliverer
        self._timer = DeadlineTimer(clock, self._expire)

    def arm(self) -> None:
        """Set the timer for the next ack that may become late."""
        deadline = self._delivery_state.next_deadline()
        if deadline is not None:
            self._timer.at(deadline)

    def stop(self) -> None:
        """Cancel the timer."""
        self._timer.clear()

    def delivered(self) -> None:
        """Take note of a run of deliveries: set the timer, if needed, and save the state."""
        delivery_state = self._delivery_state
        irregular = delivery_state.aside or delivery_state.backoff  # a later delivery may be due earlier
        if irregular or (delivery_state.pending and self._timer.timer is None):
            self.arm()
        self._persistence.changed()

    def _expire(self) -> None:
        delivery_state = self._delivery_state
        for seq in delivery_state.expire(self._clock.now()):
            self.give_up(seq)
        self.arm()  # fires at once if more waits are over
        if delivery_state.queued:
            self._persistence.changed()
            self._deliverer.deliver()

    def retime(self) -> None:
        """Recalculate the deadlines, because ack_wait or backoff changed."""
        self._timer.clear()
        self._deliverer.spread(self._delivery_state.retiming(), self.arm)
        self.arm()

    def end_all(self, then: Callable[[], None]) -> None:
        """Queue all pending messages for redelivery, and then call `then`."""
        self._deliverer.spread(self._ending_all(), then)

    def _ending_all(self) -> Steps[None]:
        for exhausted in self._delivery_state.expiring_all():
            for seq in exhausted:
                self.give_up(seq)
            if exhausted:
                yield

    def dropped(self, seq: int) -> None:
        """Take note that a pending message left the stream."""
        stalled = self._delivery_state.stalled
        entry = self._delivery_state.gone(seq)
        if entry is not None:
            self._advisories.terminated(entry[0], seq, entry[1], LIMITS_REASON)
            self._freed(stalled=stalled)

    def give_up(self, seq: int) -> None:
        """Stop delivering a pending message that is out of deliveries; keep it as a dead letter if wanted."""
        count = self._delivery_state.deliveries(seq)
        if not self._dead_letters.take(seq, MAX_DELIVERIES, count, partial(self._given_up, seq)):
            self._given_up(seq)

    def _given_up(self, seq: int) -> None:
        """Take note that a message is given up, and publish the advisory, unless it was acknowledged."""
        if self._delivery_state.entry(seq) is None:
            return
        stalled = self._delivery_state.stalled
        self._advisories.max_deliveries(seq, self._delivery_state.give_up(seq))
        self._freed(stalled=stalled)

    def _freed(self, *, stalled: bool) -> None:
        """Save the state, and deliver more if the consumer was stalled, after a message stopped pending."""
        self._persistence.changed()
        if stalled:
            self._deliverer.deliver_later()
