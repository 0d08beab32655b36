"""Slices: long work on the event loop, done one step in each turn, so that nothing else waits for it.

A turn is one iteration of the loop: it runs the callbacks that are ready, then looks for input again.
A piece of work is a generator. It yields where it may be interrupted, after a millisecond or two, and returns
its result. The data it works on may change between two steps; the generator itself must allow for that.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    pass

T = TypeVar("T")
U = TypeVar("U")
Steps = Generator[None, None, T]
SECONDS = 0.002  # of one step, where time limits it
_RUN = 256  # items sorted in one step
_NOTED = 0.25  # the part of a turn's share from which on it is noted when the turn ends


class LoopTurns(Protocol):
    """Runs callbacks in later turns of the loop.

    `Clock` runs all in the next turn, `TurnScheduler` as many as there is time for.
    """

    def soon(self, callback: Callable[[], None], /) -> object:
        """Run `callback` in a later turn."""


class TurnScheduler:
    """Runs callbacks in the order in which they came, for about `SECONDS` in total in each turn of the loop.

    later: runs a callback in the next turn.
    seconds: the share of each turn, instead of `SECONDS`.
    """

    __slots__ = ("_asked", "_due", "_later", "_seconds", "_spent")

    def __init__(self, later: Callable[[Callable[[], None]], object], seconds: float | None = None) -> None:
        self._later = later
        self._seconds = seconds
        self._due: deque[Callable[[], object]] = deque()
        self._asked = False  # whether a turn has been asked for
        # Seconds used by `now` and `now_each` in this turn, and less than `_NOTED` of one before.
        self._spent = 0.0

    def __len__(self) -> int:
        return len(self._due)

    @property
    def _share(self) -> float:
        return SECONDS if self._seconds is None else self._seconds

    def until(self) -> float:
        """Return until when a callback that begins now may work, in the time of `perf_counter`."""
        return perf_counter() + self._share

    def soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` after all that wait already, in a turn with time left."""
        self._due.append(callback)
        self._ask()

    def now(self, callback: Callable[[], object]) -> None:
        """Run `callback` at once if nothing waits and time is left in this turn; otherwise as `soon` does."""
        if self._due or self._spent >= self._share:
            self.soon(callback)
            return
        began = perf_counter()
        try:
            callback()
        finally:
            self._spend(perf_counter() - began)

    def now_each(self, work: Callable[[T], object], items: Sequence[T]) -> int:
        """Call `work` for one item after another, as long as nothing waits and time is left in this turn.

        Return for how many items that was done.
        """
        done = 0
        if self._due or self._spent >= self._share:
            return done
        began = perf_counter()
        until = began + self._share - self._spent
        try:
            for item in items:
                done += 1
                work(item)
                if self._due or perf_counter() >= until:
                    break
        finally:
            self._spend(perf_counter() - began)
        return done

    def _spend(self, seconds: float) -> None:
        """Count time of this turn. Once it is worth counting, have the next turn begin with none."""
        self._spent += seconds
        if self._spent >= self._share * _NOTED:
            self._ask()

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._later(self._turn)

    def _turn(self) -> None:
        self._asked, self._spent = False, 0.0
        until = self.until()
        try:
            for _ in range(len(self._due)):  # callbacks added meanwhile wait for the next turn
                self._due.popleft()()
                if perf_counter() >= until:
                    break
        finally:
            if self._due:
                self._ask()


class ReentrantRunner:
    """Runs work that may be requested from within itself, one run after the other.

    A delivery can cause an acknowledgement or a new request, which in turn asks for the next delivery. A run
    never begins inside another one. If it is requested during a run, it follows that run.

    turns: where later runs wait. With `TurnScheduler` they share the time of a turn with all others.
    """

    __slots__ = ("_again", "_running", "_turns", "_waiting", "_work")

    def __init__(self, work: Callable[[], None], turns: LoopTurns) -> None:
        self._work = work
        self._turns = turns
        self._running = self._again = self._waiting = False

    def run(self) -> None:
        """Run now, or right after the current run. If a later run is already waiting, that one is enough."""
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


def at_once(steps: Steps[T]) -> T:
    """Do all steps now and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def paced(steps: Steps[T]) -> Steps[T]:
    """Do the same work in steps of about `SECONDS`, by joining shorter steps."""
    until = perf_counter() + SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if perf_counter() >= until:
            yield
            until = perf_counter() + SECONDS


def map_in_steps(items: Iterable[U], make: Callable[[U], T]) -> Steps[list[T]]:
    """Return the list of `make(item)` for each item, with one step per item."""
    made: list[T] = []
    for item in items:
        made.append(make(item))
        yield
    return made


def matching(items: Iterable[T], wanted: Callable[[T], bool]) -> Steps[list[T]]:
    """Return the list of the items for which `wanted` is true, with one step per item."""
    found: list[T] = []
    for item in items:
        if wanted(item):
            found.append(item)
        yield
    return found


def freeing(items: list[Any]) -> Steps[None]:
    """Free a large document step by step.

    `items` must hold the only references to its parts, and is empty at the end.
    """
    while items:
        item = items.pop()
        if isinstance(item, dict):
            items.extend(item.values())
        elif isinstance(item, list):
            items.extend(item)
        del item
        yield


def in_order(items: list[T], key: Callable[[T], Any], *, downwards: bool = False) -> Steps[list[T]]:
    """Return the items sorted. The sort is stable."""
    runs: list[list[T]] = []
    for start in range(0, len(items), _RUN):
        runs.append(sorted(items[start : start + _RUN], key=key, reverse=downwards))
        yield
    merged: list[T] = []
    for item in heapq.merge(*runs, key=key, reverse=downwards):
        merged.append(item)
        yield
    return merged


async def finish(turns: LoopTurns, steps: Steps[T]) -> T:
    """Wait for the result of the work. If the waiting task is cancelled, the work stops, too."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def failed(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    def done(result: T) -> None:
        if not future.done():
            future.set_result(result)

    slices = Slices(turns, steps, done, failed)
    try:
        return await future
    finally:
        slices.stop()


class SerialQueue:
    """Runs pieces of work that must not overlap: each begins when the one before it has ended."""

    def __init__(self, turns: LoopTurns) -> None:
        self._turns = turns
        self._waiting: deque[Callable[[], Slices]] = deque()
        self._busy = False
        self._under_way: Slices | None = None

    def __len__(self) -> int:
        """Return how many wait to begin."""
        return len(self._waiting)

    def add(
        self, steps: Steps[T], done: Callable[[T], object], failed: Callable[[Exception], object]
    ) -> None:
        """Add a piece of work, as for `Slices`. If nothing is under way, its first step is done at once."""

        def ended(report: Callable[[U], object], outcome: U) -> None:
            try:
                report(outcome)
            finally:
                self._next()

        self._waiting.append(lambda: Slices(self._turns, steps, partial(ended, done), partial(ended, failed)))
        if not self._busy:
            self._busy = True
            self._begin()

    def stop(self) -> None:
        """Stop the work under way and drop what waits or is added later. No callback is called."""
        self._waiting.clear()
        if self._under_way is not None:
            self._under_way.stop()

    def _begin(self) -> None:
        if self._waiting:  # empty after `stop`
            self._under_way = self._waiting.popleft()()

    def _next(self) -> None:
        if self._waiting:
            self._turns.soon(self._begin)
        else:
            self._busy = False


def _raise(error: Exception) -> None:
    raise error


class Slices:
    """A piece of work under way. Its first step is done at once, then one in each turn of the loop.

    done: called with the result.
    failed: called with the exception; without it, the exception is raised in the loop.

    Exactly one of the two is called, unless the work is stopped.
    """

    __slots__ = ("_again", "_busy", "_done", "_failed", "_runner", "_steps")

    def __init__(
        self,
        runner: LoopTurns,
        steps: Steps[T],
        done: Callable[[T], object],
        failed: Callable[[Exception], object] = _raise,
    ) -> None:
        self._runner = runner
        self._steps: Steps[T] | None = steps
        self._done = done
        self._failed = failed
        self._busy = self._again = False
        self._turn()

    def stop(self) -> None:
        """Stop the work. No callback is called."""
        self._steps = None

    def _turn(self) -> None:
        if self._busy:  # the runner called back immediately
            self._again = True
            return
        self._busy = self._again = True
        try:
            while self._again and self._step():
                self._again = False
                self._runner.soon(self._turn)
        finally:
            self._busy = False

    def _step(self) -> bool:
        """Do one step. Return False when there are no more."""
        steps = self._steps
        if steps is None:
            return False
        try:
            next(steps)
        except StopIteration as end:
            self._steps = None
            self._done(end.value)
        except Exception as fault:
            self._steps = None
            self._failed(fault)
        return self._steps is not None
