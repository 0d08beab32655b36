"""A clock that moves only on request: timers run in order of their due time, then of their creation."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable


class FakeTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    def __init__(self, now: int = 1_700_000_000_000_000_000) -> None:
        self._now = now
        self._order = itertools.count()
        self._timers: list[tuple[int, int, FakeTimer]] = []

    def now(self) -> int:
        return self._now

    def call_later(self, delay: int, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(callback)
        heapq.heappush(self._timers, (self._now + max(0, delay), next(self._order), timer))
        return timer

    def soon(self, callback: Callable[[], None]) -> FakeTimer:
        return self.call_later(0, callback)

    def advance(self, ns: int) -> None:
        """Move on by `ns`, running timers that become due, in order, each at its own time."""
        end = self._now + ns
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, due)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
        self._now = end

    def pending(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._timers)
