"""Time as an argument: the wall clock and timers that every core of the server is given.

`DeadlineTimer` is for what has many deadlines and needs one timer.

Promises nanoseconds (int) everywhere and callbacks on the loop's own thread. Never sleeps; tests use a fake
of the same shape.
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
        """Make sure the callback does not run any more; harmless when it has run."""


class Clock(Protocol):
    """What a core may know of time."""

    def now(self) -> int:
        """Wall time in ns since the Unix epoch, UTC."""

    def call_later(self, delay: int, callback: Callable[[], None]) -> Timer:
        """Run `callback` on the loop after `delay` ns (0: as soon as the present work is done)."""


class LoopClock:
    """The server's clock, on an asyncio loop."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    now = staticmethod(time.time_ns)  # without a call in between: it is asked for every message

    def call_later(self, delay: int, callback: Callable[[], None]) -> Timer:
        """Schedule on the loop; a delay of 0 or less runs in the next round of the loop."""
        if delay <= 0:
            return self._loop.call_soon(callback)
        return self._loop.call_later(delay / SECOND, callback)


class DeadlineTimer:
    """Calls `callback` once when its time has come. At most one timer is pending at any moment."""

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
        """Fire at `when`, whatever it was set for."""
        self.clear()
        self.at(when)

    def clear(self) -> None:
        """Do not fire."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        self._callback()
