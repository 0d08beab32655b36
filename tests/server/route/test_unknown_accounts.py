"""A peer may name any number of accounts: what is kept follows its interest, not the names."""

from __future__ import annotations

import asyncio
import json

from pyjs.server import Server
from pyjs.server.config.options import ClusterOptions

NAME = "N" + "A" * 55
CONNECT = {"name": NAME, "cluster": "C", "headers": True, "verbose": False, "pedantic": False}
INFO = {
    "server_id": NAME,
    "server_name": "R",
    "version": "2.15.1",
    "cluster": "C",
    "headers": True,
    "host": "127.0.0.1",
    "port": 1,
    "max_payload": 1 << 20,
}
NUMBERS = range(1000)


def test_nothing_is_kept_of_unknown_accounts_without_interest() -> None:
    async def main() -> None:
        async with Server(cluster=ClusterOptions(name="C", host="127.0.0.1", port=-1)) as server:
            assert server.routes is not None
            reader, writer = await asyncio.open_connection("127.0.0.1", server.routes.port)

            async def hears(data: bytes) -> None:
                writer.write(data + b"PING\r\n")
                await asyncio.wait_for(reader.readuntil(b"PONG\r\n"), 10)

            await hears(
                b"CONNECT %b\r\nINFO %b\r\n" % (json.dumps(CONNECT).encode(), json.dumps(INFO).encode())
            )
            account_routes = server.routes.pools.connections[0].account_routes
            known = set(account_routes)
            await hears(b"".join(b"RMSG U%d a 1\r\nx\r\n" % number for number in NUMBERS))
            await hears(b"".join(b"RMSG V%d a + r q 1\r\nx\r\n" % number for number in NUMBERS))
            await hears(b"".join(b"RS- W%d a\r\nRS+ X%d a..b\r\n" % (number, number) for number in NUMBERS))
            assert len(account_routes) <= len(known) + 1  # the account of the last message
            await hears(b"".join(b"RS+ Y%d a\r\n" % number for number in NUMBERS))
            assert len(account_routes) == len(known) + 1 + len(NUMBERS)
            await hears(b"".join(b"RS- Y%d a\r\n" % number for number in NUMBERS))
            assert len(account_routes) <= len(known) + 1
            assert known <= set(account_routes)
            writer.close()

    asyncio.run(main())
