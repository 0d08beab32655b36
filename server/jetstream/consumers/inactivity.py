"""Inactivity: deletes a consumer that nobody has used for the time of its inactive threshold.

A push consumer is in use while somebody subscribes to its deliver subject. A pull consumer is in use while a
request waits, and its last use is the latest of its last request, its last delivery and the last ack deadline
of what it delivered.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol

from ...clock import DeadlineTimer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.consumer import ConsumerConfig
    from ...clock import Clock

_JITTER = 100_000_000  # ns; the least that is added to a threshold


class Usage(Protocol):
    """How the receivers of a consumer use it."""

    @property
    def bound(self) -> bool:
        """Whether somebody listens, so that the consumer is in use until `Inactivity.changed` is called."""

    def used_until(self, now: int, threshold: int) -> int:
        """Return the time of the last use, in the past or expected, ns.

        An earlier use may be returned instead if it is less than `threshold` ns ago.
        """


class Inactivity:
    """The inactivity of one consumer.

    threshold: ns, with jitter; 0 for none.
    expired: called when nobody has used the consumer for that long.
    """

    __slots__ = ("_clock", "_expired", "_timer", "_usage", "threshold")

    def __init__(self, clock: Clock, usage: Usage, expired: Callable[[], None]) -> None:
        self._clock = clock
        self._usage = usage
        self._expired = expired
        self._timer = DeadlineTimer(clock, self._check)
        self.threshold = 0

    def configure(self, config: ConsumerConfig) -> None:
        """Take over the configuration, and restart the timer."""
        self.threshold = config.inactive_threshold
        exact = config.deliver_subject and (config.durable_name or config.inactive_threshold != 5_000_000_000)
        if self.threshold and not exact:
            # Without jitter, the clients of a restarted server would lose all their consumers at once.
            self.threshold += _JITTER + random.randrange(900) * 1_000_000
        self._timer.clear()
        self.changed()

    def changed(self) -> None:
        """Start or stop the timer, because somebody began or ceased to listen."""
        if not self.threshold or self._usage.bound:
            self._timer.clear()
        elif self._timer.timer is None:
            self._timer.at(self._clock.now() + self.threshold)

    def _check(self) -> None:
        if self._usage.bound:
            return
        now = self._clock.now()
        until = self._usage.used_until(now, self.threshold) + self.threshold
        if until > now:
            self._timer.at(until)
        else:
            self._expired()

    def stop(self) -> None:
        """Cancel the timer."""
        self._timer.clear()
