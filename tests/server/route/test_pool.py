"""Routes between two servers of this process: places in the pool, pinned accounts, lost routes, reloads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from lib.eventually import until
from pyjs.server import Server
from pyjs.server.config.options import ClusterOptions
from pyjs.server.config.options.accounts import AccountOptions
from pyjs.server.route import Routes
from pyjs.server.route.peer_routes import pool_place


def routes_of(server: Server) -> Routes:
    assert server.routes is not None
    return server.routes


def found(server: Server) -> Counter[str]:
    return Counter(connection.pinned for connection in routes_of(server).pools.connections)


@asynccontextmanager
async def two(first: ClusterOptions, second: ClusterOptions) -> AsyncIterator[tuple[Server, Server]]:
    accounts = {name: AccountOptions(name=name) for name in "AB"}
    async with Server(cluster=first, accounts=accounts) as one:
        second.routes = [routes_of(one).url]
        async with Server(cluster=second, accounts=accounts) as other:
            yield one, other


def options(**given: Any) -> ClusterOptions:
    return ClusterOptions(name="C", host="127.0.0.1", port=-1, **given)


@pytest.mark.parametrize(("account", "place"), [("A", 0), ("ACC", 1), ("$G", 2), ("$SYS", 0)])
def test_the_place_of_an_account_is_that_of_nats_server(account: str, place: int) -> None:
    assert pool_place(3, account) == place
    assert pool_place(1, account) == pool_place(0, account) == 0


def test_what_is_lost_is_dialled_again() -> None:
    async def run() -> None:
        async with two(options(accounts=["A"]), options(accounts=["A"])) as (one, other):
            wanted = {"": 3, "A": 1, "$SYS": 1}
            await until(lambda: found(one) == found(other) == wanted)
            for place in range(5):
                before = set(routes_of(one).pools.connections)
                routes_of(one).pools.connections[place].close("Client Closed")
                await until(lambda: found(one) == found(other) == wanted)
                assert len(before & set(routes_of(one).pools.connections)) == 4
            assert len(routes_of(one).peers) == len(routes_of(other).peers) == 1

    asyncio.run(run())


def test_an_account_that_only_one_server_pins_uses_the_pool() -> None:
    async def run() -> None:
        async with two(options(accounts=["A"]), options()) as (one, other):
            await until(lambda: routes_of(one).peers)
            [peer] = routes_of(one).peers.values()
            await until(lambda: peer.line("A", routes_of(one).pinned) is peer.pool[0] is not None)
            account_routes = [c.account_routes.get(b"A") for c in routes_of(one).pools.connections]
            assert [route is not None and route.advertises for route in account_routes].count(True) == 1
            assert found(one) == found(other)

    asyncio.run(run())


def test_a_reload_makes_other_routes() -> None:
    async def run() -> None:
        async with two(options(), options()) as (one, other):
            await until(lambda: found(one) == found(other) == {"": 3, "$SYS": 1})
            for server in (one, other):
                cluster = replace(routes_of(server).cluster, pool_size=1, accounts=["B"])
                for _ in routes_of(server).reloading(replace(server.options, cluster=cluster)):
                    pass
            await until(lambda: found(one) == found(other) == {"": 1, "B": 1, "$SYS": 1})

    asyncio.run(run())
