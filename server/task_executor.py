"""TaskExecutor: how the server's parts get work done later on the event loop, or on a worker thread.

Parts know the protocol only, so that tests drive them without a loop. `LoopTaskExecutor` is the one of a
server: the asyncio of streams, consumers, stores and Raft groups is all here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Protocol

Done = Callable[[BaseException | None], None]  # gets the exception that a job raised, or None


class Job(Protocol):
    """Work that was handed to a worker thread."""

    def wait(self) -> BaseException | None:
        """Block until the job has ended; give the exception that it raised, or None."""


class TaskExecutor(Protocol):
    """An event loop and its worker threads."""

    def soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the loop, after what is being handled now."""

    def work(self, job: Callable[[], object], done: Done) -> Job:
        """Run `job` where it may block, then `done` on the loop, with the exception if the job raised one."""


class _Future:
    """A job on a worker thread."""

    __slots__ = ("_future",)

    def __init__(self, future: Future[BaseException | None]) -> None:
        self._future = future

    def wait(self) -> BaseException | None:
        """Block until the job has ended."""
        return self._future.result()


class LoopTaskExecutor:
    """The executor of a server: an asyncio loop and its worker threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, executor: Executor) -> None:
        self._loop = loop
        self._executor = executor

    def soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` in the loop's next turn."""
        self._loop.call_soon(callback)

    def work(self, job: Callable[[], object], done: Done) -> Job:
        """Run `job` on a worker thread."""
        loop = self._loop

        def run() -> BaseException | None:
            error: BaseException | None = None
            try:
                job()
            except BaseException as failure:
                error = failure
            with contextlib.suppress(RuntimeError):  # the loop is closed: whoever waited is gone
                loop.call_soon_threadsafe(done, error)
            return error

        return _Future(self._executor.submit(run))
