"""What a user may publish and subscribe: allow, deny, wildcards, queues, allow_responses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from lib.process import ServerProcess
from lib.wire import Frame, Msg, Wire

CONFIG = """
listen: 127.0.0.1:<client>
authorization {
  default_permissions: { publish: "default.>", subscribe: ["default.>", "_INBOX.>"] }
  users: [
    { user: all, password: p, permissions: { publish: ">", subscribe: ">" } }
    { user: bare, password: p }
    { user: limited, password: p, permissions: {
        publish: { allow: ["ok.>", "some.*"], deny: ["ok.no", "some.secret"] }
        subscribe: { allow: ["ok.>", "_INBOX.>"], deny: ["ok.no", "ok.deep.>"] } } }
    { user: denied, password: p, permissions: { publish: { deny: "no.>" }, subscribe: { deny: "no.*" } } }
    { user: queues, password: p, permissions: {
        subscribe: { allow: ["free", "work v1", "work v2.*", "jobs.> *.dev"], deny: ["> *.prod"] } } }
    { user: service, password: p, permissions: {
        publish: { allow: "none" }, subscribe: "svc.>", allow_responses: true } }
    { user: twice, password: p, permissions: {
        subscribe: "svc2.>", allow_responses: { max: 2, expires: "1m" } } }
    { user: brief, password: p, permissions: {
        subscribe: "svc3.>", allow_responses: { max: 100, expires: "10ms" } } }
  ]
}
"""


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Callable[[str], Wire]:
    server = serve(CONFIG)
    return lambda user: server.connect(**{"user": user, "pass": "p"})


def no_publish(subject: str) -> list[Frame]:
    return [f"-ERR 'Permissions Violation for Publish to \"{subject}\"'".encode()]


def no_subscribe(subject: str, queue: str = "") -> list[Frame]:
    using = f' using queue "{queue}"' if queue else ""
    return [f"-ERR 'Permissions Violation for Subscription to \"{subject}\"{using}'".encode()]


@pytest.mark.parametrize(
    ("user", "subject", "ok"),
    [
        ("limited", "ok.a", True),
        ("limited", "ok.a.b", True),
        ("limited", "ok", False),
        ("limited", "ok.no", False),
        ("limited", "some.thing", True),
        ("limited", "some.thing.more", False),
        ("limited", "some.secret", False),
        ("limited", "ok.", False),
        ("limited", "ok..a", False),
        ("denied", "no..a", True),
        ("limited", "other", False),
        ("denied", "anything", True),
        ("denied", "no.a.b", False),
        ("bare", "default.a", True),
        ("bare", "other", False),
        ("all", "default.a", True),
        ("all", "x.y", True),
    ],
)
def test_publish(login: Callable[[str], Wire], user: str, subject: str, ok: bool) -> None:
    with login(user) as wire:
        wire.pub(subject, "x")
        assert wire.sync() == ([] if ok else no_publish(subject))
        assert wire.sync() == []


def test_a_refused_message_is_heard_by_nobody(login: Callable[[str], Wire]) -> None:
    with login("all") as hears, login("limited") as wire:
        hears.sub(">")
        hears.sync()
        wire.pub("ok.no", "x")
        wire.pub("ok.yes", "x")
        wire.sync()
        assert [m.subject for m in hears.sync() if isinstance(m, Msg)] == ["ok.yes"]


@pytest.mark.parametrize(
    ("user", "subject", "ok"),
    [
        ("limited", "ok.a", True),
        ("limited", "ok.>", True),
        ("limited", "ok.*", True),
        ("limited", ">", False),
        ("limited", "*.a", False),
        ("limited", "ok.no", False),
        ("limited", "ok.deep.a", False),
        ("limited", "ok.deep.>", False),
        ("denied", ">", True),
        ("denied", "no.a", False),
        ("denied", "no.*", False),
        ("denied", "no.a.b", True),
        ("denied", "no.>", False),
        ("bare", "default.>", True),
        ("bare", "other", False),
        ("queues", "free", True),
        ("queues", "work", False),
    ],
)
def test_subscribe(login: Callable[[str], Wire], user: str, subject: str, ok: bool) -> None:
    with login(user) as wire:
        wire.sub(subject)
        assert wire.sync() == ([] if ok else no_subscribe(subject))


def test_a_wide_subscription_does_not_hear_what_is_denied(login: Callable[[str], Wire]) -> None:
    with login("all") as sender, login("limited") as narrow, login("denied") as wide:
        narrow.sub("ok.>")
        wide.sub(">")
        narrow.sync()
        wide.sync()
        for subject in ("ok.yes", "ok.no", "ok.deep.a", "no.a", "no.a.b"):
            sender.pub(subject, "x")
        sender.sync()
        assert [m.subject for m in narrow.sync() if isinstance(m, Msg)] == ["ok.yes"]
        heard = [m.subject for m in wide.sync() if isinstance(m, Msg)]
        assert heard == ["ok.yes", "ok.no", "ok.deep.a", "no.a.b"]


@pytest.mark.parametrize(
    ("subject", "queue", "ok"),
    [
        ("free", "any", True),
        ("work", "v1", True),
        ("work", "v2.a", True),
        ("work", "v2", False),
        ("work", "v3", False),
        ("jobs.a", "x.dev", True),
        ("jobs.a", "x.prod", False),
        ("free", "x.prod", False),
    ],
)
def test_queue_subscribe(login: Callable[[str], Wire], subject: str, queue: str, ok: bool) -> None:
    with login("queues") as wire:
        wire.sub(subject, "1", queue)
        assert wire.sync() == ([] if ok else no_subscribe(subject, queue))


def ask(wire: Wire, subject: str, replies: list[str]) -> None:
    for reply in replies:
        wire.pub(subject, "?", reply)
    wire.sync()


def test_allow_responses_lets_a_service_answer_once(login: Callable[[str], Wire]) -> None:
    with login("all") as asks, login("service") as serves:
        serves.sub("svc.a")
        serves.sync()
        asks.sub("reply.>")
        ask(asks, "svc.a", ["reply.1"])
        assert serves.msg().reply == "reply.1"
        serves.pub("reply.1", "answer")
        assert serves.sync() == []
        serves.pub("reply.1", "more")
        assert serves.sync() == no_publish("reply.1")
        assert asks.msg().body == b"answer"
        serves.pub("reply.2", "unasked")
        assert serves.sync() == no_publish("reply.2")


def test_allow_responses_counts_its_maximum(login: Callable[[str], Wire]) -> None:
    with login("all") as asks, login("twice") as serves:
        serves.sub("svc2.a")
        serves.sync()
        ask(asks, "svc2.a", ["reply.1"])
        serves.msg()
        for _ in range(2):
            serves.pub("reply.1", "answer")
            assert serves.sync() == []
        serves.pub("reply.1", "third")
        assert serves.sync() == no_publish("reply.1")


def test_allow_responses_without_publish_denies_all_else(login: Callable[[str], Wire]) -> None:
    with login("twice") as serves:
        serves.pub("anything", "x")
        assert serves.sync() == no_publish("anything")


def test_allow_responses_expires(login: Callable[[str], Wire]) -> None:
    with ExitStack() as stack:
        asks, serves = stack.enter_context(login("all")), stack.enter_context(login("brief"))
        serves.sub("svc3.a")
        serves.sync()
        ask(asks, "svc3.a", ["reply.1"])
        serves.msg()
        received: list[Frame] = []
        while not received:
            serves.pub("late.unasked", "x")
            assert serves.sync() == no_publish("late.unasked")
            ask(asks, "svc3.a", [])
            serves.pub("reply.1", "answer")
            received = serves.sync()
        assert received == no_publish("reply.1")


def test_user_info_shows_permissions(login: Callable[[str], Wire]) -> None:
    with login("all") as wire:
        data = wire.request("$SYS.REQ.USER.INFO").json()["data"]
    assert data["permissions"] == {"publish": {"allow": [">"]}, "subscribe": {"allow": [">"]}}
