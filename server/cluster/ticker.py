"""Ticker: one timer per server that ticks all of its groups.

Promises: there is no timer while there is nothing to tick. After a delay of the loop there is one tick, not
one for each that was missed. All groups count the same ticks, so that work that each does every few ticks is
done together.
"""

from __future__ import annotations

from collections.abc import Callable

from ..clock import SECOND, Clock, Timer

TICK = SECOND // 4


class Ticker:
    """Calls every callback that was added, every `tick` ns.

    count: the number of ticks so far.
    """

    def __init__(self, clock: Clock, tick: int = TICK) -> None:
        self._clock = clock
        self.tick = tick
        self.count = 0
        self._beats: list[Callable[[], None]] = []
        self._last: list[Callable[[], None]] = []
        self._timer: Timer | None = None

    def add(self, beat: Callable[[], None]) -> None:
        """Call `beat` on every tick from now on. Adding it twice is harmless."""
        if beat not in self._beats:
            self._beats.append(beat)
        if self._timer is None:
            self._timer = self._clock.call_later(self.tick, self._run)

    def add_last(self, beat: Callable[[], None]) -> None:
        """Call `beat` after all others on each tick, as long as there are any others."""
        self._last.append(beat)

    def remove(self, beat: Callable[[], None]) -> None:
        """Stop calling `beat`. Harmless if it is not there."""
        if beat in self._beats:
            self._beats.remove(beat)
        if not self._beats and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._timer = self._clock.call_later(self.tick, self._run)
        self.count += 1
        for beat in [*self._beats, *self._last]:
            beat()
