"""ReentrantRunner: one run after another, and later ones that share the turns of the loop."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from pyjs.server.slices import SECONDS, ReentrantRunner, TurnScheduler


class Loop:
    """A loop whose turns the test takes."""

    def __init__(self) -> None:
        self._due: list[Callable[[], None]] = []

    def later(self, callback: Callable[[], None]) -> None:
        self._due.append(callback)

    def turn(self) -> None:
        """Call what was asked for before this turn."""
        due, self._due = self._due, []
        for callback in due:
            callback()


class Busy:
    """Work that takes a whole slice each time, and is never done."""

    def __init__(self, turns: TurnScheduler) -> None:
        self.runs = 0
        self.rounds = ReentrantRunner(self._work, turns)

    def _work(self) -> None:
        self.runs += 1
        until = perf_counter() + SECONDS
        while perf_counter() < until:
            pass
        self.rounds.run()
        self.rounds.later()


def test_who_has_much_to_do_takes_turns_with_the_others() -> None:
    loop = Loop()
    turns = TurnScheduler(loop.later)
    busy = [Busy(turns) for _ in range(5)]
    for one in busy:
        one.rounds.run()
    for turn in range(1, 11):
        loop.turn()
        assert sum(one.runs for one in busy) == 5 + turn  # one a turn, however many wait
    assert [one.runs for one in busy] == [3] * 5


def test_who_waits_for_a_turn_is_not_run_before() -> None:
    loop = Loop()
    one = Busy(TurnScheduler(loop.later))
    one.rounds.run()
    one.rounds.run()
    assert one.runs == 1
    loop.turn()
    assert one.runs == 2
