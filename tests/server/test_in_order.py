"""Pieces of work one after another: their order, their faults, and their end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pyjs.server.slices import SECONDS, InOrder, Steps


class Turns:
    def __init__(self) -> None:
        self.due: deque[Callable[[], None]] = deque()

    def soon(self, callback: Callable[[], None]) -> None:
        self.due.append(callback)

    def run(self) -> None:
        while self.due:
            self.due.popleft()()


class Rig:
    def __init__(self) -> None:
        self.turns = Turns()
        self.told: list[object] = []
        self.work = InOrder(self.turns, self.told.append)

    def piece(self, name: str, *, long: bool = False, fault: Exception | None = None) -> None:
        self.work.add(self._steps(name, long=long, fault=fault), self.told.append)

    def _steps(self, name: str, *, long: bool, fault: Exception | None) -> Steps[str]:
        from time import perf_counter

        self.told.append(f"{name} begins")
        until = perf_counter() + 3 * SECONDS * long
        while perf_counter() < until:
            yield
        if fault is not None:
            raise fault
        yield
        return name


def test_what_is_short_is_done_at_once() -> None:
    rig = Rig()
    rig.piece("a")
    rig.piece("b")
    assert rig.told == ["a begins", "a", "b begins", "b"]
    assert not rig.turns.due


def test_each_waits_for_those_before_it() -> None:
    rig = Rig()
    rig.piece("a", long=True)
    rig.piece("b")
    assert rig.told == ["a begins"]
    rig.turns.run()
    assert rig.told == ["a begins", "a", "b begins", "b"]


def test_a_fault_is_told_and_the_next_one_follows() -> None:
    rig = Rig()
    fault = ValueError("no")
    rig.piece("a", long=True, fault=fault)
    rig.piece("b")
    rig.turns.run()
    assert rig.told == ["a begins", fault, "b begins", "b"]


def test_nothing_goes_on_after_the_end() -> None:
    rig = Rig()
    rig.piece("a", long=True)
    rig.piece("b")
    rig.work.stop()
    rig.turns.run()
    assert rig.told == ["a begins"]
