"""Worker: runs slow work, such as checking password hashes, on threads.

The threads are created when they are first needed. None is left after `stop`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_THREADS = 2


class Worker:
    """Runs functions on threads and returns their results on the loop.

    report: called on the loop with a sentence when a function raises, which then counts as one that returned
        False.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, report: Callable[[str], None]) -> None:
        self._loop = loop
        self._report = report
        self._pool: ThreadPoolExecutor | None = None

    def __call__(self, function: Callable[[], bool], done: Callable[[bool], None]) -> None:
        """Run `function` on a thread, then `done(result)` on the loop."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="pyjs-worker")
        future = self._pool.submit(function)
        future.add_done_callback(lambda finished: self._hand_back(finished, done))

    def _hand_back(self, finished: Future[bool], done: Callable[[bool], None]) -> None:
        if finished.cancelled():
            return
        if self._loop.is_closed():
            return
        error = finished.exception()
        if error is not None:
            text = f"A check on a thread failed, and counts as a refusal: {type(error).__name__}: {error}"
            self._loop.call_soon_threadsafe(self._report, text)
        self._loop.call_soon_threadsafe(done, error is None and finished.result())

    def stop(self) -> None:
        """Wait for the functions that run, and drop those that have not begun."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
