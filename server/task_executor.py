"""TaskExecutor: how the server's parts run work later on the event loop, or on a worker thread.

The parts only know the protocol, so that tests can drive them without a loop. `LoopTaskExecutor` is the one
that a server uses. All use of asyncio by streams, consumers, stores and Raft groups is here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Protocol, cast

Done = Callable[[BaseException | None], None]  # called with the exception that a job raised, or None


class Job(Protocol):
    """A piece of work that was handed to a worker thread."""

    def result(self) -> BaseException | None:
        """Block until the job has ended. Return the exception that it raised, or None."""


class TaskExecutor(Protocol):
    """An event loop and its worker threads."""

    def soon(self, callback: Callable[[], None], /) -> None:
        """Run `callback` on the loop, after the current work."""

    def work(self, job: Callable[[], object], done: Done) -> Job:
        """Run `job` where it may block, then `done` on the loop with the exception it raised, or None."""


class LoopTaskExecutor:
    """The task executor of a server: an asyncio loop and its worker threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, executor: Executor) -> None:
        self._loop = loop
        self._executor = executor
        # Runs a callback in the loop's next turn, with no Python call of ours in between.
        self.soon = cast("Callable[[Callable[[], None]], None]", loop.call_soon)

    def work(self, job: Callable[[], object], done: Done) -> Job:
        """Run `job` on a worker thread, then `done` on the loop."""
        loop = self._loop

        def run() -> BaseException | None:
            error: BaseException | None = None
            try:
                job()
            except BaseException as failure:
                error = failure
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits any more
                loop.call_soon_threadsafe(done, error)
            return error

        return self._executor.submit(run)
