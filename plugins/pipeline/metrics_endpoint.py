"""The metrics of a run over HTTP: GET /metrics, in a thread of its own, as long as the run lasts."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable, Iterator

from ...cli.errors import CliError, UsageError
from ..server.check import metrics_server

LOCAL = "127.0.0.1"
_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]+):)?(?P<port>\d{1,5})")


def address(text: str) -> tuple[str, int]:
    """Return the address of `PORT` or `HOST:PORT`; without a host this machine alone can ask.

    Raises UsageError.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > 65535:
        raise UsageError(f'"{text}" is no address for metrics', "PORT or HOST:PORT, such as 0.0.0.0:9464")
    return (found["host"] or LOCAL).strip("[]"), int(found["port"])


@contextlib.contextmanager
def serving(text: Callable[[], str], host: str, port: int) -> Iterator[int]:
    """Serve what `text` returns while the block lasts, and provide the port; 0 is any that is free.

    Raises CliError if nothing can listen there.
    """
    loop = asyncio.new_event_loop()
    began: list[int] = []
    failed: list[CliError] = []
    ready = threading.Event()

    async def metrics() -> str:
        return await loop.run_in_executor(None, text)

    def listening(bound: int) -> None:
        began.append(bound)
        ready.set()

    async def serve() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await metrics_server.serve(metrics, port, host=host, listening=listening)

    task = loop.create_task(serve())

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except CliError as error:
            failed.append(error)
        finally:
            ready.set()
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=run, name="pyjs pipeline metrics", daemon=True)
    thread.start()
    ready.wait()
    if failed:
        thread.join()
        raise failed[0]
    try:
        yield began[0]
    finally:
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(task.cancel)
        thread.join(5)
