"""Live plots on the terminal: something is looked at every second, and drawn until Ctrl-C.

Promises: a plot shows what was measured and nothing else: a look that fails is a gap, and is told in the
heading. A new size of the terminal is drawn at once. Ctrl-C is no error.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..errors import CliError, UsageError
from . import terminal
from .cells import clean, shortened
from .extent import size
from .plot import LEAST_ROWS, plot
from .watch import resized

SECOND = 1.0
HEADING = 3  # lines above the plots, and the one below them
KEPT = 1000  # values of each plot: more than any terminal has columns


@dataclass(frozen=True)
class PlotSeries:
    """One plot.

    read: takes the value out of what was looked at.
    text: the value in words.
    rate: whether the value is a counter, of which the growth in a second is shown.
    """

    title: str
    read: Callable[[Any], float]
    text: Callable[[float], str] = "{:,.0f}".format
    rate: bool = False


class History:
    """The values of some series; a counter is remembered with the time at which it was read."""

    def __init__(self, series: Sequence[PlotSeries]) -> None:
        self.series = series
        self.values: list[deque[float | None]] = [deque(maxlen=KEPT) for _ in series]
        self._before: list[tuple[float, float] | None] = [None] * len(series)

    def add(self, seen: Mapping[str, Any], now: float) -> None:
        """Add what was seen at `now` (seconds). A counter that fell began again: it is a gap."""
        for index, series in enumerate(self.series):
            value, before = series.read(seen), self._before[index]
            self._before[index] = (value, now)
            if not series.rate:
                self.values[index].append(value)
            elif before is not None and now > before[1]:
                grown = (value - before[0]) / (now - before[1])
                self.values[index].append(grown if grown >= 0 else None)

    def skip(self) -> None:
        """Leave a gap and forget what the counters were, after a look that failed."""
        self._before = [None] * len(self.series)
        for values in self.values:
            values.append(None)

    def drawn(self, columns: int, lines: int) -> str:
        """Return the plots one below the other, or the first ones that fit and the names of the others."""
        room = lines - HEADING
        shown = len(self.series)
        if room < shown * LEAST_ROWS:
            room -= 1
            shown = room // LEAST_ROWS
        if shown < 1 or columns < 30:
            return "The terminal is too small for the graphs: make it larger"
        found: list[str] = []
        for series, values in list(zip(self.series, self.values, strict=True))[:shown]:
            found += [*plot(series.title, list(values), columns, room // shown - 1, series.text), ""]
        if others := [series.title for series in self.series[shown:]]:
            found.append(shortened(f"… a higher terminal also shows {', '.join(others)}", columns))
        return "\n".join(found)


def check_terminal() -> None:
    """Raise UsageError if there is nothing to draw on."""
    if not terminal.is_terminal():
        raise UsageError("can only graph data on a terminal", "a report with --watch -o ndjson can be piped")


async def graph(
    heading: str, series: Sequence[PlotSeries], read: Callable[[], Awaitable[Mapping[str, Any]]]
) -> None:
    """Draw the series until Ctrl-C.

    read: returns what the series read their values from.

    Raises UsageError without a terminal, and what the first look raises.
    """
    check_terminal()
    screen, history, seen = terminal.Screen(heading), History(series), False
    try:
        with resized() as changed:
            while True:
                try:
                    history.add(await read(), time.monotonic())
                    screen.heading, seen = heading, True
                except CliError as error:
                    if not seen:
                        raise
                    history.skip()
                    screen.heading = f"{heading}: {clean(error.message)}"
                await _until_next(screen, history, changed)
    except asyncio.CancelledError:
        pass
    finally:
        screen.close()


async def _until_next(screen: terminal.Screen, history: History, changed: asyncio.Event) -> None:
    """Draw, and draw again in each new size until the next look is due."""
    end = time.monotonic() + SECOND
    while True:
        changed.clear()
        screen.draw(history.drawn(*size()))
        left = end - time.monotonic()
        if left <= 0:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), left)
            continue
        return
