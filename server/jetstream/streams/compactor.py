"""Compactor: frees the disk space of removed messages in the background, one piece of work at a time.

Promises:
- At most one piece of work per stream runs, on a worker thread. A stop waits for it.
- The first piece begins a second after the commit that may have made work, the next one a second after that.
- A disk error is logged, and the work is tried again later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....store.stream import Commit, StreamStore
from ...clock import Clock, Timer

if TYPE_CHECKING:
    from ...task_executor import Job, TaskExecutor

REST = 1_000_000_000  # ns before each piece of work


class Compactor:
    """The compaction of one stream's store.

    idle: whether nothing is planned, so that only `nudge` makes it look for work.
    """

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
        self._ending: Commit | None = None  # the work that was running at `halt`
        self._job: Job | None = None
        self.idle = True

    def nudge(self) -> None:
        """Look for work in a while, because something was written."""
        if self.idle:
            self.idle = False
            self._rest()

    def _rest(self) -> None:
        self._timer = self._clock.call_later(REST, self._check)

    def _check(self) -> None:
        self._timer = None
        work = self._store.begin_maintenance()
        if work is None:
            self.idle = True
            return
        self._work = work
        self._job = self._executor.work(work.run, self._done)

    def _done(self, error: BaseException | None) -> None:
        work, self._work, self._job = self._work, None, None
        if work is None:  # halted: `wait` finishes the work
            return
        self._store.finish(work)
        if error is not None:
            self._failed(error)
        self._rest()

    def halt(self) -> None:
        """Begin no more work. `wait` completes the stop."""
        self.idle = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._work is not None:
            self._ending, self._work = self._work, None

    def wait(self) -> None:
        """Wait for the work that was running at `halt`. Blocks; may run in any thread."""
        work, self._ending = self._ending, None
        if work is not None and self._job is not None:
            error = self._job.result()
            self._store.finish(work)
            if error is not None:
                self._failed(error)
