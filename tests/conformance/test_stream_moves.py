"""Streams on several servers: direct gets, moves, and the rescue of a cluster that has lost its majority."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.jetstream_cluster import READY_SECONDS, JetMesh
from lib.wire import Msg, Wire

ANSWER_SECONDS = 10.0


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def mesh(request: pytest.FixtureRequest) -> Iterator[JetMesh]:
    found = JetMesh(request.param, 4)
    yield found
    found.close()


def _api(mesh: JetMesh, user: str = "acc") -> JetStream:
    api = JetStream(mesh.login(mesh["s0"], user), at_once=mesh.implementation != "reference")
    api.wire.sock.settimeout(ANSWER_SECONDS)
    return api


@pytest.fixture
def js(mesh: JetMesh) -> Iterator[JetStream]:
    with _api(mesh) as api:
        yield api
        for name in api.call("STREAM.NAMES")["streams"] or ():
            api.call(f"STREAM.DELETE.{name}")


@pytest.fixture
def system(mesh: JetMesh) -> Iterator[JetStream]:
    with _api(mesh, "admin") as api:
        yield api


def servers(js: JetStream, name: str = "S") -> set[str]:
    """The servers of a stream, once all of them are current."""
    found: set[str] = set()

    def known() -> bool:
        try:
            info = js.info(name)
        except ApiFailureError:
            return False  # while the only copy changes hands
        cluster = info["cluster"]
        others = cluster.get("replicas") or []
        found.clear()
        found.update({cluster.get("leader", ""), *(each["name"] for each in others)})
        whole = len(found) == info["config"]["num_replicas"]
        return whole and "" not in found and all(each["current"] for each in others)

    eventually(known, READY_SECONDS)
    return found


def filled(js: JetStream, replicas: int = 3) -> set[str]:
    js.create("S", subjects=["s.>"], num_replicas=replicas, storage="file")
    js.consumer("S", "C")
    for number in range(10):
        js.publish(f"s.{number}", b"x")
    return servers(js)


def kind(js: JetStream, subject: str, body: Any = b"") -> tuple[str, int]:
    """The type of a refusal, and its number."""
    answer = js.raw(subject, body).json()
    return answer["type"].removeprefix("io.nats.jetstream.api.v1."), answer["error"]["err_code"]


def test_refusals(js: JetStream, system: JetStream) -> None:
    peers = filled(js)
    for subject, body, expected in (
        ("STREAM.PEER.EVACUATE.S", b"", 10003),
        ("STREAM.PEER.EVACUATE.S", {"peer": ""}, 10003),
        ("STREAM.PEER.EVACUATE.S", {"peer": "nobody"}, 10040),
        ("STREAM.PEER.EVACUATE.T", {"peer": "s0"}, 10059),
    ):
        assert kind(js, subject, body) == ("stream_evacuate_peer_response", expected)
    for verb in ("REMOVE", "EVACUATE"):  # the consumer is on all servers of its stream
        for names, body, expected in (
            ("S.C", b"", 10003),
            ("S.C", {"peer": ""}, 10003),
            ("S.C", {"peer": "nobody"}, 10040),
            ("S.C", {"peer": min(peers)}, 10075),
            ("S.NONE", {"peer": "s0"}, 10014),
            ("T.C", {"peer": "s0"}, 10059),
        ):
            answer = f"consumer_{verb.lower()}_peer_response"
            assert kind(js, f"CONSUMER.PEER.{verb}.{names}", body) == (answer, expected)
    for subject, expected in (
        ("STREAM.CANCEL_MOVE.S", 10129),
        ("STREAM.CANCEL_MOVE.T", 10059),
        ("ACCOUNT.STREAM.CANCEL_MOVE.ACC.S", 10129),
        ("ACCOUNT.STREAM.CANCEL_MOVE.ACC.T", 10059),
    ):
        assert kind(js, subject) == ("stream_cancel_move_response", expected)
    assert kind(js, "ACCOUNT.STREAM.MOVE.ACC.T") == ("stream_update_response", 10059)
    refused: list[tuple[str, Any, str, int]] = [
        ("ACCOUNT.STREAM.CANCEL_MOVE.ACC.S", b"", "stream_cancel_move", 10129),
        ("ACCOUNT.STREAM.CANCEL_MOVE.NONE.S", b"", "stream_cancel_move", 10035),
        ("ACCOUNT.STREAM.MOVE.NONE.S", b"", "stream_update", 10035),
        ("ACCOUNT.STREAM.MOVE.ACC.S", {"server": "nobody"}, "stream_update", 10044),
        ("ACCOUNT.STREAM.MOVE.ACC.S", {"tags": ["none"]}, "stream_update", 10005),
        ("SERVER.EVACUATE", b"", "meta_server_evacuate", 10003),
        ("SERVER.EVACUATE", {"peer": "nobody"}, "meta_server_evacuate", 10044),
    ]
    for subject, body, answer, expected in refused:
        assert kind(system, subject, body) == (f"{answer}_response", expected)


def test_an_account_moves_only_its_own_streams(js: JetStream) -> None:
    js.wire.sock.settimeout(1.0)
    for subject in ("MOVE.OTHER.S", "CANCEL_MOVE.OTHER.S"):
        with pytest.raises(TimeoutError):
            js.raw(f"ACCOUNT.STREAM.{subject}")
    js.wire.sock.settimeout(ANSWER_SECONDS)


def test_a_peer_is_evacuated_from_a_stream(js: JetStream) -> None:
    before = filled(js)
    gone = js.info("S")["cluster"]["leader"]
    assert js.call("STREAM.PEER.EVACUATE.S", {"peer": gone}) == {
        "type": "io.nats.jetstream.api.v1.stream_evacuate_peer_response",
        "success": True,
    }
    eventually(lambda: gone not in servers(js), READY_SECONDS)
    assert servers(js) == {"s0", "s1", "s2", "s3"} - {gone} and gone in before
    assert js.state("S")["messages"] == 10


def test_one_peer_of_a_stream_moves_and_the_stream_keeps_its_configuration(
    js: JetStream, system: JetStream
) -> None:
    for api in (js, system):
        before = filled(js)
        gone = min(before)
        config = js.info("S")["config"]
        moved = api.call("ACCOUNT.STREAM.MOVE.ACC.S", {"server": gone})
        assert moved["type"].endswith("stream_update_response") and moved["config"] == config
        eventually(lambda gone=gone: gone not in servers(js), READY_SECONDS)  # type: ignore[misc]
        assert js.state("S")["messages"] == 10
        js.call("STREAM.DELETE.S")


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_server_is_evacuated(js: JetStream, system: JetStream, replicas: int) -> None:
    gone = min(filled(js, replicas))
    assert system.call("SERVER.EVACUATE", {"peer": gone})["success"]
    eventually(lambda: gone not in servers(js), READY_SECONDS)

    def is_whole() -> bool:
        try:
            return bool(js.state("S")["messages"] == js.consumer_info("S", "C")["num_pending"] == 10)
        except ApiFailureError:
            return False  # while the only copy changes hands

    eventually(is_whole)


def test_all_replicas_and_mirrors_answer_direct_gets(js: JetStream, mesh: JetMesh) -> None:
    js.create("S", subjects=["s.>"], num_replicas=3, allow_direct=True)
    js.create("M", mirror={"name": "S"}, num_replicas=1, mirror_direct=True)
    js.publish("s.1", b"x")

    def listeners() -> list[int]:
        """How many answer for S, as each server lists: its own, and on pyjs one of each other server."""
        found = []
        for server in mesh.servers:
            with mesh.login(server, "admin") as wire:
                request = {"subscriptions": True, "account": "ACC", "test": "$JS.API.DIRECT.GET.S"}
                subject = f"$SYS.REQ.SERVER.{wire.info['server_id']}.SUBSZ"
                listed = wire.request(subject, json.dumps(request)).json()["data"]["subscriptions_list"]
            found.append(sum(each.get("qgroup") == "_sys_" for each in listed))
        return found

    own = mesh.implementation == "reference"
    eventually(lambda: sum(listeners()) == 4 if own else min(listeners()) >= 3)
    for server in mesh.servers:
        with mesh.login(server) as wire:
            for _ in range(8):
                got = wire.request("$JS.API.DIRECT.GET.S.s.1")
                assert got.body == b"x" and got.headers["Nats-Stream"] in {"S", "M"}
    js.update("S", allow_direct=False)
    if not own:  # the reference's followers go on
        eventually(lambda: max(listeners()) == 1)


def rescue(wire: Wire, quorum: int, count: int = 1) -> list[dict[str, Any]]:
    """The answers of so many servers to META.RESCUE."""
    wire.pub("$JS.API.META.RESCUE", json.dumps({"quorum_needed": quorum}), reply := wire.inbox())
    found: list[dict[str, Any]] = []

    def heard() -> bool:
        frames = [frame for frame in wire.sync() if isinstance(frame, Msg)]
        found.extend(frame.json() for frame in frames if frame.subject == reply)
        return len(found) == count

    eventually(heard)
    return found


def test_a_cluster_that_has_lost_its_majority_is_rescued(mesh: JetMesh) -> None:
    """The last one: the lost servers do not come back."""
    left = mesh["s0"]
    with mesh.login(left, "admin") as wire:
        answers = rescue(wire, 1, 4)
        assert {each["error"]["err_code"] for each in answers} == {10224}
        for name in ("s1", "s2", "s3"):
            mesh[name].crash()
        eventually(lambda: not mesh.meta(left).get("leader"), READY_SECONDS)
        for wrong in (0, 4):
            [refused] = rescue(wire, wrong)
            why = "raft: rescue quorum must be between 1 and current quorum"
            assert refused["error"]["description"] == f"JetStream system rescue not applied: {why}"
            assert (refused["server"], refused["server_id"]) == ("s0", wire.info["server_id"])
        wire.sub("$JS.EVENT.ADVISORY.SERVER.META_RESCUE", sid="7")
        [answer] = rescue(wire, 1)
        assert answer["type"].endswith(".meta_rescue_response")
        assert (answer["prev_quorum"], answer["new_quorum"], answer["server"]) == (3, 1, "s0")
        eventually(lambda: mesh.meta(left).get("leader") == "s0", READY_SECONDS)
        for name in ("s1", "s2", "s3"):

            def removed(name: str = name) -> bool:
                answer = wire.request("$JS.API.SERVER.REMOVE", json.dumps({"peer": name})).json()
                return bool(answer.get("success")) or answer["error"]["err_code"] == 10044

            eventually(removed, READY_SECONDS)
        eventually(lambda: mesh.meta(left).get("cluster_size") == 1, READY_SECONDS)
    with _api(mesh) as js:
        assert js.create("ALONE", subjects=["alone"])["did_create"]
        assert js.publish("alone", b"x")["seq"] == 1
