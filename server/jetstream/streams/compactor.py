"""Compactor: gives back the disk space of removed messages, a piece at a time, beside what goes on.

Promises: at most one piece of work runs per stream, on a worker thread, and none before a second after the
last commit that could have made any; a stop waits for it. A disk that refuses is logged and tried again
later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....store.stream import Commit, StreamStore
from ...clock import Clock, Timer

if TYPE_CHECKING:
    from ...task_executor import Job, TaskExecutor

REST = 1_000_000_000


class Compactor:
    """The compaction of one stream's store. idle: nothing is planned, so that it needs a `nudge`."""

    __slots__ = ("_clock", "_ending", "_executor", "_failed", "_job", "_store", "_timer", "_work", "idle")

    def __init__(
        self,
        store: StreamStore,
        clock: Clock,
        executor: TaskExecutor,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._executor = executor
        self._failed = failed
        self._timer: Timer | None = None
        self._work: Commit | None = None
        self._ending: Commit | None = None  # what was being done when it was halted
        self._job: Job | None = None
        self.idle = True

    def nudge(self) -> None:
        """Something was written: see in a while whether there is work."""
        if self.idle:
            self.idle = False
            self._rest()

    def _rest(self) -> None:
        self._timer = self._clock.call_later(REST, self._look)

    def _look(self) -> None:
        self._timer = None
        work = self._store.begin_maintenance()
        if work is None:
            self.idle = True
            return
        self._work = work
        self._job = self._executor.work(work.run, self._done)

    def _done(self, error: BaseException | None) -> None:
        work, self._work, self._job = self._work, None, None
        if work is None:  # `wait` saw to it
            return
        self._store.finish(work)
        if error is not None:
            self._failed(error)
        self._rest()

    def halt(self) -> None:
        """Begin no more."""
        self.idle = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._work is not None:
            self._ending, self._work = self._work, None

    def wait(self) -> None:
        """Wait for what is being done, once it is halted. Blocks; in any thread."""
        work, self._ending = self._ending, None
        if work is not None and self._job is not None:
            error = self._job.wait()
            self._store.finish(work)
            if error is not None:
                self._failed(error)
