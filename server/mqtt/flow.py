"""Flows: what needs several answers, one after the other, written as a sequence. No event loop.

A flow is a generator that yields what it waits for: a function that is called with what to call back, once.
It goes on with what that is called with. `run` drives it. An answer may come at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Resume = Callable[[Any], None]
Wait = Callable[[Resume], None]
Flow = Generator[Wait, Any, T]


class _Run:
    """One flow on its way. Answers that come at once do not nest calls."""

    __slots__ = ("_answered", "_done", "_flow", "_starting", "_value")

    def __init__(self, flow: Flow[Any], done: Resume) -> None:
        self._flow = flow
        self._done = done
        self._starting = False
        self._answered = False
        self._value: Any = None

    def go_on(self, value: Any = None) -> None:
        if self._starting:
            self._answered, self._value = True, value
            return
        while True:
            try:
                wait = self._flow.send(value)
            except StopIteration as end:
                self._done(end.value)
                return
            self._starting, self._answered = True, False
            wait(self.go_on)
            self._starting = False
            if not self._answered:
                return
            value = self._value


def _ignore(value: object) -> None:
    del value


def run(flow: Flow[T], done: Callable[[T], None] = _ignore) -> None:
    """Run a flow, and call `done` with what it returns."""
    _Run(flow, done).go_on()


def together(waits: Sequence[Wait]) -> Wait:
    """Return a wait for all of these, which begin at once. It is answered with their answers, in order."""

    def wait(resume: Resume) -> None:
        answers: list[Any] = [None] * len(waits)
        left = len(waits)

        def answered(at: int, value: Any) -> None:
            nonlocal left
            answers[at] = value
            left -= 1
            if not left:
                resume(answers)

        if not waits:
            resume(answers)
        for number, each in enumerate(waits):
            each(lambda value, at=number: answered(at, value))  # type: ignore[misc]

    return wait
