"""The engine over sockets: accounts with and without JetStream, domains, reloads, restarts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from pyjs.server.app import Server
from pyjs.server.config.load import load_text

CONFIG = """
host: 127.0.0.1
port: -1
jetstream {{ store_dir: "{store}", domain: hub }}
accounts {{
    A: {{ users: [{{user: a, password: a}}], {a} }}
    B: {{ users: [{{user: b, password: b}}] }}
}}
"""
ON = "jetstream: enabled"


def options(store: Path, a: str = ON) -> Any:
    return load_text(CONFIG.format(store=store, a=a))


async def login(server: Server, user: str) -> Client:
    return await nats.connect(server.url, user=user, password=user, allow_reconnect=False)


async def call(client: Client, subject: str, body: Any = None) -> dict[str, Any]:
    data = json.dumps(body).encode() if body is not None else b""
    answer = await client.request(subject, data, timeout=20)
    return dict(json.loads(answer.data))


def run(store: Path, scenario: Callable[[Server], Awaitable[None]], a: str = ON) -> None:
    """Play `scenario` on a server of its own."""

    async def play() -> None:
        async with Server(options(store, a)) as server:
            await scenario(server)

    asyncio.run(asyncio.wait_for(play(), 30))


def test_streams_and_messages_are_there_after_a_restart(tmp_path: Path) -> None:
    async def before(server: Server) -> None:
        client = await login(server, "a")
        await call(client, "$JS.API.STREAM.CREATE.S", {"name": "S", "subjects": ["s"]})
        assert (await call(client, "s", "x"))["seq"] == 1
        await client.close()

    async def after(server: Server) -> None:
        client = await login(server, "a")
        assert (await call(client, "$JS.API.STREAM.INFO.S"))["state"]["messages"] == 1
        assert (await call(client, "s", "x"))["seq"] == 2
        await client.close()

    run(tmp_path, before)
    run(tmp_path, after)


def test_the_local_domains_prefix_means_the_local_api(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        client = await login(server, "a")
        assert (await call(client, "$JS.hub.API.INFO"))["domain"] == "hub"
        await call(client, "$JS.hub.API.STREAM.CREATE.S", {"name": "S"})
        assert (await call(client, "$JS.API.STREAM.NAMES"))["streams"] == ["S"]
        await client.close()

    run(tmp_path, scenario)


def test_an_account_without_jetstream_gets_an_error(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        client = await login(server, "b")
        assert (await call(client, "$JS.API.INFO"))["error"]["err_code"] == 10039
        await client.close()

    run(tmp_path, scenario)


def test_a_reload_takes_jetstream_from_an_account_and_gives_it_back_whole(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        client = await login(server, "a")
        await call(client, "$JS.API.STREAM.CREATE.S", {"name": "S", "subjects": ["s"]})
        await call(client, "s", "x")
        server.reload(options(tmp_path, ""))
        assert (await call(client, "$JS.API.STREAM.INFO.S"))["error"]["err_code"] == 10039
        server.reload(options(tmp_path))
        await server.ready()
        assert (await call(client, "$JS.API.STREAM.INFO.S"))["state"]["messages"] == 1
        assert (await call(client, "$JS.hub.API.INFO"))["streams"] == 1
        await client.close()

    run(tmp_path, scenario)


def test_a_reload_changes_an_accounts_limits(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        client = await login(server, "a")
        server.reload(options(tmp_path, "jetstream: {max_streams: 1}"))
        await call(client, "$JS.API.STREAM.CREATE.S", {"name": "S"})
        refused = await call(client, "$JS.API.STREAM.CREATE.T", {"name": "T"})
        assert refused["error"]["err_code"] == 10027
        assert (await call(client, "$JS.API.INFO"))["limits"]["max_streams"] == 1
        await client.close()

    run(tmp_path, scenario)


def test_two_accounts_have_streams_of_the_same_name_and_subject(tmp_path: Path) -> None:
    text = CONFIG.format(store=tmp_path, a=ON).replace("password: b}]", f"password: b}}], {ON}")

    async def play() -> None:
        async with Server(load_text(text)) as server:
            for user in "ab":
                client = await login(server, user)
                made = await call(client, "$JS.API.STREAM.CREATE.S", {"name": "S", "subjects": ["s"]})
                assert made["did_create"]
                assert (await call(client, "s", "x"))["seq"] == 1
                await client.close()

    asyncio.run(asyncio.wait_for(play(), 30))


def test_a_lazy_interval_answers_before_the_sync_and_loses_nothing_at_a_stop(tmp_path: Path) -> None:
    text = CONFIG.format(store=tmp_path, a=ON).replace("domain: hub", "sync_interval: 1h")

    async def play(first: int) -> None:
        async with Server(load_text(text)) as server:
            client = await login(server, "a")
            await call(client, "$JS.API.STREAM.CREATE.S", {"name": "S", "subjects": ["s"]})
            assert (await call(client, "s", "x"))["seq"] == first
            await client.close()

    for first in (1, 2):
        asyncio.run(asyncio.wait_for(play(first), 30))
