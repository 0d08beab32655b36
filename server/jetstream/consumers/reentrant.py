"""ReentrantRunner: work that may be asked for from within itself, one run after another.

What a delivery sets off (an acknowledgement, a new request) may ask for the next delivery. Promises: a run
never begins inside another; who asks during a run has it run once more afterwards. Work that goes on in a
later turn of the loop shares that turn's time with all others' (`JetStreamHost.deliveries`).
"""

from __future__ import annotations

from collections.abc import Callable

from ...slices import LoopTurns


class ReentrantRunner:
    """The runs of `work`. turns: where later ones wait."""

    __slots__ = ("_again", "_running", "_turns", "_waiting", "_work")

    def __init__(self, work: Callable[[], None], turns: LoopTurns) -> None:
        self._work = work
        self._turns = turns
        self._running = self._again = self._waiting = False

    def run(self) -> None:
        """Run now, or after the run that is going on, or when its turn comes if it waits for that."""
        if self._waiting:
            return
        if self._running:
            self._again = True
            return
        self._running = True
        try:
            self._work()
            while self._again and not self._waiting:
                self._again = False
                self._work()
        finally:
            self._running = self._again = False

    def later(self) -> None:
        """Run when its turn comes."""
        if not self._waiting:
            self._waiting = True
            self._turns.soon(self._turn)

    def _turn(self) -> None:
        self._waiting = False
        self.run()
