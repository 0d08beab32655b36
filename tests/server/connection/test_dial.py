"""A dial ends in a connection or in an error, whatever else the loop has to do meanwhile."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine, Iterator
from typing import Any, cast

import pytest
import uvloop
from lib.eventually import until
from pyjs.server.connection.dial import dial
from pyjs.server.connection.socket_protocol import SocketProtocol


class Protocol(asyncio.Protocol):
    """Takes its time with a new connection: `stall` seconds in which the loop does nothing else."""

    def __init__(self, stall: float = 0.0) -> None:
        self.stall = stall
        self.connection: asyncio.BaseTransport | None = None
        self.lost = False

    @property
    def taken(self) -> bool:
        return self.connection is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.connection = transport
        until = time.monotonic() + self.stall
        while time.monotonic() < until:
            pass

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(0)
        yield sock


def run(loop: str, work: Coroutine[Any, Any, None]) -> None:
    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work)


async def dialled(protocol: Protocol, port: int, seconds: float) -> None:
    await dial(lambda: cast("SocketProtocol", protocol), "127.0.0.1", port, seconds)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_connection_that_came_while_the_loop_was_busy_stands(listener: socket.socket, loop: str) -> None:
    protocol = Protocol(stall=0.3)

    async def work() -> None:
        await dialled(protocol, listener.getsockname()[1], 0.1)
        assert protocol.connection is not None
        cast("asyncio.Transport", protocol.connection).write(b"there")
        assert not protocol.lost
        protocol.connection.close()
        await until(lambda: protocol.lost)

    run(loop, work())


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_who_does_not_answer_in_time_is_given_up(listener: socket.socket, loop: str) -> None:
    address = listener.getsockname()
    waiting = []
    for _ in range(3):  # nobody accepts: then the kernel leaves the next ones unanswered
        waiting.append(socket.socket())
        waiting[-1].setblocking(False)
        waiting[-1].connect_ex(address)
    protocol = Protocol()

    async def work() -> None:
        with pytest.raises(TimeoutError):
            await dialled(protocol, address[1], 0.05)
        assert protocol.connection is None

    try:
        run(loop, work())
    finally:
        for each in waiting:
            each.close()


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_refusal_is_an_error(listener: socket.socket, loop: str) -> None:
    port = listener.getsockname()[1]
    listener.close()

    async def work() -> None:
        with pytest.raises(ConnectionRefusedError):
            await dialled(Protocol(), port, 5.0)

    run(loop, work())
