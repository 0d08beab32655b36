"""Waiting for what takes a moment: a condition is checked again until it is true or time is up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

PAUSE = 0.01
TURNS = 20  # more than the tested code takes from one event to the next


def eventually(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Return when `condition()` is true. Raises AssertionError if it never was."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(PAUSE)


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Do the same in an event loop, whose own turns may make the condition true."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.001)


async def found(ask: Callable[[], Awaitable[T | None]], *faults: type[Exception], seconds: float = 60.0) -> T:
    """Return the result of `ask` once it is not None or False, and it raises none of the errors any more."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(*faults):
            answer = await ask()
            if answer is not None and answer is not False:
                return answer
        assert time.monotonic() < deadline, f"not within {seconds} s"
        await asyncio.sleep(PAUSE)


async def turns(count: int = TURNS) -> None:
    """Let the event loop do what is ready, and what follows from it."""
    for _ in range(count):
        await asyncio.sleep(0)
