"""Of two routes to one peer one is closed; a route that has been in use is never the one."""

from __future__ import annotations

import asyncio
import json

import pytest
from pyjs.server import Server
from pyjs.server.clock import SECOND
from pyjs.server.config.options import ClusterOptions
from pyjs.server.route import Routes

SMALLER, GREATER = "A" * 56, "Z" * 56  # than the id of the server, which begins with N


async def dial(routes: Routes, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Dial the server as the peer `name`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", routes.port)
    connect = {"name": name, "cluster": "C", "headers": True, "verbose": False, "pedantic": False}
    info = {
        "server_id": name,
        "server_name": "R",
        "version": "2.15.1",
        "cluster": "C",
        "headers": True,
        "host": "127.0.0.1",
        "port": 1,
    }
    lines = b"CONNECT %b\r\nINFO %b\r\nPING\r\n" % (json.dumps(connect).encode(), json.dumps(info).encode())
    writer.write(lines)
    return reader, writer


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Read until the server answers a PING, or closes the route; return whether it closes it."""
    while line := await asyncio.wait_for(reader.readline(), 10):
        if line == b"PONG\r\n":
            return False
    return True


@pytest.mark.parametrize(("name", "stays"), [(SMALLER, "second"), (GREATER, "first")])
def test_of_two_routes_dialled_at_once_the_one_of_the_smaller_id_stays(name: str, stays: str) -> None:
    assert asyncio.run(_left_of_two(name, age=0)) == stays


@pytest.mark.parametrize("name", [SMALLER, GREATER])
def test_a_route_in_use_stays(name: str) -> None:
    assert asyncio.run(_left_of_two(name, age=SECOND)) == "first"


async def _left_of_two(name: str, age: int) -> str:
    """Dial twice, the second time `age` ns after the first route was joined; return which one stays."""
    async with Server(cluster=ClusterOptions(name="C", host="127.0.0.1", port=-1)) as server:
        routes = server.routes
        assert routes is not None
        first, one = await dial(routes, name)
        assert not await is_closed(first)
        [route] = routes.peers[name]
        route.joined_at -= age
        second, two = await dial(routes, name)
        second_closed = await is_closed(second)
        one.write(b"PING\r\n")
        first_closed = await is_closed(first)
        one.close()
        two.close()
    assert first_closed != second_closed
    return "second" if first_closed else "first"
