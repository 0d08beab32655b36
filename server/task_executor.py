"""TaskExecutor: how the server's parts run work later on the event loop, or on a worker thread.

The parts only know the protocol, so that tests can drive them without a loop. `LoopTaskExecutor` is the one
that a server uses. All use of asyncio by streams, consumers, stores and Raft groups is here.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic_ns
from typing import NamedTuple, Protocol, cast

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


class Threads(Protocol):
    """Threads that run functions."""

    def submit(self, job: Callable[[], object], /) -> object:
        """Run `job` on a thread, after those that were submitted before if all threads are busy."""


class JobWaits(NamedTuple):
    """How long jobs waited for a thread.

    waiters: jobs that wait now.
    waits: jobs that had to wait.
    wait_time, max_wait_time: ns, of all together and of the longest; counted when a wait is over.
    """

    waiters: int = 0
    waits: int = 0
    wait_time: int = 0
    max_wait_time: int = 0

    def plus(self, other: JobWaits) -> JobWaits:
        """Return the figures of both together."""
        sums = (self.waiters + other.waiters, self.waits + other.waits, self.wait_time + other.wait_time)
        return JobWaits(*sums, max(self.max_wait_time, other.max_wait_time))


class WorkerThreads:
    """At most `most` threads, each started when it is first needed.

    It does what a ThreadPoolExecutor does for jobs whose result nobody awaits, and costs a quarter of it: an
    idle thread waits for a lock of its own, and the one that was idle last, which is still in the caches, is
    the first to be woken. `submit` and `shutdown` are called from one thread.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle: list[_Slot] = []
        self._jobs: deque[tuple[int, Callable[[], object]]] = deque()  # without a thread; since when
        self._waits = JobWaits()
        self._over = False

    def submit(self, job: Callable[[], object], /) -> None:
        """Run `job` on a thread. Raises RuntimeError after `shutdown`."""
        if self._over:
            raise RuntimeError("the threads have ended")
        with self._lock:
            slot = self._idle.pop() if self._idle else None
            if slot is None and len(self._threads) == self._most:
                self._jobs.append((monotonic_ns(), job))
                return
        if slot is not None:
            slot.job = job
            slot.wake.release()
            return
        # A daemon, so that a process can end although nobody has called `shutdown`.
        thread = threading.Thread(
            target=self._run, args=(job,), name=f"{self._name}_{len(self._threads)}", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    @property
    def waits(self) -> JobWaits:
        """How long jobs waited for a thread."""
        return self._waits._replace(waiters=len(self._jobs))

    def _next(self) -> Callable[[], object]:
        """Return the job that has waited for longest. The lock is held."""
        since, job = self._jobs.popleft()
        waited = monotonic_ns() - since
        self._waits = self._waits.plus(JobWaits(0, 1, waited, waited))
        return job

    def shutdown(self, wait: bool = True) -> None:
        """Run what was submitted, then end the threads. Return when they have ended, if `wait`."""
        with self._lock:
            self._over = True
            idle, self._idle = self._idle, []
        for slot in idle:
            slot.wake.release()
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self, job: Callable[[], object] | None) -> None:
        slot = _Slot()
        while job is not None:
            try:
                job()
            except BaseException:
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            with self._lock:
                job = self._next() if self._jobs else None
                if job is None and self._over:
                    return
                if job is None:
                    self._idle.append(slot)
            if job is None:
                slot.wake.acquire()
                job, slot.job = slot.job, None


class _Slot:
    """Where an idle thread finds its next job, once it can acquire `wake`; None means the end."""

    __slots__ = ("job", "wake")

    def __init__(self) -> None:
        self.job: Callable[[], object] | None = None
        self.wake = threading.Lock()
        self.wake.acquire()


class _LoopJob:
    """A job whose end the loop is told. `LoopTaskExecutor.work` sets its fields: a call less for each job.

    ended: is released when the job has ended, with `error`.
    """

    __slots__ = ("done", "ended", "error", "job", "loop")

    job: Callable[[], object]
    done: Done
    loop: asyncio.AbstractEventLoop
    ended: threading.Lock
    error: BaseException | None

    def run(self) -> None:
        """Do the job."""
        try:
            self.job()
        except BaseException as error:
            self.error = error
        self.ended.release()
        try:  # noqa: SIM105 - `suppress` costs two calls for each commit
            self.loop.call_soon_threadsafe(self.done, self.error)
        except RuntimeError:  # the loop is closed, so nobody waits any more
            pass

    def result(self) -> BaseException | None:
        """Block until the job has ended; see `Job`."""
        with self.ended:
            return self.error


class LoopTaskExecutor:
    """The task executor of a server: an asyncio loop and its worker threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: Threads) -> None:
        self._loop = loop
        self._threads = threads
        # Runs a callback in the loop's next turn, with no Python call of ours in between.
        self.soon = cast("Callable[[Callable[[], None]], None]", loop.call_soon)

    def work(self, job: Callable[[], object], done: Done) -> Job:
        """Run `job` on a worker thread, then `done` on the loop."""
        made = _LoopJob()
        made.job, made.done, made.loop, made.error = job, done, self._loop, None
        made.ended = threading.Lock()
        made.ended.acquire()
        self._threads.submit(made.run)
        return made
