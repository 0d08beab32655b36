"""The acceptor: many connections at once, none lost; no descriptors left; an address in use; closing."""

from __future__ import annotations

import asyncio
import errno
import socket

import pytest
from lib.eventually import until
from pyjs.server import Server
from pyjs.server.connection import acceptor
from pyjs.server.connection.acceptor import Acceptor, bind


class Lines:
    """A log that keeps its errors."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def error(self, text: str) -> None:
        self.errors.append(text)

    def __getattr__(self, _: str) -> object:
        return lambda text: None


def storm(port: int, count: int) -> list[socket.socket]:
    sockets = []
    for _ in range(count):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", port))
        sockets.append(sock)
    return sockets


def test_a_storm_of_connections_loses_none() -> None:
    async def run() -> None:
        async with Server() as server:
            sockets = storm(server.port, 1500)
            await until(lambda: len(server.clients.connections) == 1500)
            for sock in sockets:
                assert sock.recv(5) == b"INFO "
                sock.close()
            await until(lambda: not server.clients.connections)

    asyncio.run(run())


def test_only_a_few_are_opened_in_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        most = 0
        async with Server() as server:
            made = server.clients.statistics
            sockets = storm(server.port, 300)
            before = made.total
            while made.total < 300:
                await asyncio.sleep(0)
                most = max(most, made.total - before)
                before = made.total
            for sock in sockets:
                sock.close()
        assert most <= 2 * acceptor._OPENED

    asyncio.run(run())


def test_without_descriptors_it_rests_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor, "_REST_SECONDS", 0.01)
    log = Lines()

    class Full:
        def accept(self) -> tuple[socket.socket, object]:
            raise OSError(errno.EMFILE, "Too many open files")

    async def run() -> None:
        (real,) = await bind("127.0.0.1", 0)
        made: list[asyncio.Protocol] = []

        def make() -> asyncio.Protocol:
            made.append(asyncio.Protocol())
            return made[-1]

        listener = Acceptor(make, [real], log)  # type: ignore[arg-type]
        listener.start()
        loop = asyncio.get_running_loop()
        loop.remove_reader(real)
        loop.add_reader(real, lambda: listener._accept(Full()))  # type: ignore[arg-type]
        monkeypatch.setattr(listener, "_resume", lambda _: loop.add_reader(real, listener._accept, real))
        monkeypatch.setattr(loop, "remove_reader", lambda _: None)
        (client,) = storm(real.getsockname()[1], 1)
        await until(lambda: made)
        assert log.errors[0] == "Accept error: Too many open files; again in 0 s"
        monkeypatch.undo()
        await listener.close()
        client.close()

    asyncio.run(run())


def test_an_address_that_is_taken_is_named() -> None:
    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(OSError, match=f"127.0.0.1.*{port}") as caught:
                await bind("127.0.0.1", port)
        assert caught.value.errno == errno.EADDRINUSE

    asyncio.run(run())


def test_a_server_that_stops_closes_what_it_has_not_opened_yet() -> None:
    async def run() -> list[socket.socket]:
        async with Server() as server:
            sockets = storm(server.port, 200)
            await until(lambda: server.clients.statistics.total > 0)
        return sockets

    for sock in asyncio.run(run()):
        sock.settimeout(5)
        while True:
            try:
                if not sock.recv(4096):
                    break
            except ConnectionError:
                break
        sock.close()
