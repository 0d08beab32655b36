"""Inactivity: when a consumer that nobody uses goes away.

A push consumer is unused while nobody subscribes to its deliver subject; a pull consumer when its last
request, and the ack deadline of all that it delivered, lie back longer than the threshold and no request
waits.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol

from ...clock import DeadlineTimer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.consumer import ConsumerConfig
    from ...clock import Clock

_JITTER = 100_000_000


class Usage(Protocol):
    """How the receivers of a consumer use it."""

    @property
    def bound(self) -> bool:
        """Whether somebody receives, until further notice."""

    def used_until(self, now: int, threshold: int) -> int:
        """Give the time of the last use, past or expected, in ns.

        It need not be the last one if it is less than `threshold` ns ago.
        """


class Inactivity:
    """The threshold of one consumer, in ns; 0 for none.

    expired: called when nobody has used the consumer for so long.
    """

    __slots__ = ("_clock", "_expired", "_timer", "_usage", "threshold")

    def __init__(self, clock: Clock, usage: Usage, expired: Callable[[], None]) -> None:
        self._clock = clock
        self._usage = usage
        self._expired = expired
        self._timer = DeadlineTimer(clock, self._check)
        self.threshold = 0

    def configure(self, config: ConsumerConfig) -> None:
        """Take over the configuration; the count begins anew."""
        self.threshold = config.inactive_threshold
        exact = config.deliver_subject and (config.durable_name or config.inactive_threshold != 5_000_000_000)
        if self.threshold and not exact:
            # so that the clients of a server that comes back do not lose all their consumers at one moment
            self.threshold += _JITTER + random.randrange(900) * 1_000_000
        self._timer.clear()
        self.changed()

    def changed(self) -> None:
        """Somebody came, or went."""
        if not self.threshold or self._usage.bound:
            self._timer.clear()
        elif not self._timer.pending:
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
        """Count no more."""
        self._timer.clear()
