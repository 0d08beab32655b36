"""Servers of one JetStream: their meta leader, what they report of it, servers that stop and come back.

The tests of one module share three servers, and leave all of them running.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream_cluster import READY_SECONDS, JetMesh
from lib.process import ServerProcess
from lib.wire import Msg, Wire

STEP_DOWN = "$JS.API.META.LEADER.STEPDOWN"


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def mesh(request: pytest.FixtureRequest) -> Iterator[JetMesh]:
    found = JetMesh(request.param)
    yield found
    found.close()


def admin(mesh: JetMesh, server: ServerProcess) -> Wire:
    return mesh.login(server, "admin")


def others(mesh: JetMesh, name: str) -> list[ServerProcess]:
    return [server for server in mesh.alive() if server is not mesh[name]]


def asked(mesh: JetMesh, server: ServerProcess, service: str, **options: Any) -> Any:
    with admin(mesh, server) as wire:
        return wire.request(f"$SYS.REQ.SERVER.{wire.info['server_id']}.{service}", json.dumps(options)).json()


def create(wire: Wire, name: str, replicas: int = 3) -> dict[str, Any]:
    config = {"name": name, "subjects": [f"{name}.>"], "num_replicas": replicas}
    found: dict[str, Any] = wire.request(f"$JS.API.STREAM.CREATE.{name}", json.dumps(config)).json()
    return found


def message_count(mesh: JetMesh, server: ServerProcess, stream: str) -> int:
    """The messages of a stream on a server; -1 where it is not."""
    details = asked(mesh, server, "JSZ", account="ACC", streams=True)["data"].get("account_details", [])
    found = [each for detail in details for each in detail.get("stream_detail", [])]
    return next((each["state"]["messages"] for each in found if each["name"] == stream), -1)


def heard(wire: Wire, subject: str) -> list[Any]:
    """Ask, and give what has come on "answers" so far: while nobody leads it may be nothing."""
    wire.pub(subject, "", reply="answers")
    return [frame.json() for frame in wire.sync() if isinstance(frame, Msg) and frame.subject == "answers"]


def names(wire: Wire) -> list[str]:
    return wire.request("$JS.API.STREAM.NAMES").json().get("streams") or []


def test_all_tell_of_the_same_leader(mesh: JetMesh) -> None:
    leader = mesh.ready()
    for server in mesh.servers:
        meta = mesh.meta(server)
        assert (meta["name"], meta["leader"], meta["cluster_size"], meta["quorum_needed"]) == (
            "mesh",
            leader,
            3,
            2,
        )
        itself = next(f"s{n}" for n, each in enumerate(mesh.servers) if each is server)
        assert [peer["name"] for peer in meta["replicas"]] == sorted({"s0", "s1", "s2"} - {itself})
        assert not any(peer.get("offline") for peer in meta["replicas"])
        assert asked(mesh, server, "VARZ")["data"]["jetstream"]["meta"]["leader"] == leader
        statsz = asked(mesh, server, "STATSZ")["statsz"]["jetstream"]
        assert ("replicas" in statsz["meta"]) is (server is mesh[leader])
        assert statsz["meta"]["leader"] == leader
        assert statsz["stats"]["ha_assets"] == 1
        assert asked(mesh, server, "HEALTHZ")["data"] == {"status": "ok", "status_code": 200}
    assert all(peer["current"] for peer in mesh.meta(mesh[leader])["replicas"])


def test_jsz_has_the_same_fields(mesh: JetMesh) -> None:
    leader = mesh[mesh.ready()]
    found = asked(mesh, leader, "JSZ")["data"]
    meta = found["meta_cluster"]
    assert set(meta) == {
        "name",
        "leader",
        "peer",
        "replicas",
        "cluster_size",
        "quorum_needed",
        "pending",
        "pending_requests",
        "pending_infos",
        "snapshot",
    }
    assert {"pending_entries", "pending_size", "last_time"} <= set(meta["snapshot"])
    assert {key for peer in meta["replicas"] for key in peer} == {"name", "current", "active", "peer"}


def test_jsz_shows_streams_where_they_are_led_and_of_their_groups(mesh: JetMesh) -> None:
    mesh.ready()
    with mesh.login(mesh["s0"]) as wire:
        create(wire, "LED")
        consumer = {"stream_name": "LED", "config": {"durable_name": "D", "ack_policy": "explicit"}}
        wire.request("$JS.API.CONSUMER.DURABLE.CREATE.LED.D", json.dumps(consumer))

        def is_level() -> bool:
            found = wire.request("$JS.API.STREAM.INFO.LED").json()["cluster"]["replicas"]
            return all(peer["current"] for peer in found)

        eventually(is_level, READY_SECONDS)
        info = wire.request("$JS.API.STREAM.INFO.LED").json()
    leader = info["cluster"]["leader"]
    everything = {"account": "ACC", "streams": True, "consumer": True, "raft": True, "config": True}
    shown: dict[str, Any] = {}
    for number, server in enumerate(mesh.servers):
        [account] = asked(mesh, server, "JSZ", **everything)["data"]["account_details"]
        [detail] = [each for each in account["stream_detail"] if each["name"] == "LED"]
        assert detail["cluster"]["leader"] == leader
        assert detail["stream_raft_group"] == info["cluster"]["raft_group"]
        assert [each["name"] for each in detail["consumer_raft_groups"]] == ["D"]
        assert [each["name"] for each in detail["consumer_detail"]] == ["D"]
        assert "_nats.ver" not in detail["config"].get("metadata", {})
        shown[f"s{number}"] = set(detail) | {f"cluster.{key}" for key in detail["cluster"]}
        only = asked(mesh, server, "JSZ", account="ACC", streams=True, stream_leader_only=True)["data"]
        led = [each["name"] for each in only["account_details"][0].get("stream_detail", [])]
        assert ("LED" in led) is (leader == f"s{number}")
    follower = next(name for name in shown if name != leader)
    assert shown[leader] - shown[follower] == {"cluster.leader_since"}
    with mesh.login(mesh["s0"]) as wire:
        assert wire.request("$JS.API.STREAM.DELETE.LED").json()["success"]


def test_the_leader_steps_down_for_another(mesh: JetMesh) -> None:
    before = mesh.ready()
    wanted = next(f"s{n}" for n in range(3) if f"s{n}" != before)
    with admin(mesh, mesh[before]) as wire:
        wire.sub("$JS.EVENT.ADVISORY.DOMAIN.LEADER_ELECTED", sid="9")
        wire.sync()
        refused = wire.request(STEP_DOWN, json.dumps({"placement": {"preferred": "nobody"}})).json()
        assert refused["error"]["err_code"] == 10005
        answer = wire.request(STEP_DOWN, json.dumps({"placement": {"preferred": wanted}})).json()
        assert answer["success"] is True
        [advisory] = [m.json() for m in wire.msgs(1) if isinstance(m, Msg)]
    assert advisory["type"] == "io.nats.jetstream.advisory.v1.domain_leader_elected"
    assert set(advisory) == {"type", "id", "timestamp", "leader", "replicas", "cluster"}
    eventually(lambda: mesh.leader() == wanted, READY_SECONDS)
    assert advisory["leader"] == mesh.meta(mesh[wanted])["peer"]
    with mesh.login(mesh[wanted]) as wire:  # who is not the system account is not answered
        wire.pub(STEP_DOWN, "", reply=wire.inbox())
        assert wire.sync() == []


def test_a_lame_duck_lets_others_lead(mesh: JetMesh) -> None:
    before = mesh.ready()
    duck = mesh[before]
    with mesh.login(duck) as wire:  # somebody is there, so that it does not end at once
        create(wire, "DUCK")
        duck.signal(signal.SIGUSR2)

        def is_led() -> bool:
            found = {mesh.meta(server).get("leader") for server in others(mesh, before)}
            return len(found) == 1 and not found & {None, "", before}

        eventually(is_led, READY_SECONDS)
        assert duck.process is not None and duck.process.poll() is None
    duck.crash()
    duck.launch()
    mesh.ready()
    with mesh.login(duck) as wire:
        wire.sub("answers", sid="7")
        eventually(lambda: heard(wire, "$JS.API.STREAM.DELETE.DUCK"), READY_SECONDS)


def test_another_leads_when_the_leader_dies_and_it_comes_back(mesh: JetMesh) -> None:
    before = mesh.ready()
    left = others(mesh, before)
    with mesh.login(left[0]) as wire:
        created = create(wire, "KEPT")
        assert created["cluster"]["leader"] in {"s0", "s1", "s2"} and len(created["cluster"]["replicas"]) == 2
        assert "error" not in create(wire, "GONE")
        assert "error" not in create(wire, "SINGLE", 1)
    mesh[before].crash()
    eventually(lambda: mesh.leader() not in ("", before), READY_SECONDS)
    now = mesh.leader()
    [lost] = [peer for peer in mesh.meta(mesh[now])["replicas"] if peer["name"] == before]
    assert lost["offline"] and not lost["current"]
    with mesh.login(left[0]) as wire:
        assert wire.request("$JS.API.STREAM.DELETE.GONE").json()["success"]
        assert "error" not in create(wire, "LATER", 1)
    mesh[before].launch()
    mesh.ready()

    def is_level() -> bool:
        return all(peer["current"] for peer in mesh.meta(mesh[mesh.leader()])["replicas"])

    eventually(is_level, READY_SECONDS)
    with mesh.login(mesh[before]) as wire:
        eventually(lambda: names(wire) == ["KEPT", "LATER", "SINGLE"], READY_SECONDS)
    server = mesh[before]
    eventually(
        lambda: message_count(mesh, server, "KEPT") == 0 and message_count(mesh, server, "GONE") < 0,
        READY_SECONDS,
    )


def test_all_servers_come_back(mesh: JetMesh) -> None:
    mesh.ready()
    with mesh.login(mesh["s0"]) as wire:
        create(wire, "STAYS")
        stored = wire.request("STAYS.a", "one").json()["seq"]
        before = names(wire)
    for server in mesh.servers:
        server.crash()
    for server in mesh.servers:
        server.launch()
    mesh.ready()
    with mesh.login(mesh["s1"]) as wire:
        assert names(wire) == before

        wire.sub("answers", sid="7")

        # nats-server writes what a replicated stream acknowledged a moment later (filestore.go, AsyncFlush).
        kept = {stored} if mesh.implementation == "pyjs" else range(stored + 1)

        def has_all() -> bool:
            found = heard(wire, "$JS.API.STREAM.INFO.STAYS")
            return any(info.get("state", {}).get("messages") in kept for info in found)

        eventually(has_all, READY_SECONDS)


def test_without_a_majority_it_is_not_well(mesh: JetMesh) -> None:
    leader = mesh.ready()
    gone = others(mesh, leader)
    for server in gone:
        server.crash()

    def is_leaderless() -> bool:
        health = asked(mesh, mesh[leader], "HEALTHZ")["data"]
        return health["status_code"] == 503 and "meta leader" in health["error"]

    eventually(is_leaderless, READY_SECONDS)
    health = asked(mesh, mesh[leader], "HEALTHZ", details=True)["data"]
    assert [each["type"] for each in health["errors"]] == ["JETSTREAM"]
    assert asked(mesh, mesh[leader], "HEALTHZ", **{"js-enabled-only": True})["data"]["status"] == "ok"
    with mesh.login(mesh[leader]) as wire:
        wire.sub("answers", sid="7")

        def is_refused() -> bool:
            found = heard(wire, "$JS.API.INFO")
            return any(answer.get("error", {}).get("err_code") == 10008 for answer in found)

        eventually(is_refused, READY_SECONDS)
    for server in gone:
        server.launch()
    mesh.ready()


def test_a_server_that_lost_its_disk_catches_up(mesh: JetMesh) -> None:
    leader = mesh.ready()
    with mesh.login(mesh[leader]) as wire:
        assert "error" not in create(wire, "FILLED")
        for number in range(20):
            wire.request(f"FILLED.{number}", "something")

        def replicas() -> list[dict[str, Any]]:
            cluster = wire.request("$JS.API.STREAM.INFO.FILLED").json()["cluster"]
            return cluster["replicas"]  # type: ignore[no-any-return]

        eventually(lambda: [each["current"] for each in replicas()] == [True, True], READY_SECONDS)
        lost = others(mesh, leader)[0]
        lost.crash()
        shutil.rmtree(lost.directory / "store")
        lost.launch()
        mesh.ready()
        eventually(lambda: message_count(mesh, lost, "FILLED") == 20, READY_SECONDS)
        eventually(lambda: [each["current"] for each in replicas()] == [True, True], READY_SECONDS)
    eventually(lambda: asked(mesh, lost, "HEALTHZ")["data"]["status"] == "ok", READY_SECONDS)


def test_a_server_is_removed_for_good(mesh: JetMesh) -> None:
    """The last one: the reference lets such a server come back only after minutes."""
    leader = mesh.ready()
    gone = others(mesh, leader)[0]
    name = next(f"s{n}" for n, each in enumerate(mesh.servers) if each is gone)
    gone.crash()
    eventually(lambda: mesh.leader() == leader, READY_SECONDS)
    with admin(mesh, mesh[leader]) as wire:
        refused = wire.request("$JS.API.SERVER.REMOVE", json.dumps({"peer": "nobody"})).json()
        assert refused["error"]["err_code"] == 10044
        assert wire.request("$JS.API.SERVER.REMOVE", json.dumps({"peer": name})).json()["success"]
        eventually(lambda: mesh.meta(mesh[leader])["cluster_size"] == 2, READY_SECONDS)
        meta = mesh.meta(mesh[leader])
        assert meta["quorum_needed"] == 2 and len(meta["replicas"]) == 1
    if mesh.implementation == "pyjs":
        gone.launch()
        mesh.ready()
        eventually(lambda: asked(mesh, gone, "HEALTHZ")["data"]["status"] == "ok", READY_SECONDS)


def test_a_server_that_runs_is_removed_and_lets_others_lead(mesh: JetMesh) -> None:
    if mesh.implementation == "reference":
        pytest.skip("the server that was removed a moment ago is not back yet")
    leader = mesh.ready()
    with admin(mesh, mesh[leader]) as wire:
        wire.sub("$JS.EVENT.ADVISORY.SERVER.REMOVED", sid="9")
        assert wire.request("$JS.API.SERVER.REMOVE", json.dumps({"peer": leader})).json()["success"]
        [advisory] = wire.msgs(1)
        assert advisory.json()["server"] == leader

    def is_out() -> bool:
        found = {mesh.meta(server).get("leader") for server in others(mesh, leader)}
        return len(found) == 1 and not found & {None, "", leader}

    eventually(is_out, READY_SECONDS)
    health = asked(mesh, mesh[leader], "HEALTHZ")["data"]
    assert (health["status_code"], health["error"]) == (503, "JetStream not enabled")
    assert asked(mesh, mesh[leader], "JSZ")["data"]["disabled"]
    mesh[leader].restart()
    mesh.ready()
    eventually(lambda: asked(mesh, mesh[leader], "HEALTHZ")["data"]["status"] == "ok", READY_SECONDS)
