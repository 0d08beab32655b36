"""Inactivity: when a consumer that nobody uses goes away.

A push consumer is unused while nobody subscribes to its deliver subject; a pull consumer when its last
request, and the ack deadline of all that it delivered, lie back longer than the threshold and no request
waits.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from ...clock import DeadlineTimer
from .pull_delivery import PullDelivery

if TYPE_CHECKING:
    from .core import Consumer

_JITTER = 100_000_000


class Inactivity:
    """The threshold of one consumer; 0 for none."""

    __slots__ = ("_consumer", "_timer", "threshold")

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._timer = DeadlineTimer(consumer.clock, self._check)
        self.threshold = 0

    def configure(self) -> None:
        """Take over the configuration; the count begins anew."""
        config = self._consumer.config
        self.threshold = config.inactive_threshold
        exact = config.deliver_subject and (config.durable_name or config.inactive_threshold != 5_000_000_000)
        if self.threshold and not exact:
            # so that the clients of a server that comes back do not lose all their consumers at one moment
            self.threshold += _JITTER + random.randrange(900) * 1_000_000
        self._timer.clear()
        self.changed()

    def changed(self) -> None:
        """Somebody came, or went."""
        delivery = self._consumer.delivery
        if not self.threshold or (not isinstance(delivery, PullDelivery) and delivery.active):
            self._timer.clear()
        elif not self._timer.pending:
            self._timer.at(self._consumer.clock.now() + self.threshold)

    def _check(self) -> None:
        consumer, delivery = self._consumer, self._consumer.delivery
        now = consumer.clock.now()
        if isinstance(delivery, PullDelivery):
            used = max(delivery.last_request, consumer.sender.delivered_at)
            if now - used < self.threshold:
                self._timer.at(used + self.threshold)
                return
            if delivery.waiting():
                self._timer.at(now + self.threshold)
                return
            until = consumer.delivery_state.last_deadline() + self.threshold
            if consumer.delivery_state.outstanding and until > now:
                self._timer.at(until)
                return
        elif delivery.active:
            return
        consumer.delete("inactive")

    def stop(self) -> None:
        """Count no more."""
        self._timer.clear()
