"""ConsumerPause: no deliveries until a given time (`pause_until`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...clock import DeadlineTimer

if TYPE_CHECKING:
    from ...clock import Clock
    from .advisories import ConsumerAdvisories


class ConsumerPause:
    """The pause of one consumer. until: when it ends, ns; 0 for none."""

    __slots__ = ("_advisories", "_clock", "_deliver", "_timer", "until")

    def __init__(
        self, clock: Clock, advisories: ConsumerAdvisories, until: int, deliver: Callable[[], None]
    ) -> None:
        """deliver: is called at the end of a pause."""
        self._clock = clock
        self._advisories = advisories
        self._deliver = deliver
        self._timer = DeadlineTimer(clock, self._check)
        self.until = until

    def at(self, now: int) -> bool:
        """Return whether deliveries are paused at the time `now` (ns)."""
        return self.until > now

    def start(self) -> None:
        """Wait for the end, if there is a pause now."""
        if self.at(self._clock.now()):
            self._timer.at(self.until)

    def change(self, until: int) -> None:
        """Take over a new end, and publish the advisory."""
        self.until = until
        self._timer.clear()
        self.start()
        self._advisories.paused(self.at(self._clock.now()), until)

    def stop(self) -> None:
        """Cancel the timer."""
        self._timer.clear()

    def _check(self) -> None:
        if self.at(self._clock.now()):
            self._timer.at(self.until)
            return
        self._advisories.paused(False, self.until)
        self._deliver()
