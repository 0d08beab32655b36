"""Rounds: work that may be asked for from within itself, one run after another.

What a delivery sets off (an acknowledgement, a new request) may ask for the next delivery. Promises: a run
never begins inside another; who asks during a run has it run once more afterwards.
"""

from __future__ import annotations

from collections.abc import Callable


class Rounds:
    """The rounds of `work`."""

    __slots__ = ("_again", "_running", "_work")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._running = self._again = False

    def run(self) -> None:
        """Run now, or after the run that is going on."""
        if self._running:
            self._again = True
            return
        self._running = True
        try:
            self._work()
            while self._again:
                self._again = False
                self._work()
        finally:
            self._running = False
