"""A hub and a leaf in all four combinations of reference and pyjs, configured as in the documentation."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.leaf_pair import COMBINATIONS, Pair, api, combined, heard, login
from lib.wire import Msg, Wire


@pytest.fixture(scope="module")
def pairs() -> Iterator[dict[tuple[str, str], Pair | Exception]]:
    started: dict[tuple[str, str], Pair | Exception] = {}
    yield started
    for pair in started.values():
        if isinstance(pair, Pair):
            pair.close()


@pytest.fixture(params=COMBINATIONS, ids=combined)
def pair(request: pytest.FixtureRequest, pairs: dict[tuple[str, str], Pair | Exception]) -> Pair:
    """The shared pair of this combination, joined."""
    key: tuple[str, str] = request.param
    if key not in pairs:
        try:
            pairs[key] = started = Pair(*key)
        except Exception as error:
            pairs[key] = error
            raise
        try:
            started.joined()
        except BaseException as error:
            started.close()
            pairs[key] = RuntimeError(f"the leaf did not join: {error}")
            raise
    found = pairs[key]
    if isinstance(found, Exception):
        raise found
    return found


@pytest.fixture
def hub(pair: Pair) -> Iterator[Wire]:
    with login(pair.hub) as wire:
        yield wire


@pytest.fixture
def leaf(pair: Pair) -> Iterator[Wire]:
    with login(pair.leaf) as wire:
        yield wire


def until_quiet(wire: Wire, other: Wire, unique: str) -> list[Msg]:
    """What `wire` gets, up to a last message of `other` that travels the same way."""
    other.pub(f"{unique}.last", "last")
    got: list[Msg] = []
    while (message := wire.msg()).body != b"last":
        got.append(message)
    return got


@pytest.mark.parametrize("way", ["down", "up"])
def test_messages_cross_the_link(hub: Wire, leaf: Wire, unique: str, way: str) -> None:
    sender, listener = (hub, leaf) if way == "down" else (leaf, hub)
    heard(listener, sender, f"{unique}.>")
    listener.sub(f"{unique}.>")
    listener.sync()
    heard(listener, sender, f"{unique}x")
    sender.pub(f"{unique}.a", "plain", "reply.here")
    sender.pub(f"{unique}.a", "with header", "", {"A": "b"})
    one, two = listener.msgs(2)
    assert (one.subject, one.reply, one.body) == (f"{unique}.a", "reply.here", b"plain")
    assert (two.headers, two.body) == ({"A": "b"}, b"with header")


@pytest.mark.parametrize("way", ["down", "up"])
def test_each_listener_hears_once(hub: Wire, leaf: Wire, unique: str, way: str) -> None:
    sender, listener = (hub, leaf) if way == "down" else (leaf, hub)
    for wire in (hub, leaf):
        wire.sub(f"{unique}.a", "1")
        wire.sub(f"{unique}.*", "2")
        wire.sub(f"{unique}.last", "3")
        wire.sync()
    heard(listener, sender, f"{unique}x")
    for i in range(5):
        sender.pub(f"{unique}.a", str(i))
    sender.sync()
    got = Counter((m.sid, m.body) for m in until_quiet(listener, sender, unique))
    assert got == {(sid, str(i).encode()): 1 for sid in ("1", "2") for i in range(5)}


def test_interest_that_goes_is_withdrawn(hub: Wire, leaf: Wire, unique: str) -> None:
    leaf.sub(f"{unique}.a", "1")
    leaf.sync()
    eventually(lambda: _status(hub, f"{unique}.a") == "")
    leaf.send("UNSUB 1\r\n")
    leaf.sync()
    eventually(lambda: _status(hub, f"{unique}.a") == "503")


def _status(wire: Wire, subject: str) -> str:
    """The status of a request: "503" at once, or "" when somebody heard it (who does not answer)."""
    wire.pub(subject, b"", wire.inbox())
    got = [f for f in wire.sync() if isinstance(f, Msg)]
    return got[0].status if got else ""


@pytest.mark.parametrize("way", ["down", "up"])
def test_requests_are_answered_across(hub: Wire, leaf: Wire, unique: str, way: str) -> None:
    asks, answers = (hub, leaf) if way == "down" else (leaf, hub)
    answers.sub(unique, "svc")
    answers.sync()
    eventually(lambda: _status(asks, unique) == "")
    answers.sync()
    reply = asks.inbox()
    asks.pub(unique, "question", reply)
    while (question := answers.msg()).body == b"":
        pass
    assert (question.body, question.reply) == (b"question", reply)
    answers.pub(question.reply, "answer")
    assert asks.answer(reply).body == b"answer"


@pytest.mark.parametrize("way", ["down", "up"])
def test_a_queue_group_over_the_link_shares(hub: Wire, leaf: Wire, unique: str, way: str) -> None:
    sender, other = (hub, leaf) if way == "down" else (leaf, hub)
    other.sub(unique, "q", "workers")
    other.sub(unique, "q2", "workers")
    other.sub(f"{unique}.last", "l")
    other.sync()
    heard(other, sender, f"{unique}x")
    for i in range(50):
        sender.pub(unique, str(i))
    sender.sync()
    got = until_quiet(other, sender, unique)
    assert sorted(int(m.body) for m in got) == list(range(50))


def test_local_members_of_a_group_come_first(hub: Wire, leaf: Wire, unique: str) -> None:
    for wire in (hub, leaf):
        wire.sub(unique, "q", "workers")
        wire.sub(f"{unique}.last", "l")
        wire.sync()
    heard(leaf, hub, f"{unique}x")
    for i in range(20):
        hub.pub(unique, str(i))
    assert len(hub.sync()) == 20
    assert until_quiet(leaf, hub, unique) == []


def test_big_messages_cross(hub: Wire, leaf: Wire, unique: str) -> None:
    leaf.sub(unique)
    leaf.sync()
    heard(leaf, hub, f"{unique}x")
    body = bytes(range(256)) * 4000
    hub.pub(unique, body)
    assert leaf.msg().body == body


@pytest.mark.parametrize(
    ("at", "prefix", "domain"),
    [
        ("hub", "$JS.API", "hub"),
        ("leaf", "$JS.API", "leaf"),
        ("hub", "$JS.hub.API", "hub"),
        ("hub", "$JS.leaf.API", "leaf"),
        ("leaf", "$JS.hub.API", "hub"),
        ("leaf", "$JS.leaf.API", "leaf"),
    ],
)
def test_a_domain_is_reached_from_either_side_and_answers_once(
    pair: Pair, at: str, prefix: str, domain: str
) -> None:
    with api(getattr(pair, at), prefix=prefix) as js:
        eventually(lambda: js.raw("INFO").status == "")
        assert js.call("INFO")["domain"] == domain
        assert js.wire.sync() == []


def test_an_unknown_domain_has_no_responders(hub: Wire) -> None:
    assert hub.request("$JS.nowhere.API.INFO").status == "503"


def across(pair: Pair, at: str, domain: str) -> JetStream:
    """The API of `domain` called by a client at `at`."""
    js = api(getattr(pair, at), prefix=f"$JS.{domain}.API")
    eventually(lambda: js.raw("INFO").status == "")
    return js


def test_equal_names_in_two_domains_both_store(pair: Pair, unique: str) -> None:
    with across(pair, "hub", "hub") as here, across(pair, "hub", "leaf") as there:
        here.create(unique, storage="file")
        there.create(unique, storage="file")
        assert here.info(unique)["domain"] == "hub"
        assert there.info(unique)["domain"] == "leaf"

        def both() -> bool:
            here.wire.pub(unique, "hello world")
            return all(end.state(unique)["messages"] > 0 for end in (here, there))

        eventually(both)


@pytest.mark.parametrize(("at", "domain"), [("hub", "leaf"), ("leaf", "hub")])
def test_a_remote_streams_life(pair: Pair, unique: str, at: str, domain: str) -> None:
    with across(pair, at, domain) as js:
        js.create(unique)

        def stored() -> bool:
            answer = js.wire.request(unique, "1")
            return answer.status == "" and answer.json()["domain"] == domain

        eventually(stored)
        js.consumer(unique, "C")
        (message,), _ = js.pull(unique, "C")
        assert (message.subject, message.body) == (unique, b"1")
        assert message.reply.startswith(f"$JS.ACK.{unique}.C.1.1.1.")
        assert "@" not in message.reply
        js.wire.pub(message.reply, "+ACK")
        eventually(lambda: js.consumer_info(unique, "C")["num_ack_pending"] == 0)
        assert js.call(f"STREAM.DELETE.{unique}")["success"] is True


@pytest.mark.parametrize(("at", "domain"), [("hub", "leaf"), ("leaf", "hub")])
def test_a_remote_push_consumer(pair: Pair, unique: str, at: str, domain: str) -> None:
    with across(pair, at, domain) as js:
        js.create(unique)
        eventually(lambda: js.wire.request(unique, "1").status == "")
        to = f"to.{unique}"
        js.wire.sub(to, "push")
        js.consumer(unique, "C", deliver_subject=to, deliver_policy="last")
        message = js.wire.msg()
        assert (message.sid, message.subject, message.body) == ("push", unique, b"1")
        assert message.reply.startswith(f"$JS.ACK.{unique}.C.1.")
        assert "@" not in message.reply
        js.wire.pub(message.reply, "+ACK")
        eventually(lambda: js.consumer_info(unique, "C")["num_ack_pending"] == 0)
        eventually(lambda: js.consumer_info(unique, "C").get("push_bound") is True)
        js.wire.send("UNSUB push\r\n")
        eventually(lambda: not js.consumer_info(unique, "C").get("push_bound"))


@pytest.mark.parametrize(("to", "origin"), [("hub", "leaf"), ("leaf", "hub")])
@pytest.mark.parametrize("kind", ["mirror", "source"])
def test_copies_across_domains(pair: Pair, unique: str, to: str, origin: str, kind: str) -> None:
    external = {"name": unique, "external": {"api": f"$JS.{origin}.API", "deliver": ""}}
    with across(pair, to, origin) as far, across(pair, to, to) as near:
        far.create(unique, storage="file", subjects=[f"{unique}.*"])
        eventually(lambda: far.wire.request(f"{unique}.t", "hello world").status == "")
        copy = f"{unique}C"
        near.create(
            copy, storage="file", **({"mirror": external} if kind == "mirror" else {"sources": [external]})
        )
        eventually(lambda: near.state(copy)["messages"] == far.state(unique)["messages"])
        for i in range(20):
            far.publish(f"{unique}.t", str(i))
        eventually(lambda: near.state(copy)["messages"] == far.state(unique)["messages"])
        original, copied = far.get(unique, seq=1), near.get(copy, seq=1)
        assert copied["data"] == original["data"]
        assert copied["subject"] == original["subject"]
        info = near.info(copy)
        received = info["mirror"] if kind == "mirror" else info["sources"][0]
        assert (received["name"], received["lag"], received["external"]["api"]) == (
            unique,
            0,
            f"$JS.{origin}.API",
        )
        assert "error" not in received
        if kind == "mirror":
            assert copied == original
        else:
            mark = base64.b64decode(copied["hdrs"]).decode()
            assert f"Nats-Stream-Source: {unique}:" in mark
        near.call(f"STREAM.DELETE.{copy}")
        far.call(f"STREAM.DELETE.{unique}")


def test_the_sizes_of_the_documentation(pair: Pair) -> None:
    """45 bytes for "hello world" on `test`, 45 for its mirror; 98 was the copy's size with the old mark."""
    external = {"name": "test", "external": {"api": "$JS.leaf.API", "deliver": ""}}
    with across(pair, "hub", "hub") as here, across(pair, "hub", "leaf") as there:
        there.create("test", storage="file")
        eventually(lambda: here.wire.request("test", "hello world").status == "")
        there.call("STREAM.PURGE.test", {"keep": 1})
        here.create("backup-test-leaf", storage="file", mirror=external)
        here.create("aggregate-test-leaf", storage="file", sources=[external])
        eventually(lambda: here.state("backup-test-leaf")["messages"] == 1)
        eventually(lambda: here.state("aggregate-test-leaf")["messages"] == 1)
        assert there.state("test")["bytes"] == 45
        assert here.state("backup-test-leaf")["bytes"] == 45
        copy = here.get("aggregate-test-leaf", seq=1)
        header = base64.b64decode(copy["hdrs"])
        assert header.startswith(b"NATS/1.0\r\nNats-Stream-Source: test:mSx7q4yJ ")
        assert here.state("aggregate-test-leaf")["bytes"] == 45 + 4 + len(header)
        for name in ("backup-test-leaf", "aggregate-test-leaf"):
            here.call(f"STREAM.DELETE.{name}")
        there.call("STREAM.DELETE.test")


@pytest.mark.parametrize("at", ["hub", "leaf"])
def test_the_connected_system_accounts_see_both_servers(pair: Pair, at: str) -> None:
    with login(getattr(pair, at), "admin") as wire:

        def names() -> set[str]:
            wire.pub("$SYS.REQ.SERVER.PING.IDZ", b"", wire.inbox())
            return {m.json()["name"] for m in wire.sync() if isinstance(m, Msg) and not m.status}

        seen: set[str] = set()

        def complete() -> bool:
            seen.update(names())
            return seen == {"hub-server", "leaf-server"}

        eventually(complete)


@pytest.mark.parametrize("at", ["hub", "leaf"])
def test_jsz_of_both_domains(pair: Pair, at: str) -> None:
    with login(getattr(pair, at), "admin") as wire:
        seen: set[str] = set()

        def both() -> bool:
            wire.pub("$SYS.REQ.SERVER.PING.JSZ", b"{}", wire.inbox())
            answers = [m.json() for m in wire.sync() if isinstance(m, Msg) and not m.status]
            seen.update(a["server"]["domain"] for a in answers)
            return seen == {"hub", "leaf"}

        eventually(both)


def test_leafz_shows_the_link(pair: Pair) -> None:
    with login(pair.hub, "admin") as wire:
        request = f"$SYS.REQ.SERVER.{wire.info['server_id']}.LEAFZ"
        data = wire.request(request).json()["data"]
    assert data["leafnodes"] == 2
    assert {entry["account"] for entry in data["leafs"]} == {"ACC", "SYS"}
    assert {entry["name"] for entry in data["leafs"]} == {"leaf-server"}
    if pair.hub.name == "pyjs":  # the reference knows it of its own kind, of others after its first ping
        assert all(entry["rtt"] != "0s" for entry in data["leafs"]), data["leafs"]
