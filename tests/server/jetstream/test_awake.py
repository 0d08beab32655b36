"""A server that has just started: what clients and monitors get while its streams are being opened."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import nats
import pytest
from pyjs.server.app import Server
from pyjs.server.jetstream.account import recovery
from pyjs.server.monitor.healthz import HealthzRequest, healthz
from pyjs.server.slices import at_once


class Lines:
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, text: str) -> None:
        self.lines.append(text)

    warning = error = debug = trace = fatal = info


async def call(client: Any, subject: str, body: Any = None) -> dict[str, Any]:
    data = json.dumps(body).encode() if body is not None else b""
    return dict(json.loads((await client.request(subject, data, timeout=20)).data))


async def fill(store: Path) -> None:
    async with Server(store_dir=store) as server:
        client = await nats.connect(server.url)
        for name in ("A", "B"):
            await call(client, f"$JS.API.STREAM.CREATE.{name}", {"name": name, "subjects": [name]})
            await client.request(name, b"stored")
        await client.close()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A disk that gives nothing of stream B before it is set."""
    ready, load = threading.Event(), recovery.load

    def slowly(account: Any, stored: Any) -> recovery.LoadedStream:
        if stored.name == "B":
            assert ready.wait(30)
        return load(account, stored)

    monkeypatch.setattr(recovery, "load", slowly)
    return ready


def test_it_answers_before_its_streams_are_open(tmp_path: Path, disk: threading.Event) -> None:
    async def scenario() -> None:
        await fill_aside(tmp_path, disk)
        log: Any = Lines()
        server = Server(store_dir=tmp_path, log=log)
        await server.start()
        try:
            client = await nats.connect(server.url)
            heard = await client.subscribe("core")
            await client.publish("core", b"at once")
            assert (await heard.next_msg()).data == b"at once"
            assert (await call(client, "$JS.API.STREAM.INFO.A"))["state"]["messages"] == 1
            assert (await call(client, "A"))["seq"] == 2
            assert (await call(client, "$JS.API.STREAM.INFO.B"))["error"]["err_code"] == 10008
            waiting = asyncio.ensure_future(call(client, "B"))
            status, document = at_once(healthz(server))
            assert (status, document["error"]) == (503, "JetStream is recovering 1 of 2 streams")
            for well in (
                HealthzRequest(js_enabled_only=True),
                HealthzRequest(js_server_only=True),
                HealthzRequest(account="$G", stream="A"),
            ):
                assert at_once(healthz(server, well)) == (200, {"status": "ok"})
            assert at_once(healthz(server, HealthzRequest(account="$G", stream="B")))[0] == 503
            assert "Server is ready" not in log.lines
            disk.set()
            await server.ready()
            assert (await waiting)["seq"] == 2
            assert at_once(healthz(server)) == (200, {"status": "ok"})
            assert log.lines[-1] == "Server is ready"
            await client.close()
        finally:
            await server.stop()

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_it_stops_before_its_streams_are_open(tmp_path: Path, disk: threading.Event) -> None:
    async def scenario() -> None:
        await fill_aside(tmp_path, disk)
        server = Server(store_dir=tmp_path)
        await server.start()
        stopping = asyncio.ensure_future(server.stop())
        await asyncio.sleep(0)
        disk.set()
        await stopping
        async with Server(store_dir=tmp_path) as server:
            client = await nats.connect(server.url)
            assert (await call(client, "$JS.API.STREAM.INFO.B"))["state"]["messages"] == 1
            await client.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))


async def fill_aside(store: Path, disk: threading.Event) -> None:
    """Make both streams; then the disk becomes slow."""
    disk.set()
    await fill(store)
    disk.clear()
