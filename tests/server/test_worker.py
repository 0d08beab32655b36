"""Worker: results come back on the loop, and a function that raises is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pyjs.server.worker import Worker


def test_a_function_that_raises_is_false_and_is_reported() -> None:
    reports: list[str] = []

    async def results() -> list[bool]:
        loop = asyncio.get_running_loop()
        worker = Worker(loop, reports.append)
        try:
            return [await result(worker, lambda: True), await result(worker, lambda: bool(1 // 0))]
        finally:
            worker.stop()

    async def result(worker: Worker, function: Callable[[], bool]) -> bool:
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        worker(function, future.set_result)
        return await asyncio.wait_for(future, 30)

    assert asyncio.run(results()) == [True, False]
    assert reports == [
        "A check on a thread failed, and counts as a refusal: ZeroDivisionError: "
        "integer division or modulo by zero"
    ]
