"""Waiting for what takes a moment: a condition is checked again until it is true or time is up.

The longer a condition takes, the less often it is checked: to ask three servers a hundred times a second
costs more processor time than all else in a test of a cluster. It is noticed a fifth later at most.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

FIRST, LONGEST = 0.005, 0.1  # seconds between two checks
TURNS = 20  # more than the tested code takes from one event to the next


def _pauses(first: float = FIRST) -> Iterator[float]:
    """Yield the seconds to wait before each further check, a fifth more each time."""
    pause = first
    while True:
        yield pause
        pause = min(1.2 * pause, LONGEST)


class TooEarlyError(AssertionError):
    """What a condition may raise instead of returning false: what it looks at is not there yet."""


def eventually(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Return when `condition()` is true. Raises AssertionError, or the condition's own, if it never was."""
    deadline = time.monotonic() + seconds
    waits = _pauses()
    while True:
        try:
            if condition():
                return
            assert time.monotonic() < deadline, f"not within {seconds} s"
        except TooEarlyError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(next(waits))


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Do the same in an event loop, whose own turns may make the condition true."""
    waits = _pauses(0.001)
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(next(waits))


async def found(ask: Callable[[], Awaitable[T | None]], *faults: type[Exception], seconds: float = 60.0) -> T:
    """Return the result of `ask` once it is not None or False, and it raises none of the errors any more."""
    deadline = time.monotonic() + seconds
    waits = _pauses()
    while True:
        with suppress(*faults):
            answer = await ask()
            if answer is not None and answer is not False:
                return answer
        assert time.monotonic() < deadline, f"not within {seconds} s"
        await asyncio.sleep(next(waits))


async def turns(count: int = TURNS) -> None:
    """Let the event loop do what is ready, and what follows from it."""
    for _ in range(count):
        await asyncio.sleep(0)
