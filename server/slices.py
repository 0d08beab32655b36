"""Slices: long work of the loop, done a step in each of its turns, so that nobody else waits.

A piece of work is a generator: it yields where it may be interrupted, after a millisecond or two, and returns
what it came to. Whatever it works on may change while it rests; that is its own concern.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from .clock import Clock

T = TypeVar("T")
U = TypeVar("U")
Steps = Generator[None, None, T]
SECONDS = 0.002  # of one step, where time measures it
_RUN = 256  # items sorted in one go


class LoopTurns(Protocol):
    """The loop."""

    def soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` in the next turn."""


class EachTurn:
    """The next turn of the loop for every callback: pieces of work that begin together go side by side."""

    __slots__ = ("_clock",)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def soon(self, callback: Callable[[], None]) -> None:
        """See Turns."""
        self._clock.call_later(0, callback)


class Shared:
    """Callbacks in the order in which they came, together about `SECONDS` of each turn of the loop.

    later: runs a callback in the next turn. seconds: of each turn, in place of `SECONDS`.
    """

    __slots__ = ("_asked", "_due", "_later", "_seconds", "_spent")

    def __init__(self, later: Callable[[Callable[[], None]], object], seconds: float | None = None) -> None:
        self._later = later
        self._seconds = seconds
        self._due: deque[Callable[[], object]] = deque()
        self._asked = False  # whether a turn is to come
        self._spent = 0.0  # by what was run at once since the last turn

    def __len__(self) -> int:
        return len(self._due)

    @property
    def _share(self) -> float:
        return SECONDS if self._seconds is None else self._seconds

    def until(self) -> float:
        """Until when a callback that begins now may work, by `perf_counter`."""
        return perf_counter() + self._share

    def soon(self, callback: Callable[[], object]) -> None:
        """See Turns."""
        self._due.append(callback)
        self._ask()

    def now(self, callback: Callable[[], object]) -> None:
        """Run it at once, if nothing waits and little was run at once since the last turn; else soon."""
        if self._due or self._spent >= self._share:
            self.soon(callback)
            return
        began = perf_counter()
        try:
            callback()
        finally:
            self._spent += perf_counter() - began

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._later(self._turn)

    def _turn(self) -> None:
        self._asked, self._spent = False, 0.0
        until = self.until()
        try:
            for _ in range(len(self._due)):  # what comes meanwhile waits for the next turn
                self._due.popleft()()
                if perf_counter() >= until:
                    break
        finally:
            if self._due:
                self._ask()


class ReentrantRunner:
    """Work that may be asked for from within itself, one run after another.

    What a delivery sets off (an acknowledgement, a new request) may ask for the next delivery. A run never
    begins inside another; if it is asked for during a run, it follows that run.

    turns: where later runs wait. With `Shared` they share the time of a turn with all others.
    """

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


def at_once(steps: Steps[T]) -> T:
    """Do all steps now; give what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def paced(steps: Steps[T]) -> Steps[T]:
    """The same work in steps of `SECONDS`, however short its own are."""
    until = perf_counter() + SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if perf_counter() >= until:
            yield
            until = perf_counter() + SECONDS


def each(items: Iterable[U], make: Callable[[U], T]) -> Steps[list[T]]:
    """What `make` gives for each item, a step for each."""
    made: list[T] = []
    for item in items:
        made.append(make(item))
        yield
    return made


def matching(items: Iterable[T], wanted: Callable[[T], bool]) -> Steps[list[T]]:
    """Those items that are wanted."""
    found: list[T] = []
    for item in items:
        if wanted(item):
            found.append(item)
        yield
    return found


def let_go(items: list[Any]) -> Steps[None]:
    """Free a large document bit by bit; `items` is all that refers to it, and is empty in the end."""
    while items:
        item = items.pop()
        if isinstance(item, dict):
            items.extend(item.values())
        elif isinstance(item, list):
            items.extend(item)
        del item
        yield


def in_order(items: list[T], key: Callable[[T], Any], *, downwards: bool = False) -> Steps[list[T]]:
    """The items sorted, equal ones in the order in which they came."""
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
    """The end of it, for a task that waits; a task that is cancelled takes the work along."""
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


class InOrder:
    """Pieces of work that must not mix: each begins when the one before has ended."""

    def __init__(self, turns: LoopTurns) -> None:
        self._turns = turns
        self._waiting: deque[Callable[[], Slices]] = deque()
        self._busy = False
        self._under_way: Slices | None = None

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def add(
        self, steps: Steps[T], done: Callable[[T], object], failed: Callable[[Exception], object]
    ) -> None:
        """See Slices; the first step is done at once when nothing is under way."""

        def ended(tell: Callable[[U], object], outcome: U) -> None:
            try:
                tell(outcome)
            finally:
                self._next()

        self._waiting.append(lambda: Slices(self._turns, steps, partial(ended, done), partial(ended, failed)))
        if not self._busy:
            self._busy = True
            self._begin()

    def stop(self) -> None:
        """Do no more of it, and nothing that is added later; nobody is told."""
        self._waiting.clear()
        if self._under_way is not None:
            self._under_way.stop()

    def _begin(self) -> None:
        if self._waiting:  # unless it was stopped
            self._under_way = self._waiting.popleft()()

    def _next(self) -> None:
        if self._waiting:
            self._turns.soon(self._begin)
        else:
            self._busy = False


def _raise(error: Exception) -> None:
    raise error


class Slices:
    """Work under way: the first step is done at once, and one more in each turn of the loop.

    done: gets what it came to; failed: gets its exception, which is raised in the loop without it. One of
    them is called once, unless it is stopped.
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
        """Do no more of it; nobody is told."""
        self._steps = None

    def _turn(self) -> None:
        if self._busy:  # a runner that runs at once
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
        """Do one step; False when there are no more."""
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
