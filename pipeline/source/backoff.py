"""Waiting between looks at streams that have nothing new: Spark itself asks again after ten milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST, LONGEST = 0.02, 0.5  # seconds; the wait doubles with every look in vain


class Backoff:
    """`pause` before each look; say with `idle` or `busy` what it found."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        self._next = 0.0

    def pause(self) -> None:
        """Wait, if the last look was in vain."""
        if self._next:
            self._sleep(self._next)

    def idle(self) -> None:
        """There was nothing."""
        self._next = min(self._next * 2, LONGEST) or FIRST

    def busy(self) -> None:
        """There was something, here or in another source of the same query."""
        self._next = 0.0
