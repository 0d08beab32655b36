"""What a peer of a gateway may cost: names, addresses and interest without end."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator

import pytest
from pyjs.server import Server
from pyjs.server.config.options import ClusterOptions, GatewayOptions
from pyjs.server.config.options.cluster import RemoteGateway
from pyjs.server.gateway import Gateways, OutboundGateway
from pyjs.server.gateway import remotes as remotes_module


def info(cluster: str, **more: object) -> bytes:
    fields = {"server_id": f"N{cluster}", "server_name": f"s-{cluster}", "gateway": cluster, "headers": True}
    return b"INFO " + json.dumps(fields | {"gateway_iom": True} | more).encode() + b"\r\n"


class Peer:
    """The cluster P, which the server dials."""

    def __init__(self) -> None:
        self.port = 0
        self.accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def start(self) -> asyncio.Server:
        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(info("P"))
            await self.accepted.put((reader, writer))

        server = await asyncio.start_server(take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server


async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Return whether everything that was sent has been served; False if the server closed."""
    writer.write(b"PING\r\n")
    while line := await asyncio.wait_for(reader.readline(), 10):
        if line == b"PONG\r\n":
            return True
    return False


@contextlib.asynccontextmanager
async def outbound() -> AsyncIterator[
    tuple[Gateways, OutboundGateway, asyncio.StreamReader, asyncio.StreamWriter]
]:
    peer = Peer()
    listening = await peer.start()
    gateway = GatewayOptions(
        name="S", host="127.0.0.1", port=0, gateways=[RemoteGateway("P", [f"nats://127.0.0.1:{peer.port}"])]
    )
    async with Server(cluster=ClusterOptions(name="S"), gateway=gateway) as server:
        assert server.gateways is not None
        reader, writer = await peer.accepted.get()
        assert await served(reader, writer)
        yield server.gateways, server.gateways.outbound["P"], reader, writer
        writer.close()
    listening.close()


def test_parts_are_as_many_as_accounts_and_interest() -> None:
    async def scenario() -> None:
        async with outbound() as (_, link, reader, writer):
            before = len(link.accounts)
            for number in range(500):
                name = f"NONE{number}"
                payload = base64.b64encode(name.encode()).decode()
                for command in (2, 3):
                    writer.write(info("P", gateway_cmd=command, gateway_cmd_payload=payload))
                writer.write(
                    f"A- {name}\r\nA+ {name}\r\nRS- {name} a\r\nRS+ {name} a\r\nRS- {name} a\r\n".encode()
                )
            assert await served(reader, writer)
            assert len(link.accounts) == before

    asyncio.run(scenario())


def test_announced_clusters_and_addresses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        monkeypatch.setattr(remotes_module, "_MOST_IMPLICIT", 10)
        async with outbound() as (gateways, _, reader, writer):
            urls = [f"192.0.2.{n % 250}:{1 + n}" for n in range(1000)]  # RFC 5737: nobody is there
            for number in range(100):
                writer.write(info(f"T{number}", gateway_cmd=1, gateway_urls=urls))
            assert await served(reader, writer)
            assert len(gateways.remotes.known) <= 10
            assert all(len(each.urls) <= 256 for each in gateways.remotes.known.values())

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "line",
    [
        b"RMSG $G a 1\r\nx\r\n",
        b'CONNECT {"gateway":"P"}\r\n',
        b'INFO {"gateway":"P","gateway_cmd":2}\r\n',
        b'INFO {"gateway":["P"]}\r\n',
        b"INFO []\r\n",
        b'INFO {"gateway":"P P"}\r\n',
        b"RS+ $G\r\n",
        b"-ERR 'x'\r\n",
    ],
)
def test_what_makes_no_sense_ends_the_connection(line: bytes) -> None:
    async def scenario() -> None:
        async with outbound() as (gateways, _, reader, writer):
            writer.write(line)
            assert not await served(reader, writer)
            assert "P" not in gateways.outbound

    asyncio.run(scenario())
