"""Worker threads: every job runs, on no more threads than allowed, and the loop hears of its end."""

from __future__ import annotations

import asyncio
import threading

import pytest
from pyjs.server.task_executor import JobWaits, LoopTaskExecutor, WorkerThreads

WAIT = 30  # seconds, for what takes a moment


@pytest.mark.parametrize("count", [1, 3, 40])
def test_every_job_runs_on_one_of_a_few_threads(count: int) -> None:
    threads = WorkerThreads(3, "test")
    ran: list[str] = []
    for _ in range(count):
        threads.submit(lambda: ran.append(threading.current_thread().name))
    threads.shutdown()
    assert len(ran) == count
    assert set(ran) <= {"test_0", "test_1", "test_2"}


def test_jobs_run_side_by_side_and_the_others_wait() -> None:
    threads = WorkerThreads(2, "test")
    together, after = threading.Barrier(3, timeout=WAIT), threading.Event()
    for _ in range(2):
        threads.submit(together.wait)
    threads.submit(after.set)
    assert not after.is_set()
    together.wait()
    assert after.wait(WAIT)
    threads.shutdown()


def test_a_thread_that_is_idle_is_used_again() -> None:
    threads = WorkerThreads(4, "test")
    idle = threading.Event()
    used = set()
    for _ in range(20):
        idle.clear()
        threads.submit(lambda: used.add(threading.get_ident()))
        threads.submit(idle.set)
        assert idle.wait(WAIT)
    threads.shutdown()
    assert len(used) <= 4
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("test_")]


def test_nothing_is_taken_after_the_end() -> None:
    threads = WorkerThreads(1, "test")
    threads.shutdown()
    with pytest.raises(RuntimeError):
        threads.submit(lambda: None)


def test_a_job_that_raises_is_reported_and_ends_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(args.exc_type))
    threads, after = WorkerThreads(1, "test"), threading.Event()
    threads.submit(lambda: 1 // 0)
    threads.submit(after.set)
    assert after.wait(WAIT)
    threads.shutdown()
    assert reported == [ZeroDivisionError]


def test_the_loop_hears_of_the_end_of_a_job_and_of_its_error() -> None:
    async def scenario() -> list[BaseException | None]:
        threads = WorkerThreads(2, "test")
        executor = LoopTaskExecutor(asyncio.get_running_loop(), threads)
        heard: asyncio.Queue[BaseException | None] = asyncio.Queue()
        found: list[BaseException | None] = []
        for job in (lambda: None, lambda: 1 // 0):
            running = executor.work(job, heard.put_nowait)
            found += [running.result(), await asyncio.wait_for(heard.get(), WAIT)]
        threads.shutdown()
        return found

    assert [type(error).__name__ for error in asyncio.run(scenario())] == [
        *["NoneType"] * 2,
        *["ZeroDivisionError"] * 2,
    ]


def test_it_counts_the_jobs_that_wait_for_a_thread() -> None:
    threads, begun, end = WorkerThreads(1, "test"), threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        end.wait()

    threads.submit(first)
    begun.wait()
    assert threads.waits == JobWaits()
    for _ in range(3):
        threads.submit(lambda: None)
    assert threads.waits == JobWaits(waiters=3)
    end.set()
    threads.shutdown()
    found = threads.waits
    assert (found.waiters, found.waits) == (0, 3)
    assert 0 < found.max_wait_time <= found.wait_time
    both = found.plus(JobWaits(1, 1, 5, found.max_wait_time + 1))
    assert both == JobWaits(1, 4, found.wait_time + 5, found.max_wait_time + 1)
