"""The events about traced messages, on one server: ADR-41."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Msg, Wire, header_block
from pyjs.protocol.s2 import Unframer

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
max_payload: 4096
jetstream { store_dir: "<store>", max_mem: 10MB, max_file: 10MB }
accounts {
  A {
    jetstream: enabled
    users: [
      { user: a, password: p }
      { user: few, password: p, permissions: {
          publish: { allow: ["ok.>", "t.>"], deny: "ok.denied" }
          subscribe: { allow: ["ok.>"], deny: "ok.unheard" }
      } }
    ]
    mappings { "map.*": "to.{{wildcard(1)}}", "svc.mapped": "svc.found" }
    exports: [{ stream: "out.>" }, { service: "svc.>", allow_trace: true }, { service: "dark.>" }]
    msg_trace: { dest: "t.account", sampling: 100 }
  }
  B {
    users: [{ user: b, password: p }]
    imports: [
      { stream: { account: A, subject: "out.>" }, prefix: "from", allow_trace: true }
      { service: { account: A, subject: "svc.>" }, to: "ask.>" }
      { service: { account: A, subject: "dark.>" } }
    ]
  }
  C {
    users: [{ user: c, password: p }]
    imports: [{ stream: { account: A, subject: "out.>" }, prefix: "hidden" }]
  }
}
"""
DEST, ONLY = "Nats-Trace-Dest", "Nats-Trace-Only"
DISABLED = "trace disabled"
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{}"
Login = Callable[[str], Wire]
Entry = dict[str, Any]


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Iterator[Login]:
    """Clients that are called as their user."""
    server, wires = serve(CONFIG), []

    def connect(user: str, **more: Any) -> Wire:
        wires.append(server.connect(user=user, name=user, **{"pass": "p"}, **more))
        return wires[-1]

    yield connect
    for wire in wires:
        wire.close()


@pytest.fixture
def tracer(login: Login, unique: str) -> Wire:
    """Hears the traces to `t.<unique>` in the account A."""
    wire = login("a")
    wire.sub(f"t.{unique}", "t")
    wire.sync()
    return wire


def events(tracer: Wire, count: int = 1) -> list[dict[str, Any]]:
    """The next events, which come a little later than what they tell of."""
    found: list[dict[str, Any]] = []

    def all_came() -> bool:
        found.extend(frame.json() for frame in tracer.sync() if isinstance(frame, Msg) and frame.sid == "t")
        return len(found) >= count

    eventually(all_came)
    return found


def entries(tracer: Wire) -> list[Entry]:
    """The entries of the next event, without times and ids."""
    (event,) = events(tracer)
    assert event["server"]["name"] == "S"
    found: list[Entry] = event["events"]
    assert found[0]["type"] == "in"
    for entry in found:
        assert entry.pop("ts").startswith("2")
        entry.pop("cid", None)
    return ordered(*found)


def ordered(*found: Entry) -> list[Entry]:
    return sorted(found, key=lambda entry: (entry["type"] != "in", json.dumps(entry, sort_keys=True)))


def came_in(subject: str, user: str = "a", account: str = "A", **more: Any) -> Entry:
    return {"type": "in", "kind": 0, "name": user, "acc": account, "subj": subject, **more}


def went_to(user: str, subject: str, **more: Any) -> Entry:
    return {"type": "eg", "kind": 0, "name": user, "sub": subject, **more}


@pytest.fixture(params=["true", "false"])
def only(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def headers(unique: str, only: str) -> dict[str, str]:
    return {DEST: f"t.{unique}", ONLY: only}


def test_deliveries_to_clients(login: Login, tracer: Wire, unique: str, headers: dict[str, str]) -> None:
    listener, sender = login("few"), login("a")
    listener.sub(f"ok.{unique}", "1")
    listener.sub("ok.*", "2")
    listener.sub(f"ok.{unique}", "3", "workers")
    listener.sync()
    sender.pub(f"ok.{unique}", "x", headers=headers)
    assert entries(tracer) == ordered(
        came_in(f"ok.{unique}"),
        went_to("few", "ok.*"),
        went_to("few", f"ok.{unique}"),
        went_to("few", f"ok.{unique}", queue="workers"),
    )
    assert len([f for f in listener.sync() if isinstance(f, Msg)]) == (3 if headers[ONLY] == "false" else 0)


def test_the_request_is_shown_as_it_came(login: Login, tracer: Wire, unique: str) -> None:
    block = b"NATS/1.0\r\nB: 2 \r\nB:1\r\nEmpty:\r\n%b:t.%b\r\nA: <x>\r\n\r\n" % (
        DEST.encode(),
        unique.encode(),
    )
    login("a").send(
        b"HPUB nobody.%b %d %d\r\n%bxy\r\n" % (unique.encode(), len(block), len(block) + 2, block)
    )
    (event,) = events(tracer)
    assert event["request"]["msgsize"] == len(block) + 2
    assert event["request"]["header"]["A"] == ["<x>"]
    assert event["request"]["header"]["B"] == ["2", "1"]
    assert "Empty" not in event["request"]["header"]
    assert [entry["type"] for entry in event["events"]] == ["in"]


def test_a_mapping(login: Login, tracer: Wire, unique: str, headers: dict[str, str]) -> None:
    login("a").pub(f"map.{unique}", "x", headers=headers)
    assert entries(tracer) == ordered(came_in(f"map.{unique}"), {"type": "sm", "to": f"to.{unique}"})


def test_nobody_to_receive_it(login: Login, tracer: Wire, unique: str, headers: dict[str, str]) -> None:
    sender = login("a")
    inbox = sender.inbox()
    sender.pub(unique, "x", inbox, headers)
    assert entries(tracer) == [came_in(unique)]
    assert sender.answer(inbox).status == "503"


def test_a_requester_is_not_told_that_nobody_responds(
    login: Login, tracer: Wire, unique: str, headers: dict[str, str]
) -> None:
    listener, sender = login("few"), login("a")
    listener.sub(f"ok.{unique}")
    listener.sync()
    sender.pub(f"ok.{unique}", "x", sender.inbox(), headers)
    entries(tracer)
    assert sender.sync() == []


@pytest.mark.parametrize(
    ("subject", "reply", "error"),
    [
        ("ok.denied", "", 'Permissions Violation for Publish to "ok.denied"'),
        ("_GR_.x", "", 'Permissions Violation for Publish to "_GR_.x"'),
        ("ok.x", "_R_.x", 'Permissions Violation for Publish with Reply of "_R_.x"'),
    ],
)
def test_a_message_that_is_refused(
    login: Login, tracer: Wire, headers: dict[str, str], subject: str, reply: str, error: str
) -> None:
    sender = login("few")
    sender.pub(subject, "x", reply, headers)
    assert entries(tracer) == [came_in(subject, "few", error=error)]
    assert sender.sync() == [f"-ERR '{error}'".encode()]


def test_a_message_that_is_too_large(
    login: Login, tracer: Wire, unique: str, headers: dict[str, str]
) -> None:
    sender, block = login("a"), header_block(headers)
    sender.send(b"HPUB %b %d 5000\r\n%b" % (unique.encode(), len(block), block))
    assert entries(tracer) == [came_in(unique, error="maximum payload exceeded")]
    assert sender.ends()[-1] == b"-ERR 'Maximum Payload Violation'"


def test_deliveries_that_are_refused(
    login: Login, tracer: Wire, unique: str, headers: dict[str, str]
) -> None:
    alone, few = login("a", echo=False), login("few")  # type: ignore[call-arg]
    alone.sub(unique)
    alone.pub(unique, "x", headers=headers)
    error = "Not delivered because of no echo"
    assert entries(tracer) == ordered(came_in(unique), went_to("a", unique, error=error))
    few.sub("ok.>")
    few.pub("ok.unheard", "x", headers=headers)
    error = "Not delivered because subscription denies this subject"
    assert entries(tracer) == ordered(came_in("ok.unheard", "few"), went_to("few", "ok.>", error=error))
    assert [frame for wire in (alone, few) for frame in wire.sync() if isinstance(frame, Msg)] == []


@pytest.mark.parametrize("dest", ["secret", "_GR_.x", "$NRG.x"])
def test_a_destination_that_is_not_permitted(login: Login, unique: str, only: str, dest: str) -> None:
    listener, sender = login("a"), login("few")
    listener.sub("ok.>")
    listener.sync()
    sender.pub(f"ok.{unique}", "x", headers={DEST: dest, ONLY: only})
    assert sender.sync() == [f"-ERR 'Permissions Violation for Publish to \"{dest}\"'".encode()]
    assert listener.sync() == []


def test_a_stream_of_another_account(
    login: Login, tracer: Wire, unique: str, headers: dict[str, str], implementation: str
) -> None:
    open_, hidden, sender = login("b"), login("c"), login("a")
    open_.sub(f"from.out.{unique}")
    hidden.sub(f"hidden.out.{unique}")
    open_.sync()
    hidden.sync()
    sender.pub(f"out.{unique}", "x", headers=headers)
    told = f"hidden.out.{unique}" if implementation == "reference" else f"out.{unique}"
    assert entries(tracer) == ordered(
        came_in(f"out.{unique}"),
        went_to("b", f"out.{unique}", acc="B"),
        {"type": "se", "acc": "B", "to": f"from.out.{unique}"},
        {"type": "se", "acc": "C", "to": told},
    )
    if headers[ONLY] == "false":
        assert open_.msg().headers[DEST] == headers[DEST]
        assert hidden.msg().headers[DEST] == (headers[DEST] if implementation == "reference" else DISABLED)
    assert open_.sync() == hidden.sync() == []


@pytest.fixture
def abroad(login: Login, unique: str) -> Wire:
    """Asks the services of A, and hears its own traces."""
    wire = login("b")
    wire.sub(f"t.{unique}", "t")
    wire.sub("answers", "r")
    wire.sync()
    return wire


def test_a_service_of_another_account(login: Login, abroad: Wire, headers: dict[str, str], only: str) -> None:
    service = login("a")
    service.sub("svc.*", "1", "group")
    service.sync()
    abroad.pub("ask.mapped", "x", "answers", headers)
    assert entries(abroad) == ordered(
        came_in("ask.mapped", "b", "B"),
        went_to("a", "svc.*", acc="A", queue="group"),
        {"type": "si", "acc": "A", "from": "ask.mapped", "to": "svc.found"},
    )
    asked = [frame for frame in service.sync() if isinstance(frame, Msg)]
    assert [frame.subject for frame in asked] == (["svc.found"] if only == "false" else [])
    for question in asked:
        assert question.headers[DEST].startswith("_R_.")
        service.pub(question.reply, "answer")
        assert abroad.msg().body == b"answer"


def test_a_service_that_does_not_allow_traces(
    login: Login, abroad: Wire, headers: dict[str, str], only: str
) -> None:
    service = login("a")
    service.sub("dark.x", "1")
    service.sync()
    abroad.pub("dark.x", "x", "answers", headers)
    assert entries(abroad) == ordered(
        came_in("dark.x", "b", "B"),
        {"type": "si", "acc": "A", "from": "dark.x", "to": "dark.x"},
    )
    if only == "true":
        assert service.sync() == []
        return
    question = service.msg()
    assert question.headers[DEST] == DISABLED
    service.pub(question.reply, "answer")
    assert abroad.msg().body == b"answer"


def test_the_trace_of_an_answer_ends_at_the_asker(
    login: Login, abroad: Wire, tracer: Wire, unique: str, implementation: str
) -> None:
    service = login("a")
    service.sub("svc.y", "1")
    service.sync()
    abroad.pub("ask.y", "x", "answers")
    question = service.msg()
    service.pub(question.reply, "answer", headers={DEST: f"t.{unique}"})
    answer = abroad.msg()
    assert (answer.body, answer.headers[DEST]) == (b"answer", DISABLED)
    told = "answers" if implementation == "reference" else question.reply
    assert entries(tracer) == ordered(
        came_in(question.reply),
        {"type": "si", "acc": "B", "from": question.reply, "to": told},
    )


@pytest.mark.parametrize("encoding", ["gzip", "snappy", "S2", "other"])
def test_events_in_an_encoding(login: Login, tracer: Wire, unique: str, encoding: str) -> None:
    login("a").pub(unique, "x", headers={DEST: f"t.{unique}", "Accept-Encoding": encoding})
    event = tracer.msg()
    used = event.headers["Content-Encoding"]
    assert used == {"gzip": "gzip", "other": "identity"}.get(encoding, "snappy")
    body = event.body
    if used == "gzip":
        body = gzip.decompress(body)
    elif used == "snappy":
        body = Unframer().feed(body)
    assert json.loads(body)["events"][0]["subj"] == unique


@pytest.fixture
def by_account(login: Login) -> Wire:
    """Hears the traces that the account A is configured to have."""
    wire = login("a")
    wire.sub("t.account", "t")
    wire.sync()
    return wire


@pytest.mark.parametrize(
    ("name", "flags", "more", "traced"),
    [
        ("traceparent", "01", {}, True),
        ("TraceParent", "25", {}, True),
        ("traceparent", "00", {}, False),
        ("traceparent", "ff", {}, False),
        ("traceparent", "1", {}, False),
        ("traceparent", "01", {ONLY: "true"}, True),  # it is delivered all the same
        ("traceparent", "01", {DEST: DISABLED}, False),
        ("traceparent", "01", {"Nats-Trace-Origin-Account": "B"}, False),
    ],
)
def test_the_header_of_other_tracers(
    login: Login, by_account: Wire, name: str, flags: str, more: dict[str, str], traced: bool
) -> None:
    listener, sender = login("few"), login("a")
    listener.sub("ok.parent")
    listener.sync()
    sender.pub("ok.parent", "x", headers={name: TRACEPARENT.format(flags), **more})
    assert listener.msg().headers[name] == TRACEPARENT.format(flags)
    if not traced:
        sender.pub("ok.parent", "end", headers={name: TRACEPARENT.format("01")})
        assert events(by_account)[0]["events"][0]["subj"] == "ok.parent"
        assert by_account.sync() == []
        return
    assert entries(by_account) == ordered(came_in("ok.parent"), went_to("few", "ok.parent"))


def test_a_destination_comes_before_that_of_the_account(
    login: Login, by_account: Wire, tracer: Wire, unique: str
) -> None:
    headers = {DEST: f"t.{unique}", "traceparent": TRACEPARENT.format("01")}
    login("a").pub(unique, "x", headers=headers)
    assert entries(tracer) == [came_in(unique)]
    assert by_account.sync() == []


def test_an_account_without_a_destination_has_no_traces_of_others(login: Login, unique: str) -> None:
    everything, sender = login("b"), login("b")
    everything.sub(">")
    everything.sync()
    sender.pub(unique, "x", headers={"traceparent": TRACEPARENT.format("01")})
    sender.pub(unique, "end")
    assert [everything.msg().body for _ in range(2)] == [b"x", b"end"]


# --- JetStream


@pytest.fixture
def js(login: Login) -> Iterator[JetStream]:
    with JetStream(login("a")) as api:
        yield api


def stored(js: JetStream, stream: str) -> int:
    return int(js.info(stream)["state"]["last_seq"])


def test_a_message_that_a_stream_stores(
    js: JetStream, login: Login, tracer: Wire, unique: str, headers: dict[str, str], only: str
) -> None:
    source, dest = f"{unique}.a", f"{unique}.b"
    js.create(unique, subjects=[source], subject_transform={"src": source, "dest": dest})
    login("a").pub(source, "x", headers=headers)
    assert entries(tracer) == ordered(came_in(source), {"type": "js", "stream": unique, "subject": dest})
    assert stored(js, unique) == (1 if only == "false" else 0)
    if only == "false":  # it is not traced again when it is delivered
        js.wire.sub(f"d.{unique}", "d")
        js.consumer(unique, "C", deliver_subject=f"d.{unique}", ack_policy="none")
        delivered = js.wire.msg()
        while delivered.sid != "d":
            delivered = js.wire.msg()
        assert delivered.headers[DEST] == DISABLED
        assert tracer.sync() == []


def test_a_message_that_no_consumer_wants(
    js: JetStream, login: Login, tracer: Wire, unique: str, headers: dict[str, str]
) -> None:
    js.create(unique, subjects=[unique], retention="interest")
    login("a").pub(unique, "x", headers=headers)
    told = {"type": "js", "stream": unique, "subject": unique, "nointerest": True}
    assert entries(tracer) == ordered(came_in(unique), told)


@pytest.mark.parametrize(
    ("more", "body"),
    [
        ({"Nats-Expected-Stream": "other"}, "x"),
        ({"Nats-Msg-Id": "known"}, "x"),
        ({"Nats-Expected-Last-Sequence": "10"}, "x"),
        ({"Nats-Expected-Last-Msg-Id": "10"}, "x"),
        ({"Nats-Rollup": "wrong"}, "x"),
        ({}, "x" * 300),
    ],
)
def test_a_message_that_a_stream_refuses(
    js: JetStream,
    login: Login,
    tracer: Wire,
    unique: str,
    headers: dict[str, str],
    more: dict[str, str],
    body: str,
) -> None:
    js.create(unique, subjects=[unique], allow_rollup_hdrs=True, max_msg_size=200)
    js.publish(unique, b"x", {"Nats-Msg-Id": "known"})
    login("a").pub(unique, body, headers={**headers, **more})
    first, second = entries(tracer)
    assert first == came_in(unique)
    assert second.pop("error")
    assert second == {"type": "js", "stream": unique}
    assert stored(js, unique) == 1
