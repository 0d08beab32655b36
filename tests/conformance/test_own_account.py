"""`$SYS.REQ.USER.ACCOUNT` of pyjs: what an account's users learn of its mappings, imports and exports.

nats-server does not have it: there nobody responds. The strangers here are users of the same account that ask
too much, users of other accounts, and users that may not ask.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib import pyjs_server
from lib.callbacks import Callbacks
from lib.core_cluster import Mesh
from lib.eventually import eventually
from lib.leaf_pair import Pair
from lib.operator_fixture import OperatorEnv
from lib.process import ServerProcess
from lib.wire import Msg, Wire

SUBJECT = "$SYS.REQ.USER.ACCOUNT"
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
accounts {
  SYS { users: [{ user: sys, password: p }] }
  A {
    users: [
      { user: a, password: sEcReT }
      { user: mute, password: p, permissions: { publish: { deny: "$SYS.REQ.USER.ACCOUNT" } } }
    ]
    mappings: {
      "old.*.*": "new.$2.$1"
      old: [ { destination: one, weight: 40% }, { destination: two, weight: 60% } ]
      "old.>": "rest.>"
    }
    exports: [ { stream: "t.>" }, { service: "own.*", accounts: [B] }, { service: "$SYS.REQ.USER.>" } ]
    imports: [
      { service: { account: B, subject: "w.*.*" }, to: "w.$2.$1", share: true }
      { stream: { account: B, subject: "s.>" }, prefix: "x" }
    ]
  }
  B {
    users: [{ user: b, password: p }]
    mappings: { "w.a.b": hidden }
    exports: [ { service: "w.*.*" }, { stream: "s.>" }, { stream: "s.more" }, { service: inner } ]
    imports: [ { service: { account: A, subject: "$SYS.REQ.USER.ACCOUNT" }, to: theirs } ]
  }
  MANY {
    users: [{ user: many, password: p }]
    mappings: { MAPPINGS }
  }
}
system_account: SYS
"""
MANY = 3000
MAPPINGS = "\n".join(f'"m{number}.*": "n{number}.$1"' for number in range(MANY))


def config() -> str:
    return CONFIG.replace("MAPPINGS", MAPPINGS)


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    started = pyjs_server.start(config())
    yield started
    started.stop()


def login(server: ServerProcess, user: str, password: str = "p") -> Wire:
    return server.connect(user=user, **{"pass": password})


def page(wire: Wire, request: Any = "") -> dict[str, Any]:
    found: dict[str, Any] = wire.request(SUBJECT, request).json()["data"]
    return found


def test_nobody_responds_where_a_server_does_not_have_it(
    implementation: str, serve: Callable[[str], ServerProcess]
) -> None:
    with login(serve(config()), "many") as wire:
        answer = wire.request(SUBJECT)
    assert (b"503" in answer.header) == (implementation == "reference")


def test_an_account_learns_where_its_messages_go(server: ServerProcess) -> None:
    with login(server, "a", "sEcReT") as wire:
        answer = wire.request(SUBJECT).json()
        assert answer["server"]["id"] == wire.info["server_id"]
    data = answer["data"]
    assert (data["account"], data["account_name"]) == ("A", "A")
    assert (data["offset"], data["total"], data["count"]) == (0, 8, 8)
    assert list(data["mappings"].items()) == [
        ("old", [{"subject": "one", "weight": 40}, {"subject": "two", "weight": 60}]),
        ("old.*.*", [{"subject": "new.$2.$1", "weight": 100}]),
        ("old.>", [{"subject": "rest.>", "weight": 100}]),
    ]
    assert data["imports"] == [
        {"subject": "s.>", "account": "B", "local_subject": "x.s.>", "type": "stream", "share": False},
        {"subject": "w.*.*", "account": "B", "local_subject": "w.$2.$1", "type": "service", "share": True},
    ]
    assert data["exports"] == [
        {"subject": "t.>", "type": "stream"},
        {"subject": "own.*", "type": "service"},
        {"subject": "$SYS.REQ.USER.>", "type": "service"},
    ]


def test_it_does_not_learn_what_is_others(server: ServerProcess) -> None:
    """No passwords, no users, no mappings and further exports of an exporter, and not who imports from it."""
    with login(server, "a", "sEcReT") as wire:
        text = json.dumps(page(wire))
    for private in ("sEcReT", "mute", "hidden", "s.more", "inner", "theirs", "accounts", "MANY", 'SYS"'):
        assert private not in text


def test_another_account_is_not_answered_through_an_import(server: ServerProcess) -> None:
    with login(server, "b") as wire:
        refusal = wire.request("theirs").json()
        assert refusal["error"] == {"code": 500, "description": "an account is told about itself only"}
        assert page(wire)["account"] == "B"


def test_who_may_not_publish_there_is_denied_as_everywhere(server: ServerProcess) -> None:
    with login(server, "mute") as wire:
        wire.pub(SUBJECT, "", wire.inbox())
        assert wire.sync() == [f"-ERR 'Permissions Violation for Publish to \"{SUBJECT}\"'".encode()]


def test_pages_together_are_the_whole(server: ServerProcess) -> None:
    found: dict[str, Any] = {}
    with login(server, "many") as wire:
        while len(found) < MANY:
            data = page(wire, {"offset": len(found)})
            assert (data["total"], data["count"]) == (MANY, len(data["mappings"]))
            assert 0 < data["count"] <= 256
            found |= data["mappings"]
        assert list(found) == [f"m{number}.*" for number in range(MANY)]
        assert list(page(wire, {"offset": 7, "limit": 2})["mappings"]) == ["m7.*", "m8.*"]
        assert page(wire, {"offset": -1, "limit": -1})["count"] == 256
        for beyond in (MANY, 10**30):
            assert page(wire, {"offset": beyond})["count"] == 0
        assert page(wire, {"limit": 10**30})["count"] == 256


def test_a_page_of_long_subjects_is_small() -> None:
    long = ".".join("x" * 60 for _ in range(50))
    mappings = "\n".join(f'"{number}.{long}": "y.{number}"' for number in range(100))
    server = pyjs_server.start(CONFIG.replace("MAPPINGS", mappings))
    try:
        with login(server, "many") as wire:
            answer = wire.request(SUBJECT)
            assert len(answer.body) < 100_000
            count = answer.json()["data"]["count"]
            assert 0 < count < 100
            assert next(iter(page(wire, {"offset": count})["mappings"])).startswith(f"{count}.")
    finally:
        server.stop()


@pytest.mark.parametrize(
    "body", ["x" * (1 << 20), "[" * 1000, "[]", "{", '{"offset": "1"}', '{"limit": true}', '{"offset": 1e3}']
)
def test_a_request_that_cannot_be_understood_is_refused(server: ServerProcess, body: str) -> None:
    with login(server, "a", "sEcReT") as wire:
        assert wire.request(SUBJECT, body).json()["error"]["code"] == 400
        assert page(wire)["account"] == "A"


def test_ten_thousand_requests_hold_nobody_up(callbacks: Callbacks) -> None:
    server = pyjs_server.start(config())
    try:
        with (
            login(server, "many") as stranger,
            login(server, "a", "sEcReT") as other,
            callbacks.bounded(server),
        ):
            inbox = stranger.inbox()
            stranger.send(f"PUB {SUBJECT} {inbox} 0\r\n\r\n" * 10_000)
            other.sub("still.served", "1")
            other.pub("still.served", "x")
            assert [each.subject for each in other.sync() if isinstance(each, Msg)] == ["still.served"]
            assert page(other)["account"] == "A"
    finally:
        server.stop()


def answering(wire: Wire, servers: int, body: str = "") -> list[str]:
    """The ids of those who answer a request; all servers have answered one that followed it."""
    first, second = wire.inbox(), wire.inbox()
    wire.pub(SUBJECT, body, first)
    wire.pub("$SYS.REQ.ACCOUNT.PING.CONNZ", "", second)
    found: dict[str, list[str]] = {first: [], second: []}

    def all_have() -> bool:
        for each in wire.sync():
            if isinstance(each, Msg):
                found[each.subject].append(each.json()["server"]["id"])
        return len(found[second]) == servers

    eventually(all_have, 30)
    return found[first]


@pytest.mark.parametrize("body", ["", "x" * (1 << 20)])
def test_the_server_of_the_connection_alone_answers(body: str) -> None:
    mesh = Mesh("pyjs", "pyjs", "pyjs")
    try:
        for server in mesh.servers:
            with mesh.login(server, "other") as wire:
                assert answering(wire, 3, body) == [wire.info["server_id"]]
    finally:
        mesh.close()


def test_a_hub_does_not_answer_for_its_leaf() -> None:
    pair = Pair("pyjs", "pyjs")
    try:
        pair.joined()
        with login(pair.leaf, "acc", "acc") as wire:
            assert answering(wire, 2) == [wire.info["server_id"]]
    finally:
        pair.close()


def test_the_system_account_is_told_what_a_user_may_do(server: ServerProcess) -> None:
    with login(server, "sys") as wire:

        def users(account: str, name: Any) -> Any:
            return wire.request(f"$SYS.REQ.ACCOUNT.{account}.USER", {"user": name}).json()

        (mute,) = users("A", "mute")["data"]["users"]
        denied = {"publish": {"deny": [SUBJECT]}, "subscribe": {}}
        assert mute == {"user": "mute", "account": "A", "account_name": "A", "permissions": denied}
        (free,) = users("A", "a")["data"]["users"]
        assert free == {"user": "a", "account": "A", "account_name": "A"}
        for account, name in (("A", "b"), ("A", ""), ("A", "x" * 100_000), ("B", "a"), ("SYS", "a")):
            assert users(account, name)["data"] == {"account": account, "users": []}
        assert users("A", ["a"])["error"]["code"] == 400
        assert users("NOBODY", "a")["error"]["code"] == 404
    with login(server, "a", "sEcReT") as wire:
        assert b"503" in wire.request("$SYS.REQ.ACCOUNT.A.USER", {"user": "mute"}).header


def test_accounts_of_an_operator() -> None:
    env = OperatorEnv()
    exporter = env.account("B", exports=[{"name": "w", "subject": "w.*", "type": "service"}])
    account = env.account(
        "A",
        mappings={"old": [{"subject": "new"}]},
        imports=[
            {"name": "w", "subject": "w.*", "account": exporter.id, "local_subject": "mine.$1",
             "type": "service"},
        ],
    )  # fmt: skip
    server = pyjs_server.start(env.memory(account, exporter))
    try:
        with account.user().connect(server) as wire:
            text = json.dumps(data := page(wire))
    finally:
        server.stop()
    assert (data["account"], data["account_name"]) == (account.id, "A")
    assert data["mappings"] == {"old": [{"subject": "new", "weight": 100}]}
    (link,) = data["imports"]
    assert (link["account"], link["subject"], link["local_subject"]) == (exporter.id, "w.*", "mine.$1")
    assert "eyJ" not in text  # how a token begins
