"""Slices: long work of the loop, done a step in each of its turns, so that nobody else waits.

A piece of work is a generator: it yields where it may be interrupted, after a millisecond or two, and returns
what it came to. Whatever it works on may change while it rests; that is its own concern.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from .stream.commit import Runner

T = TypeVar("T")
Steps = Generator[None, None, T]


def at_once(steps: Steps[T]) -> T:
    """Do all steps now; give what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class Slices:
    """Work under way: the first step is done at once, and one more in each turn of the loop.

    done: gets what it came to; failed: gets its exception. One of them is called once, unless it is stopped.
    """

    __slots__ = ("_again", "_busy", "_done", "_failed", "_runner", "_steps")

    def __init__(
        self,
        runner: Runner,
        steps: Steps[T],
        done: Callable[[T], object],
        failed: Callable[[Exception], object],
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
