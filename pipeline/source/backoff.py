"""The wait between checks of streams that have nothing new, as Spark asks again after ten milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST, LONGEST = 0.02, 0.5  # seconds; the wait doubles with every check that finds nothing


class Backoff:
    """A growing wait: call `pause` before each check, and `idle` or `busy` after it."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        self._next = 0.0

    def pause(self) -> None:
        """Wait, if the last check found nothing."""
        if self._next:
            self._sleep(self._next)

    def idle(self) -> None:
        """Note that the check found nothing."""
        self._next = min(self._next * 2, LONGEST) or FIRST

    def busy(self) -> None:
        """Note that there was something, here or in another source of the same query."""
        self._next = 0.0
