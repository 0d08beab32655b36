"""A switchboard for the routes of a mesh: every route passes through it, and it can part any two servers.

Each server has a proxy here, which is the address that others learn (`advertise`), so that gossiped routes
come this way, too. The dialling server is known from the INFO it sends (`server_name`); until then nothing
stalls. Ways are directed: (a, b) carries what a sends to b. A stalled way keeps its bytes, as a network whose
packets are lost and sent again; a broken pair's connections end, and new ones are refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Coroutine, Iterable
from typing import Any

from lib.process import free_port

NAME = re.compile(rb'"server_name":\s*"([^"]+)"')
READ = 1 << 16
LONGEST_GREETING = 1 << 15

Way = tuple[str, str]


class Line:
    """One connection: the dialling server ("" until it is known), the other one, and both ends."""

    def __init__(self, target: str, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.source = ""
        self.target = target
        self.ends = (near, far)

    def abort(self) -> None:
        for end in self.ends:
            end.transport.abort()


class Switch:
    """The switch, in a thread of its own.

    Use `proxy` once for each server, then `part` and `heal`; `close` at the end.
    """

    def __init__(self) -> None:
        self.stalled: set[Way] = set()
        self.broken: set[Way] = set()
        self._changed = asyncio.Event()
        self._lines: set[Line] = set()
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="switch", daemon=True)
        self._thread.start()

    def proxy(self, name: str, port: int) -> int:
        """Return a port that leads to `name`, which listens on `port`."""
        proxy = free_port()

        async def listen() -> None:
            async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._serve(name, port, reader, writer)

            self._servers.append(await asyncio.start_server(accepted, "127.0.0.1", proxy))

        self._do(listen())
        return proxy

    def part(self, ways: Iterable[Way], *, breaks: bool) -> None:
        """Hold these ways, or break the connections of their pairs."""
        chosen = set(ways)

        async def change() -> None:
            (self.broken if breaks else self.stalled).update(chosen)
            self._turn()
            if breaks:
                for line in list(self._lines):
                    if self._is_broken(line.source, line.target):
                        line.abort()

        self._do(change())

    def heal(self) -> None:
        """Open all ways again; the data that was held is sent on."""

        async def change() -> None:
            self.stalled.clear()
            self.broken.clear()
            self._turn()

        self._do(change())

    def close(self) -> None:
        """End everything."""

        async def end() -> None:
            for server in self._servers:
                server.close()
            for line in list(self._lines):
                line.abort()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._do(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def _turn(self) -> None:
        """Wake everyone who waits for a way."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _is_broken(self, a: str, b: str) -> bool:
        return (a, b) in self.broken or (b, a) in self.broken

    async def _serve(
        self, target: str, port: int, reader: asyncio.StreamReader, near: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        line: Line | None = None
        try:
            back, far = await asyncio.open_connection("127.0.0.1", port)
            line = Line(target, near, far)
            self._lines.add(line)
            await asyncio.gather(self._forth(line, reader, far), self._pump(line, back, near, forth=False))
        except OSError:
            pass  # the target is down, or one of the ends has gone
        finally:
            self._tasks.discard(task)
            near.transport.abort()
            if line is not None:
                line.abort()
                self._lines.discard(line)

    async def _forth(self, line: Line, reader: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
        """Forward what the dialling end sends, which begins with its name."""
        greeting = b""
        while (found := NAME.search(greeting)) is None:
            data = await reader.read(READ)
            greeting += data
            if not data or len(greeting) > LONGEST_GREETING:
                raise ConnectionError("ended before it said who it is")
            # The first INFO may answer something sent here, so what arrived is forwarded.
            far.write(data)
        line.source = found[1].decode()
        if self._is_broken(line.source, line.target):
            raise ConnectionError("the pair is parted")
        await self._pump(line, reader, far, forth=True)

    async def _pump(
        self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, forth: bool
    ) -> None:
        while data := await reader.read(READ):
            while ((line.source, line.target) if forth else (line.target, line.source)) in self.stalled:
                await self._changed.wait()
            writer.write(data)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
        line.abort()
