"""What a cluster's servers know of each other: statistics, routes, limits, subscribers; lame duck mode."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from lib.core_cluster import Mesh
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.wire import Msg, Wire

COMBINATIONS = [("pyjs", "pyjs", "pyjs"), ("reference", "pyjs", "pyjs"), ("pyjs", "reference", "reference")]


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
def mesh(request: pytest.FixtureRequest) -> Iterator[Mesh]:
    found = Mesh(*request.param)
    yield found
    found.close()


@pytest.fixture(params=[("pyjs",) * 3, ("reference", "reference", "pyjs")], ids="-".join)
def leaving(request: pytest.FixtureRequest) -> Iterator[Mesh]:
    """A mesh that loses its last server."""
    found = Mesh(*request.param)
    yield found
    found.close()


@pytest.fixture
def system(mesh: Mesh) -> Iterator[Wire]:
    with mesh.login(mesh.servers[0], "admin") as wire:
        yield wire


def asked(wire: Wire, subject: str, body: str = "") -> list[Any]:
    """The answers of all three servers, by name."""
    reply = wire.inbox()
    wire.pub(subject, body, reply=reply)
    found: list[Any] = []
    while len(found) < 3:
        frame = wire.next()
        if isinstance(frame, Msg) and frame.subject == reply:
            found.append(frame.json())
    return sorted(found, key=lambda answer: answer["server"]["name"])


def pyjs_only(mesh: Mesh) -> list[str]:
    return [f"s{n}" for n, server in enumerate(mesh.servers) if server.name == "pyjs"]


def test_servers_count_each_other(mesh: Mesh, system: Wire) -> None:
    def all_know() -> bool:
        return [a["statsz"]["active_servers"] for a in asked(system, "$SYS.REQ.SERVER.PING")] == [3, 3, 3]

    eventually(all_know, 60)
    for answer in asked(system, "$SYS.REQ.SERVER.PING"):
        names = {route["name"] for route in answer["statsz"]["routes"]}
        assert names == {"s0", "s1", "s2"} - {answer["server"]["name"]}


@pytest.mark.parametrize("body", ["", '{"subscriptions": true}', '{"subscriptions_detail": true}'])
def test_routes_are_shown(mesh: Mesh, system: Wire, body: str) -> None:
    answers = asked(system, "$SYS.REQ.SERVER.PING.ROUTEZ", body)
    known = {answer["data"]["server_name"]: answer["data"]["server_id"] for answer in answers}
    for answer in answers:
        data = answer["data"]
        assert data["num_routes"] == len(data["routes"])
        ours = data["server_name"] in pyjs_only(mesh)
        assert not ours or data["num_routes"] == 8  # three in the pool, and that of the system account
        for route in data["routes"]:
            assert route["remote_id"] == known[route["remote_name"]]
            assert {"rid", "did_solicit", "is_configured", "ip", "port", "uptime", "idle"} <= set(route)
        listed = [route for route in data["routes"] if route["subscriptions"]]
        assert any("subscriptions_list" in route for route in listed) == ('subscriptions"' in body)
        assert any("subscriptions_list_detail" in route for route in listed) == ("detail" in body)


def test_the_cluster_is_shown(mesh: Mesh, system: Wire) -> None:
    for answer in asked(system, "$SYS.REQ.SERVER.PING.VARZ"):
        data = answer["data"]
        assert data["cluster"]["name"] == "mesh"
        assert data["cluster"]["cluster_port"] in {server.ports["route"] for server in mesh.servers}
        assert data["remotes"] == 2
        assert data["cluster"]["pool_size"] == 3
        assert data["routes"] >= 2
        assert len(data["connect_urls"]) == 3


def test_connections_are_limited_over_the_cluster(mesh: Mesh) -> None:
    def enters(server: ServerProcess) -> Wire | None:
        try:
            return mesh.login(server, "few")
        except ConnectionError as refused:
            assert "maximum account active connections exceeded" in str(refused)
            return None

    def refused() -> bool:
        third = enters(mesh.servers[2])
        if third is not None:
            third.close()
        return third is None

    # A server that does not know of the others yet admits a third, and then the others drop theirs.
    received: set[str] = set()
    with mesh.login(mesh.servers[2], "admin") as listener:
        listener.sub("$SYS.SERVER.ACCOUNT.FEW.CONNS", "1")
        listener.sync()
        with mesh.login(mesh.servers[0], "few"):
            with mesh.login(mesh.servers[1], "few"):
                while len(received) < 2:
                    news = listener.msg().json()
                    received |= {news["server"]["id"]} if news["conns"] else set()
                eventually(refused)
            eventually(lambda: not refused())
        eventually(lambda: not refused())


def test_subscribers_are_counted_over_the_cluster(mesh: Mesh, system: Wire, unique: str) -> None:
    others = [mesh.login(server, "admin") for server in mesh.servers[1:]]
    for wire in others:
        wire.sub(f"{unique}.*", "1")
        wire.sub(f"{unique}.a", "2", queue="q")
        wire.sync()
    system.sub(f"{unique}.a", "3")
    system.sync()

    def count(what: str) -> bytes:
        reply = system.inbox()
        system.pub("$SYS.DEBUG.SUBSCRIBERS", what, reply=reply)
        return system.answer(reply).body

    eventually(lambda: count(f"{unique}.a") == b"5")
    eventually(lambda: count(f"{unique}.a q") == b"2")
    for wire in others:
        wire.close()


def own(server: ServerProcess) -> str:
    return f"127.0.0.1:{server.port}"


def test_who_goes_away_says_so(leaving: Mesh) -> None:
    first, second, last = leaving.servers
    assert last.process is not None
    with leaving.login(first, "admin") as system:
        system.sub("$SYS.SERVER.*.LAMEDUCK", "ldm")
        system.sub("$SYS.SERVER.*.SHUTDOWN", "end")
        system.sync()
        with leaving.login(last) as stranded, leaving.login(second) as client:
            last.process.send_signal(signal.SIGUSR2)
            eventually(lambda: stranded.sync() == [] and stranded.infos[-1].get("ldm") is True)
            assert own(last) not in stranded.infos[-1]["connect_urls"]
            assert own(second) in stranded.infos[-1]["connect_urls"]
            eventually(lambda: client.sync() == [] and own(last) not in client.infos[-1]["connect_urls"])
        last.process.send_signal(signal.SIGINT)
        last.process.wait(30)
        heard = system.msgs(2)
        assert [frame.sid for frame in heard] == ["ldm", "end"]
        assert {frame.json()["name"] for frame in heard} == {"s2"}

        def two_left() -> bool:
            reply = system.inbox()
            system.pub("$SYS.REQ.SERVER.PING", "", reply=reply)
            return [frame.json()["statsz"]["active_servers"] for frame in system.msgs(2)] == [2, 2]

        eventually(two_left)
