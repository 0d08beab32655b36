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
        """Run `callback` on the loop after `delay` ns. With 0 it runs as soon as the current work is done."""


class LoopClock:
    """The server's clock, on an asyncio loop."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    now = staticmethod(time.time_ns)  # no Python call in between, as this is read for every message

    def call_later(self, delay: int, callback: Callable[[], None]) -> Timer:
        """Schedule `callback` on the loop. With a delay of 0 or less it runs in the loop's next turn."""
        if delay <= 0:
            return self._loop.call_soon(callback)
        return self._loop.call_later(delay / SECOND, callback)


class DeadlineTimer:
    """Calls `callback` once when its time has come. At most one timer is pending at any moment.

    All times are wall times in ns, as `Clock.now` returns them.
    """

    __slots__ = ("_at", "_callback", "_clock", "_timer")

    def __init__(self, clock: Clock, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._callback = callback
        self._timer: Timer | None = None
        self._at = 0

    @property
    def pending(self) -> bool:
        """Whether the timer is set."""
        return self._timer is not None

    def at(self, when: int) -> None:
        """Fire at `when` (ns) at the latest; a timer set for an earlier time stays as it is."""
        if self._timer is not None:
            if self._at <= when:
                return
            self._timer.cancel()
        self._at = when
        self._timer = self._clock.call_later(max(when - self._clock.now(), 0), self._fire)

    def again(self, when: int) -> None:
        """Fire at `when` (ns), whatever time the timer was set for."""
        self.clear()
        self.at(when)

    def clear(self) -> None:
        """Cancel the timer, so that it does not fire."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        self._callback()
