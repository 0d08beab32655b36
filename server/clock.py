"""The wall clock and timers, which every core of the server gets as an argument.

Promises nanoseconds (int) everywhere, and callbacks on the loop's own thread. Nothing here sleeps. Tests use
a fake clock with the same methods. `DeadlineTimer` serves an object that has many deadlines with one timer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio

SECOND = 1_000_000_000


class Timer(Protocol):
    """A pending callback."""

    def cancel(self) -> None:
        """Make sure that the callback does not run any more. Harmless if it has already run."""


class Clock(Protocol):
    """What a core may know of time, and how it sets timers."""

    def now(self) -> int:
        """Return the wall time in ns since the Unix epoch, UTC."""

    def call_later(self, delay: int, callback: Callable[[], None]) -> Timer:
        """Run `callback` on the loop after `delay` ns."""

    def soon(self, callback: Callable[[], None]) -> Timer:
        """Run `callback` on the loop as soon as the current work is done."""


class LoopClock:
    """The server's clock, on an asyncio loop."""

    __slots__ = ("_loop", "soon")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # As `now`, with no Python call in between.
        self.soon: Callable[[Callable[[], None]], Timer] = loop.call_soon

    now = staticmethod(time.time_ns)  # no Python call in between, as this is read for every message

    def call_later(self, delay: int, callback: Callable[[], None]) -> Timer:
        """Schedule `callback` on the loop. With a delay of 0 or less it runs in the loop's next turn."""
        if delay <= 0:
            return self._loop.call_soon(callback)
        return self._loop.call_later(delay / SECOND, callback)


class DeadlineTimer:
    """Calls `callback` once when its time has come. At most one timer is pending at any moment.

    All times are wall times in ns, as `Clock.now` returns them.

    timer: the pending timer; None if none is set.
    """

    __slots__ = ("_at", "_callback", "_clock", "timer")

    def __init__(self, clock: Clock, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._callback = callback
        self.timer: Timer | None = None
        self._at = 0

    def at(self, when: int) -> None:
        """Fire at `when` (ns) at the latest; a timer set for an earlier time stays as it is."""
        if self.timer is not None:
            if self._at <= when:
                return
            self.timer.cancel()
        self._at = when
        self.timer = self._clock.call_later(max(when - self._clock.now(), 0), self._fire)

    def again(self, when: int) -> None:
        """Fire at `when` (ns), whatever time the timer was set for."""
        self.clear()
        self.at(when)

    def clear(self) -> None:
        """Cancel the timer, so that it does not fire."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _fire(self) -> None:
        self.timer = None
        self._callback()
