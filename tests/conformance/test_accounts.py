"""Accounts are separate; exported and imported streams and services cross as configured."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from lib.process import ServerProcess
from lib.wire import Msg, Wire

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
accounts {
  SYS { users: [{ user: SYS, password: p }] }
  EX {
    users: [{ user: EX, password: p }]
    exports: [
      { stream: "pub.>" }
      { stream: "priv.>", accounts: [IM] }
      { service: "svc.one" }
      { service: "svc.stream", response_type: stream }
      { service: "svc.chunked", response_type: chunked }
      { service: "svc.wild.*" }
      { service: "svc.deep.>" }
      { service: "svc.order.*.*" }
      { service: "svc.priv", accounts: [IM] }
      { service: "svc.short", response_threshold: "20ms", response_type: stream }
    ]
  }
  IM {
    users: [{ user: IM, password: p }]
    imports: [
      { stream: { account: EX, subject: "pub.plain" } }
      { stream: { account: EX, subject: "pub.pre.>" }, prefix: "from.ex" }
      { stream: { account: EX, subject: "pub.to.*" }, to: "moved.*" }
      { stream: { account: EX, subject: "pub.swap.*.*" }, to: "swapped.$2.$1" }
      { stream: { account: EX, subject: "priv.>" } }
      { service: { account: EX, subject: "svc.one" } }
      { service: { account: EX, subject: "svc.stream" }, to: "local.stream" }
      { service: { account: EX, subject: "svc.chunked" } }
      { service: { account: EX, subject: "svc.wild.*" }, to: "wild.*.here" }
      { service: { account: EX, subject: "svc.deep.>" } }
      { service: { account: EX, subject: "svc.order.*.*" }, to: "order.$2.$1" }
      { service: { account: EX, subject: "svc.priv" } }
      { service: { account: EX, subject: "svc.short" } }
    ]
  }
  SHARE {
    users: [{ user: SHARE, password: p }]
    imports: [ { service: { account: EX, subject: "svc.one" }, share: true } ]
  }
  CHAIN {
    users: [{ user: CHAIN, password: p }]
    exports: [{ service: "chain.in" }, { stream: "chain.out" }]
    imports: [{ service: { account: EX, subject: "svc.one" }, to: "chain.in" }]
  }
  END {
    users: [{ user: END, password: p }]
    imports: [{ service: { account: CHAIN, subject: "chain.in" }, to: "end" }]
  }
  MAP {
    users: [{ user: MAP, password: p }]
    mappings: {
      "old.name": "new.name"
      "swap.*.*": "swapped.$2.$1"
      "part.*": "part.{{partition(3,1)}}.{{wildcard(1)}}"
      "split.*": "split.{{splitfromleft(1,2)}}"
      "half": [{ destination: "half.a", weight: 50% }, { destination: "half.b", weight: 50% }]
      "drop": [{ destination: "kept", weight: 0% }]
    }
  }
}
system_account: SYS
"""

Login = Callable[[str], Wire]


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Login:
    server = serve(CONFIG)
    return lambda user: server.connect(**{"user": user, "pass": "p"})


def heard(wire: Wire) -> list[tuple[str, bytes]]:
    return [(m.subject, m.body) for m in wire.sync() if isinstance(m, Msg)]


def test_accounts_do_not_hear_each_other(login: Login, unique: str) -> None:
    with login("EX") as one, login("IM") as other:
        other.sub(f"{unique}.>")
        other.sync()
        one.pub(f"{unique}.a", "x")
        one.sync()
        assert heard(other) == []


@pytest.mark.parametrize(
    ("published", "listens", "shown"),
    [
        ("pub.plain", "pub.plain", "pub.plain"),
        ("pub.plain", "pub.*", "pub.plain"),
        ("pub.plain", ">", "pub.plain"),
        ("pub.pre.a", "from.ex.pub.pre.a", "from.ex.pub.pre.a"),
        ("pub.pre.a.b", "from.ex.pub.>", "from.ex.pub.pre.a.b"),
        ("pub.to.x", "moved.x", "moved.x"),
        ("pub.to.x", "moved.*", "moved.x"),
        ("pub.swap.1.2", "swapped.2.1", "swapped.2.1"),
        ("pub.swap.1.2", "swapped.>", "swapped.2.1"),
        ("priv.a", "priv.a", "priv.a"),
    ],
)
def test_an_imported_stream_is_heard_under_its_local_name(
    login: Login, published: str, listens: str, shown: str
) -> None:
    with login("EX") as exporter, login("IM") as importer:
        importer.sub(listens)
        importer.sync()
        exporter.pub(published, "x", "reply.to")
        exporter.sync()
        (message,) = [m for m in importer.sync() if isinstance(m, Msg)]
        assert (message.subject, message.body) == (shown, b"x")
        assert message.reply == "reply.to"


@pytest.mark.parametrize("subject", ["pub.other", "pub.to.a.b", "pub.pre"])
def test_what_is_not_imported_is_not_heard(login: Login, subject: str) -> None:
    with login("EX") as exporter, login("IM") as importer:
        importer.sub(">")
        importer.sync()
        exporter.pub(subject, "x")
        exporter.sync()
        assert heard(importer) == []


def test_an_imported_stream_does_not_carry_back(login: Login) -> None:
    with login("EX") as exporter, login("IM") as importer:
        exporter.sub(">")
        exporter.sync()
        importer.pub("pub.plain", "x")
        importer.sync()
        assert heard(exporter) == []


def test_queue_members_of_an_imported_stream_share(login: Login) -> None:
    with login("EX") as exporter, login("IM") as importer:
        importer.sub("pub.plain", "1", "q")
        importer.sub("pub.plain", "2", "q")
        importer.sync()
        for _ in range(30):
            exporter.pub("pub.plain", "x")
        exporter.sync()
        assert len(heard(importer)) == 30


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("svc.one", "svc.one"),
        ("wild.w.here", "svc.wild.w"),
        ("svc.deep.a.b", "svc.deep.a.b"),
        ("order.b.a", "svc.order.a.b"),
        ("svc.priv", "svc.priv"),
    ],
)
def test_an_imported_service_is_asked_under_its_local_name(login: Login, asked: str, served: str) -> None:
    with login("EX") as exporter, login("IM") as importer:
        exporter.sub("svc.>")
        exporter.sync()
        reply = importer.inbox()
        importer.pub(asked, "question", reply)
        importer.sync()
        question = exporter.msg()
        assert question.subject == served
        assert question.body == b"question"
        assert question.reply.startswith("_R_.")
        exporter.pub(question.reply, "answer")
        answer = importer.answer(reply)
        assert (answer.subject, answer.body) == (reply, b"answer")


def test_a_request_through_an_import_names_the_account(login: Login) -> None:
    with login("EX") as exporter, login("IM") as importer:
        exporter.sub("svc.one")
        exporter.sync()
        importer.pub("svc.one", "q", importer.inbox())
        importer.sync()
        received = json.loads(exporter.msg().headers["Nats-Request-Info"])
    assert received["acc"] == "IM"
    assert set(received) <= {"acc", "rtt"}


def test_a_sharing_import_shows_who_asks(login: Login) -> None:
    with login("EX") as exporter, login("SHARE") as importer:
        exporter.sub("svc.one")
        exporter.sync()
        importer.pub("svc.one", "q", importer.inbox())
        importer.sync()
        received = json.loads(exporter.msg().headers["Nats-Request-Info"])
    assert received["acc"] == "SHARE"
    assert received["user"] == "SHARE"
    assert received["host"] == "127.0.0.1"
    assert received["server"] == "S"
    assert {"start", "id", "rtt"} <= set(received)


def test_a_singleton_service_answers_once(login: Login) -> None:
    with login("EX") as exporter, login("IM") as importer:
        exporter.sub("svc.one")
        exporter.sync()
        importer.pub("svc.one", "q", importer.inbox())
        importer.sync()
        reply = exporter.msg().reply
        exporter.pub(reply, "1")
        exporter.pub(reply, "2")
        exporter.sync()
        assert [body for _, body in heard(importer)] == [b"1"]


@pytest.mark.parametrize(
    ("asked", "served"), [("local.stream", "svc.stream"), ("svc.chunked", "svc.chunked")]
)
def test_a_streaming_service_answers_many_times(login: Login, asked: str, served: str) -> None:
    with login("EX") as exporter, login("IM") as importer:
        exporter.sub(served)
        exporter.sync()
        importer.pub(asked, "q", importer.inbox())
        importer.sync()
        reply = exporter.msg().reply
        for i in range(3):
            exporter.pub(reply, str(i))
        exporter.sync()
        assert [body for _, body in heard(importer)] == [b"0", b"1", b"2"]


def test_unsub_limits_what_comes_from_another_account(login: Login, implementation: str) -> None:
    with login("EX") as exporter, login("IM") as importer:
        importer.sub("from.ex.>")
        importer.send("UNSUB 1 2\r\n")
        importer.sync()
        for number in range(5):
            exporter.pub(f"pub.pre.{number}", str(number))
        exporter.sync()
        assert len(importer.sync()) == (2 if implementation == "pyjs" else 5)


def test_a_service_nobody_serves_has_no_responders(login: Login) -> None:
    with login("IM") as importer:
        assert importer.request("svc.one", "q").status == "503"


def test_an_imported_service_without_reply_is_delivered_once(login: Login) -> None:
    with login("EX") as exporter, login("IM") as importer:
        exporter.sub("svc.one")
        exporter.sync()
        importer.pub("svc.one", "no reply")
        importer.sync()
        message = exporter.msg()
        assert (message.body, message.reply) == (b"no reply", "")


def test_queue_members_of_a_service_share(login: Login) -> None:
    with login("EX") as exporter, login("IM") as importer:
        exporter.sub("svc.one", "1", "q")
        exporter.sub("svc.one", "2", "q")
        exporter.sync()
        for _ in range(30):
            importer.pub("svc.one", "x", importer.inbox())
        importer.sync()
        assert len(heard(exporter)) == 30


def test_a_service_is_imported_through_a_chain(login: Login) -> None:
    with login("EX") as exporter, login("END") as end:
        exporter.sub("svc.one")
        exporter.sync()
        reply = end.inbox()
        end.pub("end", "q", reply)
        end.sync()
        question = exporter.msg()
        assert question.subject == "svc.one"
        exporter.pub(question.reply, "answer")
        assert end.answer(reply).body == b"answer"


def test_the_exporter_may_ask_its_own_service(login: Login) -> None:
    with login("EX") as exporter:
        exporter.sub("svc.one", "s")
        reply = exporter.inbox()
        exporter.pub("svc.one", "q", reply)
        question = exporter.msg()
        assert question.reply == reply
        exporter.pub(question.reply, "a")
        assert exporter.answer(reply).body == b"a"


@pytest.mark.parametrize(
    ("published", "heard_as"),
    [
        ("old.name", "new.name"),
        ("swap.a.b", "swapped.b.a"),
        ("split.abcdef", "split.ab.cdef"),
        ("plain", "plain"),
    ],
)
def test_mappings_rename(login: Login, published: str, heard_as: str) -> None:
    with login("MAP") as wire:
        wire.sub(">")
        wire.pub(published, "x")
        assert heard(wire) == [(heard_as, b"x")]


def test_partitions_are_the_known_ones(login: Login) -> None:
    with login("MAP") as wire:
        wire.sub("part.>")
        for name in ("a", "b", "c", "d", "orders", "x1"):
            wire.pub(f"part.{name}", "x")
        got = {s.split(".")[2]: s.split(".")[1] for s, _ in heard(wire)}
    assert got == {"a": "1", "b": "1", "c": "2", "d": "1", "orders": "2", "x1": "1"}


def test_weights_divide_and_the_rest_is_dropped(login: Login) -> None:
    with login("MAP") as wire:
        wire.sub(">")
        for _ in range(200):
            wire.pub("half", "x")
        subjects = [s for s, _ in heard(wire)]
        assert len(subjects) == 200
        assert 50 < subjects.count("half.a") < 150
        assert set(subjects) == {"half.a", "half.b"}


def test_queue_and_headers_survive_a_mapping(login: Login) -> None:
    with login("MAP") as wire:
        wire.sub("new.name", "1", "q")
        wire.pub("old.name", "body", "r.r", {"A": "b"})
        message = wire.msg()
    assert (message.subject, message.reply, message.headers, message.body) == (
        "new.name",
        "r.r",
        {"A": "b"},
        b"body",
    )


BAD = {
    "a private export is not for all": """
      EX { users: [{user: a, password: p}], exports: [{ service: "s", accounts: [IM] }] }
      IM { users: [{user: b, password: p}] }
      OTHER { users: [{user: c, password: p}], imports: [{ service: { account: EX, subject: "s" } }] }""",
    "what is not exported cannot be imported": """
      EX { users: [{user: a, password: p}], exports: [{ stream: "s" }] }
      IM { users: [{user: b, password: p}], imports: [{ stream: { account: EX, subject: "t" } }] }""",
    "an unknown account cannot be imported from": """
      IM { users: [{user: b, password: p}], imports: [{ stream: { account: NOPE, subject: "t" } }] }""",
    "services do not import each other in a circle": """
      A { users: [{user: a, password: p}], exports: [{ service: "x" }],
          imports: [{ service: { account: B, subject: "x" } }] }
      B { users: [{user: b, password: p}], exports: [{ service: "x" }],
          imports: [{ service: { account: A, subject: "x" } }] }""",
    "one user name belongs to one account": """
      A { users: [{user: a, password: p}] }
      B { users: [{user: a, password: p}] }""",
}


@pytest.mark.parametrize("case", BAD)
def test_a_server_with_bad_accounts_does_not_start(launch: Callable[[str], ServerProcess], case: str) -> None:
    with pytest.raises(RuntimeError, match="ended with 1"):
        launch("listen: 127.0.0.1:<client>\naccounts {" + BAD[case] + "\n}")
