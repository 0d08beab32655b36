"""ThreadedServer: a server with a synchronous interface, whose event loop runs on a thread of its own.

Promises: `start` returns when clients can connect and all streams are open, or raises what the server raised.
`stop` returns when the thread has ended and everything the server used is released. The methods may be called
from any thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..app import Server

if TYPE_CHECKING:
    from ..config.options import Options

T = TypeVar("T")

START_SECONDS = 30.0
STOP_SECONDS = 30.0


class ThreadedServer:
    """A `Server` on a thread. It takes the arguments of `Server`.

    `url`, `port` and `leaf_url` are available once it is started. If it is started again after a stop, it
    listens on the same port, so that clients find it.
    """

    def __init__(self, options: Options | None = None, **single: Any) -> None:
        self._options = options
        self._single = single
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None

    @property
    def server(self) -> Server:
        """The server itself. Use it only through `call`. Raises RuntimeError if it does not run."""
        if self._server is None:
            raise RuntimeError("the server is not running")
        return self._server

    @property
    def url(self) -> str:
        """The URL for clients."""
        return self.server.url

    @property
    def port(self) -> int:
        """The port for clients."""
        return self.server.port

    @property
    def leaf_url(self) -> str:
        """The URL for leaf nodes; "" if there is no listener for them."""
        return self.server.leaf_url

    def await_leafs(self, count: int, seconds: float) -> None:
        """Return when `count` leaf connections have joined and both ends know the interest of the other.

        Raises TimeoutError after `seconds`, and RuntimeError if this server has no leaf nodes at all.
        """
        leafs = self.server.leafs
        if leafs is None or self._loop is None:
            raise RuntimeError("the server has no leaf nodes")
        joined = asyncio.run_coroutine_threadsafe(leafs.wait(count), self._loop)
        try:
            joined.result(seconds)
        except TimeoutError:
            joined.cancel()
            raise TimeoutError(f"not {count} leaf connections within {seconds:g} s") from None

    def start(self) -> ThreadedServer:
        """Start the thread and the server.

        Raises what `Server.start` raises, TimeoutError after 30 s, or RuntimeError if it already runs.
        """
        if self._thread is not None:
            raise RuntimeError("the server is already running")
        self._started.clear()
        self._thread = threading.Thread(target=self._run, name="pyjs-server", daemon=True)
        self._thread.start()
        if not self._started.wait(START_SECONDS):
            raise TimeoutError(f"the server did not start within {START_SECONDS:.0f} s")
        if self._failure is not None:
            failure, self._failure = self._failure, None
            self._thread.join()
            self._thread = None
            raise failure
        return self

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
            self._started.set()

    async def _serve(self) -> None:
        server = Server(self._options, **self._single)
        await server.start()
        await server.ready()
        if self._options is not None:
            self._options.port = server.port
        else:
            self._single["port"] = server.port
        self._loop = asyncio.get_running_loop()
        self._server = server
        self._started.set()
        await server.wait()

    def call(self, function: Callable[[Server], T]) -> T:
        """Run `function(server)` on the server's thread and return its value."""

        async def on_loop() -> T:
            return function(self.server)

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result(STOP_SECONDS)

    def stop(self) -> None:
        """Stop the server and end the thread. Harmless if it does not run."""
        if self._thread is None:
            return
        if self._server is not None and self._loop is not None and self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result(STOP_SECONDS)
        self._thread.join(STOP_SECONDS)
        self._thread = self._server = self._loop = None

    def __enter__(self) -> ThreadedServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve(options: Options | None = None, **single: Any) -> ThreadedServer:
    """Return a server on a thread for `with`: `with serve(jetstream=True) as server: server.url`."""
    return ThreadedServer(options, **single)
