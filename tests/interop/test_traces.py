"""A traced message passes servers of both implementations: each sends one event, and the hops link them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.leaf_pair import Pair, heard
from lib.topology import ONE_LEAF, Shape
from lib.wire import Msg, Wire

ACCOUNTS = """
accounts {
    SYS: { users: [{user: admin, password: admin}] }
    ACC: {
        users: [{user: acc, password: acc}]
        exports: [{service: "help.>", allow_trace: true}, {service: "dark.>"}]
        msg_trace: { dest: "acc.traces", sampling: 100 }
    }
    OTHER: {
        users: [{user: other, password: other}]
        imports: [
            {service: {account: ACC, subject: "help.>"}, to: "ask.>"}
            {service: {account: ACC, subject: "dark.>"}, to: "hidden.>"}
        ]
    }
}
system_account: SYS
"""
COMBINATIONS = [
    ("reference", "reference", "reference"),
    ("pyjs", "pyjs", "pyjs"),
    ("pyjs", "reference", "reference"),
    ("reference", "pyjs", "pyjs"),
    ("pyjs", "pyjs", "reference"),
    ("reference", "reference", "pyjs"),
]
DEST, ONLY, HOP = "Nats-Trace-Dest", "Nats-Trace-Only", "Nats-Trace-Hop"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
CLIENT, ROUTER, LEAF = 0, 1, 4
Login = Callable[[str, str], Wire]
Event = dict[str, Any]


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
def shape(request: pytest.FixtureRequest) -> Iterator[Shape]:
    """Servers s0 and s1 with a route, and l0, a leaf of s0."""
    found = Shape(ONE_LEAF, request.param, ACCOUNTS)
    yield found
    found.close()


@pytest.fixture
def login(shape: Shape) -> Iterator[Login]:
    wires: list[Wire] = []

    def connect(server: str, user: str = "acc") -> Wire:
        wires.append(shape.servers[server].connect(user=user, **{"pass": user}, name=f"{user} on {server}"))
        return wires[-1]

    yield connect
    for wire in wires:
        wire.close()


def events(tracer: Wire, count: int) -> dict[str, Event]:
    """The events of one message, by hop."""
    found: dict[str, Event] = {}

    def all_came() -> bool:
        for frame in tracer.sync():
            if isinstance(frame, Msg) and frame.body.startswith(b'{"server"'):
                event = json.loads(frame.body)
                found[event["request"]["header"].get(HOP, [""])[0]] = event
        return len(found) >= count

    eventually(all_came)
    return found


def steps(event: Event) -> list[tuple[Any, ...]]:
    """What an event says, without ids and times."""
    return sorted(
        (each["type"], each.get("kind", ""), each.get("name", each.get("to", "")), each.get("sub", ""))
        for each in event["events"]
    )


def followed(found: dict[str, Event], server: str) -> str:
    """The hop that leads to a server."""
    (hop,) = [
        each["hop"]
        for event in found.values()
        for each in event["events"]
        if each["type"] == "eg" and each.get("hop") and each["name"] == server
    ]
    return str(hop)


@pytest.mark.parametrize("only", ["true", "false"])
@pytest.mark.parametrize("origin", ["s0", "s1", "l0"])
def test_every_server_tells_of_its_part(login: Login, unique: str, origin: str, only: str) -> None:
    sender, listeners = login(origin, "acc"), {name: login(name, "acc") for name in ("s0", "s1", "l0")}
    tracer = login(origin, "acc")
    for name, listener in listeners.items():
        heard(listener, sender, f"{unique}.{name}")
        listener.sub(f"{unique}.all", "1")
        listener.sync()
        heard(tracer, listener, f"t.{unique}")
    tracer.sub(f"t.{unique}", "t")
    tracer.sync()
    for name, listener in listeners.items():  # the interest of the tracer and of all others is known
        heard(listener, sender, f"{unique}.again.{name}")
        reached(tracer, listener, f"t.{unique}")
    sender.pub(f"{unique}.all", "x", headers={DEST: f"t.{unique}", ONLY: only})
    found = events(tracer, 3)
    ways = {
        "s0": {"s0": "s0", "s1": "s0", "l0": "s0"},
        "s1": {"s1": "s1", "s0": "s1", "l0": "s0"},
        "l0": {"l0": "l0", "s0": "l0", "s1": "s0"},
    }[origin]
    assert {event["server"]["name"] for event in found.values()} == {"s0", "s1", "l0"}
    assert found[""]["server"]["name"] == origin
    for name, before in ways.items():
        hop = "" if name == origin else followed(found, name)
        event = found[hop]
        assert event["server"]["name"] == name
        kind = CLIENT if name == origin else LEAF if "l0" in (name, before) else ROUTER
        came = "acc on " + origin if name == origin else before
        onward = [each for each, last in ways.items() if last == name and each != name]
        assert steps(event) == sorted(
            [
                ("in", kind, came, ""),
                ("eg", CLIENT, f"acc on {name}", f"{unique}.all"),
                *(("eg", LEAF if "l0" in (name, each) else ROUTER, each, "") for each in onward),
            ]
        )
        assert event.get("hops", 0) == len(onward)
        if name != origin:
            parent = found[hop.rpartition(".")[0]]
            assert parent["server"]["name"] == before
    for listener in listeners.values():
        bodies = [frame.body for frame in listener.sync() if isinstance(frame, Msg)]
        assert bodies == ([b"x"] if only == "false" else [])


def reached(listener: Wire, sender: Wire, subject: str) -> None:
    """Return when what `sender` publishes reaches a listener that is subscribed; nothing stays unread."""

    def arrives() -> bool:
        sender.pub(subject, "probe")
        sender.sync()
        return any(isinstance(frame, Msg) for frame in listener.sync())

    eventually(arrives)
    sender.pub(subject, "end")
    while listener.msg().body != b"end":
        pass


@pytest.mark.parametrize("server", ["s1", "l0"])
def test_a_traced_request_is_followed_into_another_account(login: Login, unique: str, server: str) -> None:
    asker, service = login("s0", "other"), login(server, "acc")
    service.sub(f"help.{unique}", "1", "q")
    service.sync()
    inbox = asker.inbox()
    asker.sub(f"t.{unique}", "t")

    def serves() -> bool:
        asker.pub(f"ask.{unique}", "probe", reply=inbox)
        asker.sync()
        return any(isinstance(frame, Msg) for frame in service.sync())

    eventually(serves)
    asker.sync()
    asker.pub(f"ask.{unique}", "x", reply=inbox, headers={DEST: f"t.{unique}", ONLY: "true"})
    delivered = ("eg", CLIENT, f"acc on {server}", f"help.{unique}")
    found = events(asker, 3)  # the leaf imports the service, too
    assert [(e["type"], e.get("acc", "")) for e in found[""]["events"]][:2] == [
        ("in", "OTHER"),
        ("si", "ACC"),
    ]
    there = [event for hop, event in found.items() if hop and event["server"]["name"] == server]
    assert there
    assert all(delivered in steps(event) for event in there)
    assert all(frame.body == b"probe" for frame in service.sync() if isinstance(frame, Msg))


@pytest.mark.parametrize("server", ["s1", "l0"])
def test_the_trace_of_a_request_ends_where_it_is_not_allowed(login: Login, unique: str, server: str) -> None:
    asker, service = login("s0", "other"), login(server, "acc")
    service.sub(f"dark.{unique}", "1")
    service.sync()
    asker.sub(f"t.{unique}", "t")

    def serves() -> bool:
        asker.pub(f"hidden.{unique}", "probe")
        asker.sync()
        return any(isinstance(frame, Msg) for frame in service.sync())

    eventually(serves)
    asker.sync()
    asker.pub(f"hidden.{unique}", "x", headers={DEST: f"t.{unique}"})
    asker.pub(f"hidden.{unique}", "end")
    found = events(asker, 2)  # the leaf imports the service, too
    assert [(e["type"], e.get("acc", "")) for e in found[""]["events"]][:2] == [
        ("in", "OTHER"),
        ("si", "ACC"),
    ]
    for event in found.values():
        assert {e.get("acc", "OTHER") for e in event["events"] if e["type"] == "eg"} <= {"OTHER"}
    while (frame := service.msg()).body != b"end":
        if frame.body == b"x":
            assert frame.headers[DEST] == "trace disabled"


HUB = """
listen: 127.0.0.1:<client>
server_name: hub
accounts { ACC: { users: [
    { user: acc, password: acc }
    { user: narrow, password: narrow, permissions: { publish: ["ok.>"], subscribe: [">"] } }
] } }
leafnodes { listen: 127.0.0.1:<leaf> }
"""
SPOKE = """
listen: 127.0.0.1:<client>
server_name: spoke
leafnodes { remotes: [{ url: "nats-leaf://narrow:narrow@127.0.0.1:@hub@" }] }
"""


@pytest.mark.parametrize("hub", ["reference", "pyjs"])
def test_a_hub_that_does_not_permit_the_destination_gets_the_message(unique: str, hub: str) -> None:
    """And the client that chose it cannot cut the connection."""
    pair = Pair(hub, "pyjs", HUB, SPOKE)
    try:
        listener, sender = pair.hub.connect(**{"user": "acc", "pass": "acc"}), pair.leaf.connect()
        heard(listener, sender, f"ok.{unique}")
        listener.sub(f"ok.{unique}", "1")
        listener.sync()
        reached(listener, sender, f"ok.{unique}")
        sender.sub(f"t.{unique}", "t")
        for only in ("true", "false"):
            sender.pub(f"ok.{unique}", only, headers={DEST: f"t.{unique}", ONLY: only})
            (event,) = events(sender, 1).values()
            assert event["events"][1]["error"]
        sender.pub(f"ok.{unique}", "end")
        assert [listener.msg().body for _ in range(2)] == [b"false", b"end"]
        assert "Leafnode connection closed" not in pair.leaf.log()
        listener.close()
        sender.close()
    finally:
        pair.close()


def test_a_trace_header_of_others_goes_along(login: Login, unique: str) -> None:
    """`traceparent` asks every server for a trace, each by the configuration of its account."""
    sender, listener = login("s0", "acc"), login("s1", "acc")
    heard(listener, sender, f"{unique}.a")
    listener.sub(f"{unique}.a", "1")
    tracer = login("s0", "acc")
    tracer.sub("acc.traces", "t")
    tracer.sync()
    reached(tracer, listener, "acc.traces")
    reached(listener, sender, f"{unique}.a")
    sender.pub(f"{unique}.a", "x", headers={"traceparent": PARENT})
    found = events(tracer, 2)
    assert [event["server"]["name"] for _, event in sorted(found.items())] == ["s0", "s1"]
    assert listener.msg().headers["traceparent"] == PARENT
