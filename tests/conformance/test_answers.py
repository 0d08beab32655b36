"""Answers that the server sends are not requests: replies that name the API, acks or the server's services.

The attacks are played on both servers. The reference takes some of these answers as requests; pyjs takes none
(docs/differences.md): `harmed` says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.process import ServerProcess
from lib.wire import Wire

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", domain: hub, max_mem: 10MB, max_file: 10MB }
accounts {
  SYS {
    users: [
      { user: SYS, password: p }
      { user: monitor, password: p, permissions: { publish: "$SYS.REQ.SERVER.PING.>" } }
    ]
  }
  A {
    jetstream: enabled
    users: [
      { user: A, password: p }
      { user: reads, password: p, permissions: {
          publish: ["$JS.API.DIRECT.GET.S", "$JS.API.STREAM.INFO.S", "$JS.API.STREAM.MSG.GET.S"] } }
      { user: pulls, password: p, permissions: { publish: "$JS.API.CONSUMER.MSG.NEXT.S.C" } }
      { user: writes, password: p, permissions: { publish: ["s.>", "copied.>"] } }
      { user: calls, password: p, permissions: { publish: "svc.echo" } }
    ]
    imports: [
      { service: { account: EX, subject: "svc.echo" } }
      { service: { account: B, subject: "$JS.API.>" }, to: "B.API.>" }
      { service: { account: EX, subject: "origin.>" }, to: "EX.API.>" }
      { stream: { account: EX, subject: "deliver.>" } }
      { stream: { account: EX, subject: "news.>" }, to: "$JS.API.>" }
    ]
  }
  B {
    jetstream: enabled
    users: [{ user: B, password: p }]
    exports: [{ service: "$JS.API.>", response_type: stream }]
  }
  EX {
    users: [{ user: EX, password: p }]
    exports: [
      { service: "svc.echo", response_type: stream }
      { service: "origin.>", response_type: stream }
      { stream: "deliver.>" }
      { stream: "news.>" }
    ]
  }
}
system_account: SYS
"""
PURGE = "$JS.API.STREAM.PURGE.V"
DELETE = "$JS.API.STREAM.DELETE.V"

Login = Callable[[str], Wire]


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Login:
    server = serve(CONFIG)
    return lambda user: server.connect(**{"user": user, "pass": "p"})


@pytest.fixture
def api(login: Login) -> Iterator[JetStream]:
    """The API of A, with S, which holds one empty message, its consumer C, and V: two messages to guard."""
    with JetStream(login("A")) as js:
        for name in js.call("STREAM.NAMES")["streams"] or ():
            js.call(f"STREAM.DELETE.{name}")
        js.create("S", subjects=["s.>"], allow_direct=True)
        js.create("V", subjects=["v.>"])
        js.publish("s.empty", "")
        js.publish("v.x", "x")
        js.publish("v.x", "x")
        consumer = {"name": "C", "durable_name": "C", "ack_policy": "explicit"}
        js.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": consumer})
        yield js


def guarded(api: JetStream, name: str = "V") -> int:
    """How many messages are there; -1: the stream is gone."""
    try:
        return int(api.info(name)["state"]["messages"])
    except ApiFailureError:
        return -1


def judge(api: JetStream, implementation: str, harmed: int) -> None:
    """`harmed`: what the attack leaves of V on the reference."""
    if implementation == "pyjs":
        assert guarded(api) == 2
    else:
        eventually(lambda: guarded(api) == harmed, 5)


@pytest.mark.parametrize(
    ("user", "subject", "body", "reply", "harmed"),
    [
        ("reads", "$JS.API.DIRECT.GET.S", '{"seq":1}', DELETE, -1),
        ("reads", "$JS.API.DIRECT.GET.S", '{"seq":1}', PURGE, 0),
        ("reads", "$JS.API.DIRECT.GET.S", '{"seq":9}', DELETE, -1),
        ("reads", "$JS.API.DIRECT.GET.S", "nonsense", DELETE, -1),
        ("reads", "$JS.API.DIRECT.GET.S", '{"seq":1}', "$JS.hub.API.STREAM.DELETE.V", 2),
        ("reads", "$JS.API.STREAM.MSG.GET.S", '{"seq":1}', PURGE, 2),
        ("reads", "$JS.API.STREAM.INFO.S", "", PURGE, 2),
        ("writes", "s.more", "x", PURGE, 2),
        ("pulls", "$JS.API.CONSUMER.MSG.NEXT.S.C", '{"no_wait":true,"batch":2}', PURGE, 0),
    ],
)
def test_an_answer_is_no_request(
    api: JetStream,
    login: Login,
    implementation: str,
    user: str,
    subject: str,
    body: str,
    reply: str,
    harmed: int,
) -> None:
    with login(user) as wire:
        wire.pub(subject, body, reply)
        assert wire.sync() == []
    judge(api, implementation, harmed)


def test_an_answer_is_no_request_of_another_account(
    api: JetStream, login: Login, implementation: str
) -> None:
    with JetStream(login("B")) as other, login("reads") as wire:
        other.create("V", subjects=["v.>"])
        wire.pub("$JS.API.DIRECT.GET.S", '{"seq":1}', "B.API.STREAM.DELETE.V")
        assert wire.sync() == []
        eventually(lambda: (guarded(other) == -1) == (implementation == "reference"), 5)
        if implementation == "pyjs":
            other.call("STREAM.DELETE.V")


def test_what_is_republished_is_no_request(api: JetStream, login: Login, implementation: str) -> None:
    api.create("R", subjects=["copied.>"], republish={"src": "copied.*", "dest": DELETE})
    with JetStream(login("writes")) as wire:
        wire.publish("copied.x", "")
    judge(api, implementation, -1)


def test_what_a_consumer_delivers_is_no_request(api: JetStream) -> None:
    config = {"name": "P", "deliver_subject": DELETE, "ack_policy": "none"}
    api.call("CONSUMER.CREATE.S.P", {"stream_name": "S", "config": config})
    info = api.call("CONSUMER.INFO.S.P")
    assert (info["num_pending"], info["delivered"]["consumer_seq"]) == (1, 0)
    assert guarded(api) == 2


def test_what_a_consumer_delivers_is_no_ack(api: JetStream) -> None:
    inbox = api.wire.inbox()
    api.wire.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "", inbox)
    ack = api.wire.msg().reply
    config = {"name": "P", "deliver_subject": ack, "ack_policy": "none"}
    api.call("CONSUMER.CREATE.S.P", {"stream_name": "S", "config": config})
    api.publish("s.empty", "")
    assert api.call("CONSUMER.INFO.S.C")["num_ack_pending"] == 1


def test_a_response_through_an_import_is_no_request(api: JetStream, login: Login) -> None:
    with login("EX") as serves, login("calls") as wire:
        serves.sub("svc.echo")
        serves.sync()
        wire.pub("svc.echo", "", DELETE)
        assert wire.sync() == []
        serves.pub(serves.msg().reply, "")
        assert serves.sync() == []
    assert guarded(api) == 2


def test_imported_messages_are_no_requests(api: JetStream, login: Login) -> None:
    with login("EX") as wire:
        wire.pub("news.STREAM.DELETE.V", "")
        assert wire.sync() == []
    assert guarded(api) == 2


def test_an_origin_is_not_answered_with_requests(api: JetStream, login: Login, implementation: str) -> None:
    """The mirror's origin is an account that plays the API, and asks for flow control where it likes."""
    with login("EX") as origin:
        origin.sub("origin.CONSUMER.>")
        origin.sync()
        api.create("M", mirror={"name": "O", "external": {"api": "EX.API", "deliver": "deliver.m"}})
        asked = origin.msg()
        config = asked.json()["config"]
        none = {"consumer_seq": 0, "stream_seq": 0}
        answer = {"stream_name": "O", "name": config["name"], "config": config, "delivered": none}
        kind = "io.nats.jetstream.api.v1.consumer_create_response"
        origin.pub(asked.reply, json.dumps(answer | {"type": kind, "ack_floor": none, "num_pending": 0}))
        eventually(lambda: api.info("M")["mirror"]["active"] >= 0, 5)
        block = "NATS/1.0 100 FlowControl Request\r\n\r\n"
        origin.send(f"HPUB {config['deliver_subject']} {DELETE} {len(block)} {len(block)}\r\n{block}\r\n")
        assert origin.sync() == []
    judge(api, implementation, -1)


def test_a_system_services_answer_is_no_request(login: Login, implementation: str) -> None:
    with login("SYS") as hears, login("monitor") as wire:
        reload = f"$SYS.REQ.SERVER.{hears.info['server_id']}.RELOAD"
        hears.sub(reload)
        hears.sync()
        wire.pub("$SYS.REQ.SERVER.PING.IDZ", "", reload)
        assert wire.sync() == []
        if implementation == "pyjs":
            assert hears.sync() == []
        else:
            assert hears.msg().subject == reload
