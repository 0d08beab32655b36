"""The HTTP listener of monitoring against peers that misbehave."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest
from lib.eventually import until
from pyjs.server import Server
from pyjs.server.config.load import load_text
from pyjs.server.monitor import http
from pyjs.server.monitor.connz import ConnzRequest
from pyjs.server.monitor.healthz import healthz
from pyjs.server.monitor.http import HEAD_LIMIT, HttpResponse, Monitor
from pyjs.server.monitor.peers import LeafzRequest, leafz
from pyjs.server.monitor.request import RequestError, from_json, from_query
from pyjs.server.monitor.view import uptime
from pyjs.server.slices import at_once


async def talk(port: int, *requests: bytes) -> bytes:
    """All that comes back until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        writer.write(request)
    writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()
        await writer.wait_closed()


def monitored(*requests: bytes, **options: Any) -> list[bytes]:
    async def run() -> list[bytes]:
        async with Server(http_port=0, **options) as server:
            assert isinstance(server.monitor, Monitor)
            return [await talk(server.monitor.port, request) for request in requests]

    return asyncio.run(run())


def test_requests_on_one_connection_are_answered_in_turn() -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    (answer,) = monitored(request * 2 + request.replace(b"Host: x", b"Connection: close"))
    assert answer.count(b'{"status":"ok"}') == 3
    assert answer.count(b"Connection: close") == 1


def test_health_is_not_ok_before_clients_can_connect() -> None:
    reported = []

    class Watched(Server):
        async def _start_monitor(self) -> None:
            await super()._start_monitor()
            reported.append(at_once(healthz(self)))

    async def run() -> None:
        async with Watched(http_port=0) as server:
            reported.append(at_once(healthz(server)))

    asyncio.run(run())
    closed = {"status": "error", "error": "failed to be ready for connections: server"}
    assert reported == [(500, closed), (200, {"status": "ok"})]


def test_head_has_no_body() -> None:
    (answer,) = monitored(b"HEAD /varz HTTP/1.0\r\n\r\n")
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b"200 OK" in head
    assert body == b""


@pytest.mark.parametrize("junk", [b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"A B C\r\n\r\n", b"\r\n\r\n"])
def test_junk_is_a_bad_request(junk: bytes) -> None:
    (answer,) = monitored(junk)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_half_a_request_and_a_huge_one_are_cut_off() -> None:
    huge = b"GET /varz HTTP/1.1\r\nX: " + b"x" * (2 * HEAD_LIMIT) + b"\r\n\r\n"
    after = b"GET /healthz HTTP/1.0\r\n\r\n"
    half, _, fine = monitored(b"GET /varz HT", huge, after)
    assert half == b""
    assert fine.endswith(b'{"status":"ok"}')


def test_the_base_path_is_before_every_page() -> None:
    async def run() -> tuple[int, int]:
        async with Server(http_port=0, http_base_path="/nats") as server:
            assert server.monitor is not None
            found = [await server.monitor.answer(path) for path in ("/nats/varz", "/varz")]
            return found[0].status, found[1].status

    assert asyncio.run(run()) == (200, 404)


def test_a_server_stops_while_a_monitoring_connection_is_open() -> None:
    async def run() -> None:
        async with Server(http_port=0) as server:
            assert server.monitor is not None
            reader, writer = await asyncio.open_connection("127.0.0.1", server.monitor.port)
            writer.write(b"GET /varz HTTP/1.1\r\n\r\n")
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert (await reader.read()).endswith(b"}")
        writer.close()
        await writer.wait_closed()

    asyncio.run(asyncio.wait_for(run(), 10))


def test_one_connection_too_many_takes_the_place_of_the_most_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "CONNECTIONS", 3)

    async def run() -> None:
        async with Server(http_port=0) as server:
            assert server.monitor is not None
            port = server.monitor.port
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            await until(lambda: len(_monitor(server)._idle) == 3)
            assert (await talk(port, b"GET /healthz HTTP/1.0\r\n\r\n")).endswith(b'{"status":"ok"}')
            assert await idle[0][0].read() == b""
            idle[2][1].write(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert (await idle[2][0].read()).endswith(b'{"status":"ok"}')
            for _, writer in idle:
                writer.close()

    asyncio.run(asyncio.wait_for(run(), 10))


def test_answers_that_nobody_reads_are_bounded_and_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "UNSENT", 10_000_000)
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(http, "_CLOSE_SECONDS", 0.1)
    large = HttpResponse(200, "text/plain", b"x" * 8_000_000)

    async def answer(_target: str) -> HttpResponse:
        return large

    async def run() -> None:
        async with Server(http_port=0) as server:
            monitor = _monitor(server)
            monkeypatch.setattr(monitor, "answer", answer)
            sockets = [await asyncio.open_connection("127.0.0.1", monitor.port, limit=256) for _ in range(5)]
            for _, writer in sockets:
                writer.write(b"GET /connz HTTP/1.1\r\n\r\n")
            refused = await asyncio.wait_for(asyncio.gather(*(r.readline() for r, _ in sockets)), 5)
            assert sorted(line.split()[1] for line in refused) == [b"200"] + [b"503"] * 4
            await until(lambda: monitor._tasks == set())
            assert monitor._unsent == 0
            for _, writer in sockets:
                writer.close()

    asyncio.run(asyncio.wait_for(run(), 10))


def _monitor(server: Server) -> Monitor:
    assert server.monitor is not None
    return server.monitor


def test_a_client_that_goes_before_its_answer_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    uvloop = pytest.importorskip("uvloop")
    failures: list[Any] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        async with Server(http_port=0) as server:
            monitor = server.monitor
            assert isinstance(monitor, Monitor)
            connected, make = monitor._serve, monitor.answer
            writers: list[asyncio.StreamWriter] = []
            asked = asyncio.Event()

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
                writers.append(writer)
                return await connected(reader, writer)

            async def answer(target: str) -> HttpResponse:
                asked.set()
                await until(lambda: writers[0].is_closing())
                return await make(target)

            monkeypatch.setattr(monitor, "_serve", serve)
            monkeypatch.setattr(monitor, "answer", answer)
            with socket.create_connection(("127.0.0.1", monitor.port)) as client:
                client.sendall(b"GET /varz HTTP/1.1\r\n\r\n")
                await asked.wait()
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # resets
            await until(lambda: not monitor._tasks)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(run(), 10))
    assert failures == []


def test_a_request_is_read_from_a_query_or_from_json() -> None:
    assert from_query(ConnzRequest, {"auth": "1", "limit": "5", "acc": "A", "other": "x"}) == ConnzRequest(
        auth=True, limit=5, account="A"
    )
    assert from_json(ConnzRequest, {"auth": True, "subscriptions": True, "state": 1}) == ConnzRequest(
        auth=True, subscriptions=True, state_number=1
    )
    with pytest.raises(RequestError, match="'limit'"):
        from_json(ConnzRequest, {"limit": "5"})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m0s"),
        (3661, "1h1m1s"),
        (90061, "1d1h1m1s"),
        (366 * 86400, "1y1d0h0m0s"),
    ],
)
def test_uptime_is_written_in_whole_parts(seconds: int, text: str) -> None:
    assert uptime(seconds * 1_000_000_000 + 999) == text


def test_leafz_shows_a_link_at_both_ends() -> None:
    async def run() -> tuple[dict[str, Any], dict[str, Any]]:
        listen = "listen: '127.0.0.1:-1'"
        hub_options = load_text(f"{listen}\nserver_name: hub\nleafnodes {{ {listen} }}")
        async with Server(hub_options) as hub:
            remote = f"leafnodes {{ remotes: [{{url: '{hub.leaf_url}'}}] }}"
            leaf_options = load_text(f"{listen}\nserver_name: leaf\n{remote}")
            async with Server(leaf_options) as leaf:
                await until(lambda: at_once(leafz(hub))["leafs"] and at_once(leafz(leaf))["leafs"])
                asked = (LeafzRequest(subs=True), LeafzRequest(account="$G"))
                return at_once(leafz(hub, asked[0])), at_once(leafz(leaf, asked[1]))

    hub, leaf = asyncio.run(run())
    for document, name, is_spoke in ((hub, "leaf", False), (leaf, "hub", True)):
        (link,) = document["leafs"]
        assert (link["name"], link["is_spoke"], link["account"]) == (name, is_spoke, "$G")
        assert document["leafnodes"] == 1
