"""Three clusters of servers of both implementations: a message in one reaches subscribers in the others."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.servers import reaches
from lib.super_cluster import COMBINATIONS, SuperCluster
from lib.wire import Msg, Wire

A0, A1, B, C = range(4)
PAIRS = [(A0, B), (B, A0), (A1, C), (C, A1), (B, C), (C, B)]


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
def clusters(request: pytest.FixtureRequest) -> Iterator[SuperCluster]:
    found = SuperCluster(*request.param)
    yield found
    found.close()


@pytest.fixture
def wires(clusters: SuperCluster) -> Iterator[list[Wire]]:
    with clusters.clients() as found:
        yield found


def bodies(wire: Wire, last: bytes) -> list[bytes]:
    """Return the bodies of the messages up to one that says `last`."""
    found: list[bytes] = []
    while (message := wire.msg()).body != last:
        found.append(message.body)
    return found


@pytest.mark.parametrize(("publisher", "subscriber"), PAIRS)
def test_messages_cross_every_gateway(
    wires: list[Wire], unique: str, publisher: int, subscriber: int
) -> None:
    sender, listener = wires[publisher], wires[subscriber]
    listener.sub(f"{unique}.*.>", "7")
    reaches(sender, listener, f"{unique}.a.b", "7")
    sender.pub(f"{unique}.x.y", "one", reply="back", headers={"A": "1"})
    sender.pub(f"{unique}.x.y.z", "two")
    first, second = listener.msgs(2)
    assert (first.subject, first.reply, first.body) == (f"{unique}.x.y", "back", b"one")
    assert first.headers == {"A": "1"}
    assert (second.subject, second.reply, second.body) == (f"{unique}.x.y.z", "", b"two")


def test_each_message_comes_once(wires: list[Wire], unique: str) -> None:
    for number, wire in enumerate(wires):
        wire.sub(f"{unique}.>", "1")
        wire.sub(f"{unique}.*", "2")
        wire.sub(f"ready.{unique}.{number}", "3")
        wire.sync()
    for sender in (A0, B):
        for number in range(4):
            reaches(wires[sender], wires[number], f"ready.{unique}.{number}", "3")
        for number in range(5):
            wires[sender].pub(f"{unique}.{number}", "x")
        for wire in wires:
            got = Counter(message.subject for message in wire.msgs(10))
            assert got == {f"{unique}.{number}": 2 for number in range(5)}
    for wire in wires:
        assert wire.sync() == []


def test_a_queue_group_is_served_in_its_own_cluster(wires: list[Wire], unique: str) -> None:
    for number, wire in enumerate(wires):
        wire.sub(unique, "5", queue="workers")
        wire.sub(f"{unique}.ready.{number}", "6")
    for sender in (A0, B, C):
        for number in range(4):
            reaches(wires[sender], wires[number], f"{unique}.ready.{number}", "6")
    for sender in (A0, B, C):
        for number in range(20):
            wires[sender].pub(unique, f"{sender} {number}")
        for number in range(4):
            wires[sender].pub(f"{unique}.ready.{number}", "last")
        got = [bodies(wire, b"last") for wire in wires]
        assert len(got[A0] + got[A1]) == (20 if sender == A0 else 0)
        assert len(got[B]) == (20 if sender == B else 0)
        assert len(got[C]) == (20 if sender == C else 0)


def test_a_queue_group_fails_over_to_another_cluster(wires: list[Wire], unique: str) -> None:
    for number, wire in enumerate(wires):
        wire.sub(f"{unique}.ready.{number}", "6")
    for number in (B, C):
        wires[number].sub(unique, "5", queue="workers")
        wires[number].sub(f"{unique}.now.{number}", "7")
        reaches(wires[A0], wires[number], f"{unique}.now.{number}", "7")
        reaches(wires[A0], wires[number], f"{unique}.ready.{number}", "6")
    for number in range(20):
        wires[A0].pub(unique, str(number))
    for number in (B, C):
        wires[A0].pub(f"{unique}.ready.{number}", "last")
    got = [bodies(wires[number], b"last") for number in (B, C)]
    assert sorted(map(int, [*got[0], *got[1]])) == list(range(20))
    wires[A1].sub(unique, "5", queue="workers")
    reaches(wires[A0], wires[A1], f"{unique}.ready.{A1}", "6")
    for number in range(20):
        wires[A0].pub(unique, str(number))
    for number in (A1, B, C):
        wires[A0].pub(f"{unique}.ready.{number}", "last")
    assert len(bodies(wires[A1], b"last")) == 20
    assert bodies(wires[B], b"last") == bodies(wires[C], b"last") == []


@pytest.mark.parametrize(("asker", "responder"), [(A0, B), (A1, B), (B, A1), (B, C), (C, A0)])
def test_a_request_is_answered_from_another_cluster(
    wires: list[Wire], unique: str, asker: int, responder: int
) -> None:
    """The asker subscribes to its inbox right before, so the others do not know of that when they answer."""
    wires[responder].sub(unique, "3")
    reaches(wires[asker], wires[responder], unique, "3")
    for number in range(5):
        reply = wires[asker].inbox()
        wires[asker].pub(unique, f"question {number}", reply=reply)
        question = wires[responder].msg()
        assert question.reply == reply
        wires[responder].pub(question.reply, f"answer {number}", headers={"A": "1"})
        answer = wires[asker].answer(reply)
        assert (answer.subject, answer.body, answer.headers) == (
            reply,
            f"answer {number}".encode(),
            {"A": "1"},
        )


@pytest.fixture
def on_leaf(clusters: SuperCluster) -> Iterator[Wire]:
    """A client of the leaf node of B."""
    assert clusters.leaf is not None
    with clusters.leaf.connect() as wire:
        yield wire


@pytest.mark.parametrize("asker", [A0, A1, C])
def test_a_request_is_answered_on_a_leaf_node(
    wires: list[Wire], on_leaf: Wire, unique: str, asker: int
) -> None:
    on_leaf.sub(unique, "3")
    reaches(wires[asker], on_leaf, unique, "3")
    for number in range(3):
        wires[asker].sub(f"reply.{unique}.{number}", f"4{number}")
        wires[asker].pub(unique, "question", reply=f"reply.{unique}.{number}")
        question = on_leaf.msg()
        assert question.reply == f"reply.{unique}.{number}"
        on_leaf.pub(question.reply, f"answer {number}")
        answer = wires[asker].msg()
        assert (answer.subject, answer.body) == (question.reply, f"answer {number}".encode())


@pytest.mark.parametrize("responder", [A0, A1, C])
def test_a_client_of_a_leaf_node_asks_another_cluster(
    wires: list[Wire], on_leaf: Wire, unique: str, responder: int
) -> None:
    wires[responder].sub(unique, "3")
    reaches(on_leaf, wires[responder], unique, "3")
    for number in range(3):
        on_leaf.sub(f"reply.{unique}.{number}", f"4{number}")
        on_leaf.pub(unique, "question", reply=f"reply.{unique}.{number}")
        question = wires[responder].msg()
        assert question.reply == f"reply.{unique}.{number}"
        wires[responder].pub(question.reply, f"answer {number}")
        assert on_leaf.msg().body == f"answer {number}".encode()


def test_the_queue_group_of_an_inbox_gets_the_answer_in_the_askers_cluster(
    wires: list[Wire], unique: str
) -> None:
    wires[B].sub(unique, "3")
    reaches(wires[A0], wires[B], unique, "3")
    for number, wire in enumerate((wires[A0], wires[A1], wires[B])):
        wire.sub(f"inbox.{unique}", "4", queue="waiting")
        wire.sub(f"ready.{unique}.{number}", "5")
        reaches(wires[A0], wire, f"ready.{unique}.{number}", "5")
    wires[A0].sub(f"own.{unique}", "6")
    wires[A0].pub(unique, "question", reply=f"own.{unique}")
    assert wires[B].msg().reply == f"own.{unique}"
    wires[B].pub(f"own.{unique}", "answer")
    assert wires[A0].msg().body == b"answer"


def test_nobody_hears_after_the_last_has_left(wires: list[Wire], unique: str) -> None:
    wires[B].sub(unique, "3")
    wires[B].sub(unique, "4")
    reaches(wires[A0], wires[B], unique, "3")
    wires[B].send("UNSUB 3\r\n")
    wires[B].sync()
    reaches(wires[A0], wires[B], unique, "4")
    wires[B].send("UNSUB 4\r\n")
    wires[B].sync()

    def silent() -> bool:
        wires[A0].pub(unique, "x", reply=wires[A0].inbox())
        return any(isinstance(frame, Msg) and frame.status == "503" for frame in wires[A0].sync())

    eventually(silent)


def test_accounts_do_not_hear_each_other(clusters: SuperCluster, wires: list[Wire], unique: str) -> None:
    with clusters.login(clusters.servers[B], "other") as other:
        other.sub(unique, "1")
        wires[B].sub(unique, "2")
        reaches(wires[A0], wires[B], unique, "2")
        assert other.sync() == []


@pytest.mark.parametrize(("asker", "responder"), [(A0, B), (B, A1), (C, B)])
def test_services_of_another_account(
    clusters: SuperCluster, wires: list[Wire], unique: str, asker: int, responder: int
) -> None:
    with clusters.login(clusters.servers[asker], "other") as other:
        wires[responder].sub(f"help.{unique}", "2")
        wires[responder].sync()

        def answered() -> bool:
            reply = other.inbox()
            other.pub(f"ask.{unique}", "question", reply=reply)
            other.sync()
            for frame in wires[responder].sync():
                if isinstance(frame, Msg):
                    wires[responder].pub(frame.reply, "answer")
            wires[responder].sync()
            return any(isinstance(frame, Msg) and frame.body == b"answer" for frame in other.sync())

        eventually(answered)


@pytest.mark.parametrize(("publisher", "subscriber"), [(A0, B), (B, A1), (C, B)])
def test_streams_of_another_account(
    clusters: SuperCluster, wires: list[Wire], unique: str, publisher: int, subscriber: int
) -> None:
    with clusters.login(clusters.servers[subscriber], "other") as other:
        other.sub(f"from.news.{unique}", "8")

        def arrived() -> bool:
            wires[publisher].pub(f"news.{unique}", "extra")
            wires[publisher].sync()
            return any(isinstance(f, Msg) and f.subject == f"from.news.{unique}" for f in other.sync())

        eventually(arrived)


@pytest.mark.parametrize(("publisher", "subscriber"), [(A0, B), (B, A0)])
def test_what_is_to_be_traced_only_is_heard_nowhere(
    wires: list[Wire], unique: str, publisher: int, subscriber: int
) -> None:
    sender, listener = wires[publisher], wires[subscriber]
    listener.sub(f"{unique}.*", "7")
    reaches(sender, listener, f"{unique}.a", "7")
    sender.pub(f"{unique}.a", "x", headers={"Nats-Trace-Dest": "t.x", "Nats-Trace-Only": "true"})
    sender.pub(f"{unique}.a", "y", headers={"Nats-Trace-Dest": "t.x"})
    assert listener.msg().body == b"y"


@pytest.mark.parametrize(("publisher", "subscriber"), [(A0, B), (B, A0), (C, B)])
def test_traces_follow_a_message(wires: list[Wire], unique: str, publisher: int, subscriber: int) -> None:
    sender, listener = wires[publisher], wires[subscriber]
    listener.sub(f"{unique}.*", "7")
    reaches(sender, listener, f"{unique}.a", "7")
    sender.sub(f"trace.{unique}", "9")
    reaches(listener, sender, f"trace.{unique}", "9")
    sender.pub(f"{unique}.a", "x", headers={"Nats-Trace-Dest": f"trace.{unique}"})
    found = {each["server"]["name"]: each for each in (message.json() for message in sender.msgs(2))}
    names = ("a0", "a1", "b0", "c0")
    here, there = found[names[publisher]], found[names[subscriber]]
    assert here["hops"] == 1
    (out,) = [event for event in here["events"] if event["type"] == "eg"]
    assert (out["kind"], out["name"], out["hop"]) == (2, names[subscriber], "1")
    first = there["events"][0]
    assert (first["type"], first["kind"], first["name"]) == ("in", 2, names[publisher])
    assert [event["kind"] for event in there["events"] if event["type"] == "eg"] == [0]


def test_clients_may_not_use_the_way_back(wires: list[Wire], unique: str) -> None:
    for subject in (f"_GR_.AAAAAA.BBBBBB.{unique}", f"_GR_.{unique}"):
        wires[A0].pub(subject, "x")
        assert any(
            b"Permissions Violation for Publish" in f for f in wires[A0].sync() if isinstance(f, bytes)
        )


def document(server: ServerProcess, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}{path}", timeout=20) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def test_gateways_are_shown(clusters: SuperCluster, wires: list[Wire], unique: str) -> None:
    wires[A0].sub(f"{unique}.a", "1")
    wires[A0].sub(f"{unique}.>", "2", queue="q")
    reaches(wires[B], wires[A0], f"{unique}.a", "1")
    b0 = clusters.servers[B]
    found = document(b0, "/gatewayz?acc_name=ACC&subs=1")
    assert (found["name"], found["host"], found["port"]) == ("B", "127.0.0.1", b0.ports["gateway"])
    assert {name: each["configured"] for name, each in found["outbound_gateways"].items()} == {
        "A": True,
        "C": False,
    }
    assert {name: len(each) for name, each in found["inbound_gateways"].items()} == {"A": 2, "C": 1}
    (account,) = found["outbound_gateways"]["A"]["accounts"]
    shown = {name: account[name] for name in ("name", "interest_mode", "interest_only_threshold")}
    assert shown == {"name": "ACC", "interest_mode": "Interest-Only", "interest_only_threshold": 1000}
    assert {f"{unique}.a", f"{unique}.>"} <= {*account["subscriptions_list"]}
    assert account["num_subs"] == len(account["subscriptions_list"])
    assert account["num_queue_subs"] >= 1
    connection = found["outbound_gateways"]["A"]["connection"]
    assert connection["kind"] == "Gateway"
    assert connection["out_msgs"] > 0
    assert connection["subscriptions"] >= account["num_subs"]
    (account,) = found["inbound_gateways"]["C"][0]["accounts"]
    assert (account["name"], account["interest_mode"]) == ("ACC", "Interest-Only")
    only = document(b0, "/gatewayz?gw_name=C")
    assert ([*only["outbound_gateways"]], [*only["inbound_gateways"]]) == (["C"], ["C"])
    assert document(b0, "/gatewayz?gw_name=none")["outbound_gateways"] is None
    block = document(b0, "/varz")["gateway"]
    assert (block["name"], block["port"], block["auth_timeout"]) == ("B", b0.ports["gateway"], 2)
    (remote,) = block["gateways"]
    assert remote["name"] == "A"
    assert {f"127.0.0.1:{clusters.servers[n].ports['gateway']}" for n in (A0, A1)} == {*remote["urls"]}


def test_statistics_count_gateways(clusters: SuperCluster) -> None:
    with clusters.login(clusters.servers[B], "admin") as admin:
        name = admin.info["server_id"]
        statz = admin.request(f"$SYS.REQ.SERVER.{name}.STATSZ").json()["statsz"]
    counted = {each["name"]: each["inbound_connections"] for each in statz["gateways"]}
    assert counted == {"A": 2, "C": 1}
    assert all(each["sent"]["msgs"] > 0 for each in statz["gateways"])
    assert statz["active_servers"] == 4


def test_a_server_that_comes_back_is_joined_again(clusters: SuperCluster, unique: str) -> None:
    clusters.servers[B].kill()
    clusters.servers[B].launch()
    clusters.joined()
    for publisher, subscriber in ((A0, B), (B, C), (C, B)):
        with (
            clusters.login(clusters.servers[subscriber]) as listener,
            clusters.login(clusters.servers[publisher]) as sender,
        ):
            listener.sub(f"{unique}.{publisher}", "3")
            reaches(sender, listener, f"{unique}.{publisher}", "3")
