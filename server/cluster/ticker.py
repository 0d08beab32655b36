"""One timer per server that ticks all of its groups.

Promises: no timer while there is nothing to tick; a loop that was late ticks once, not for all it missed. All
count the same ticks, so that what each does every few of them is done together.
"""

from __future__ import annotations

from collections.abc import Callable

from ..clock import SECOND, Clock, Timer

TICK = SECOND // 4


class Ticker:
    """Calls everyone who was added, every `tick` ns. count: of ticks so far."""

    def __init__(self, clock: Clock, tick: int = TICK) -> None:
        self._clock = clock
        self.tick = tick
        self.count = 0
        self._beats: list[Callable[[], None]] = []
        self._last: list[Callable[[], None]] = []
        self._timer: Timer | None = None

    def add(self, beat: Callable[[], None]) -> None:
        """Call `beat` from now on; harmless when done twice."""
        if beat not in self._beats:
            self._beats.append(beat)
        if self._timer is None:
            self._timer = self._clock.call_later(self.tick, self._run)

    def add_last(self, beat: Callable[[], None]) -> None:
        """Call `beat` after all others, as long as there are any."""
        self._last.append(beat)

    def remove(self, beat: Callable[[], None]) -> None:
        """Call it no more; harmless when done twice."""
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
