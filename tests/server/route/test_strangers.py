"""What a peer of a route may cost: servers and addresses that it announces, and accounts that it pins."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from lib.eventually import until
from pyjs.server import Server
from pyjs.server.config.options import ClusterOptions, TLSOptions
from pyjs.server.config.options.accounts import AccountOptions
from pyjs.server.route import Routes
from pyjs.server.route import routes as routes_module
from pyjs.server.route.remote import RouteRemote

NAME = "N" + "A" * 55
CONNECT = {"name": NAME, "cluster": "C", "headers": True, "verbose": False, "pedantic": False}
INFO = {
    "server_id": NAME,
    "server_name": "R",
    "cluster": "C",
    "headers": True,
    "host": "127.0.0.1",
    "port": 1,
}
NOBODY = "192.0.2.1"  # RFC 5737
Hears = Callable[[bytes], Awaitable[bytes]]


def info(**more: object) -> bytes:
    return b"INFO %b\r\n" % json.dumps(INFO | more).encode()


@contextlib.asynccontextmanager
async def joined(**more: object) -> AsyncIterator[tuple[Server, Routes, Hears]]:
    """A server of account A, its routes, and what sends and returns all that came until it was served."""
    cluster = ClusterOptions(name="C", host="127.0.0.1", port=-1)
    async with Server(cluster=cluster, accounts={"A": AccountOptions(name="A")}) as server:
        assert server.routes is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", server.routes.port)

        async def hears(data: bytes) -> bytes:
            writer.write(data + b"PING\r\n")
            return await asyncio.wait_for(reader.readuntil(b"PONG\r\n"), 10)

        await hears(b"CONNECT %b\r\n" % json.dumps(CONNECT).encode() + info(**more))
        yield server, server.routes, hears
        writer.close()


def test_announced_servers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        monkeypatch.setattr(routes_module, "_MOST_LEARNT", 20)
        monkeypatch.setattr(RouteRemote, "start", lambda _: None)  # as if nobody had answered yet
        async with joined() as (_, routes, hears):
            for first in range(0, 10_000, 1000):
                numbers = range(first, first + 1000)
                await hears(
                    b"".join(info(server_id=f"N{n}", ip=f"nats-route://{NOBODY}:{1 + n}") for n in numbers)
                )
            assert len(routes.remotes) == 20

    asyncio.run(scenario())


def test_a_name_that_cannot_be_a_host_is_dialled_in_vain() -> None:
    async def scenario() -> None:
        async with joined() as (_, routes, hears):
            await hears(info(server_id="N1", ip=f"nats-route://a..{'b' * 70}:1"))
            await until(lambda: not routes.remotes)

    asyncio.run(scenario())


def test_announced_addresses_are_bounded() -> None:
    async def scenario() -> None:
        urls = [f"{NOBODY}:{n}" for n in range(3000)]
        async with joined() as (server, _, hears):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b'CONNECT {"verbose":false,"protocol":1}\r\nPING\r\n')
            await asyncio.wait_for(reader.readuntil(b"PONG\r\n"), 10)
            await hears(info(connect_urls=urls))
            told = await asyncio.wait_for(reader.readuntil(urls[255].encode()), 10)
            rest = await asyncio.wait_for(reader.readuntil(b"\r\n"), 10)
            assert b"INFO " in told
            assert urls[256].encode() not in rest
            writer.close()

    asyncio.run(scenario())


def test_only_accounts_that_exist_are_pinned() -> None:
    async def scenario() -> None:
        async with joined(route_pool_size=3) as (_, routes, hears):
            wanted = b"".join(info(route_account=f"B{n}", route_acc_add_reqid=f"r{n}") for n in range(1000))
            assert b"route_acc_add_reqid" not in await hears(wanted)
            assert routes.also_pinned == set()
            answer = await hears(info(route_account="A", route_acc_add_reqid="r"))
            assert b'"route_acc_add_reqid":"r"' in answer.replace(b" ", b"")
            assert routes.also_pinned == {"A"}

    asyncio.run(scenario())


def test_a_server_in_a_program_asks_for_certificates_too() -> None:
    pems = Path(__file__).parent.parent / "config" / "pem"
    tls = TLSOptions(cert_file=str(pems / "server.pem"), key_file=str(pems / "server-key.pem"))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    async def scenario() -> None:
        async with Server(cluster=ClusterOptions(name="C", host="127.0.0.1", port=-1, tls=tls)) as server:
            assert server.routes is not None
            reader, writer = await asyncio.open_connection("127.0.0.1", server.routes.port, ssl=context)
            with pytest.raises(ssl.SSLError):
                await asyncio.wait_for(reader.read(), 10)
            writer.close()

    asyncio.run(scenario())
