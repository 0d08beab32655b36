"""Operator mode: what a user may publish and subscribe: its own lists, a key's scope, its account's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lib import pyjs_server
from lib.operator_fixture import Deployment, OperatorEnv, User, reheaded, soon, tampered
from lib.wire import Frame, Wire

VIOLATION = [b"-ERR 'Authorization Violation'"]


def may(wire: Wire, verb: str, subject: str) -> bool:
    """Whether a permission lets this pass; the violation that is told otherwise is the known one."""
    if verb == "pub":
        wire.pub(subject, "x")
        refused: list[Frame] = [f"-ERR 'Permissions Violation for Publish to \"{subject}\"'".encode()]
    else:
        wire.sub(subject, "s")
        refused = [f"-ERR 'Permissions Violation for Subscription to \"{subject}\"'".encode()]
    said = wire.sync()
    if verb == "sub":
        wire.send("UNSUB s\r\n")
        wire.sync()
    assert said in ([], refused), said
    return not said


def allowed(op: Deployment, user: User, verb: str, *subjects: str) -> list[bool]:
    with user.connect(op.server) as wire:
        return [may(wire, verb, subject) for subject in subjects]


@pytest.mark.parametrize("how", ["own", "scope", "default"])
def test_lists_are_asked_about_what_a_subject_is_mapped_to(op: Deployment, how: str) -> None:
    account = op.account("A", mappings={"old.*": [{"subject": "secret.$1"}]})
    denied: dict[str, Any] = {"pub": {"deny": ["secret.>"]}}
    if how == "scope":
        key = account.scoped_key(**denied)
        op.push(account)
        user = account.user(by=key, scoped=True)
    elif how == "default":
        op.push(account.set(default_permissions=denied))
        user = account.user()
    else:
        user = account.user(**denied)
    with user.connect(op.server) as wire:
        wire.pub("old.a", "x")
        assert wire.sync() == [b"-ERR 'Permissions Violation for Publish to \"secret.a\"'"]
        wire.pub("older.a", "x")
        assert wire.sync() == []


@pytest.mark.parametrize("verb", ["pub", "sub"])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"allow": ["a", "b.>"]}, [True, True, False]),
        ({"deny": ["b.*"]}, [True, False, True]),
        ({"allow": [">"], "deny": ["c"]}, [True, True, False]),
        ({"allow": ["b.>"], "deny": ["b.x"]}, [False, False, False]),
    ],
)
def test_a_users_own_lists(
    op: Deployment, verb: str, rule: dict[str, list[str]], expected: list[bool]
) -> None:
    lists: dict[str, Any] = {verb: rule}
    user = op.account("A").user(**lists)
    assert allowed(op, user, verb, "a", "b.x", "c") == expected


@pytest.mark.parametrize(("field", "word"), [("PUB", "deny"), ("pub", "DENY"), ("Pub", "Deny")])
def test_fields_of_a_token_count_in_any_case(op: Deployment, field: str, word: str) -> None:
    account = op.account("A")
    user = account.user()
    nats = {name: value for name, value in user.claims.ready().nats.document().items() if name != "pub"}
    written = tampered(user.token, nats=nats | {field: {word: ["b.*"]}})
    user = replace(user, token=reheaded(written, account.key))
    assert allowed(op, user, "pub", "a", "b.x") == [True, False]


def test_an_end_counts_in_any_case(op: Deployment) -> None:
    account = op.account("A")
    user = account.user()
    written = tampered(user.token, EXP=soon(-100))
    user = replace(user, token=reheaded(written, account.key))
    assert user.refusal(op.server) == VIOLATION


def test_responses_are_allowed_as_often_as_the_token_says(op: Deployment) -> None:
    account = op.account("A")
    server = account.user(sub={"allow": ["service"]}, pub={"deny": [">"]}, resp={"max": 1, "ttl": 10**10})
    with server.connect(op.server) as serves, account.user().connect(op.server) as asks:
        serves.sub("service")
        serves.sync()
        reply = asks.inbox()
        asks.pub("service", "question", reply)
        question = serves.msg()
        serves.pub(question.reply, "one")
        serves.pub(question.reply, "two")
        assert serves.sync() == [f"-ERR 'Permissions Violation for Publish to \"{reply}\"'".encode()]
        assert asks.answer(reply).body == b"one"
        assert asks.sync() == []


def test_the_accounts_default_is_for_users_without_lists(op: Deployment) -> None:
    account = op.account("A", default_permissions={"pub": {"allow": ["a"]}})
    assert allowed(op, account.user(), "pub", "a", "b") == [True, False]
    own = account.user(pub={"allow": ["b"]})
    assert allowed(op, own, "pub", "a", "b") == [False, True]
    only_sub = account.user(sub={"allow": ["b"]})
    assert allowed(op, only_sub, "pub", "a", "b") == [True, True]


def test_a_new_default_holds_for_sessions_that_stand(op: Deployment) -> None:
    account = op.account("A")
    with account.user().connect(op.server) as wire:
        assert [may(wire, "pub", subject) for subject in ("a", "b")] == [True, True]
        account.set(default_permissions={"pub": {"deny": ["b"]}})
        op.push(account)
        assert [may(wire, "pub", subject) for subject in ("a", "b")] == [True, False]
    assert allowed(op, account.user(), "pub", "a", "b") == [True, False]


def test_a_scope_says_what_its_users_may(op: Deployment) -> None:
    account = op.env.account("A")
    key = account.scoped_key(pub={"allow": ["a"]}, payload=10, subs=1)
    op.push(account)
    user = account.user(by=key, scoped=True)
    assert allowed(op, user, "pub", "a", "b") == [True, False]
    with user.connect(op.server) as wire:
        wire.sub("x", "1")
        wire.sub("y", "2")
        assert wire.sync() == [b"-ERR 'maximum subscriptions exceeded'"]
        assert [info["max_payload"] for info in wire.infos[1:]] == [10]
        wire.send("PUB a 11\r\n" + "x" * 11 + "\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


def test_a_scoped_user_with_lists_of_its_own_is_refused(op: Deployment) -> None:
    account = op.env.account("A")
    key = account.scoped_key(pub={"allow": ["a"]})
    op.push(account)
    assert account.user(by=key, scoped=True, pub={"allow": ["b"]}).refusal(op.server) == VIOLATION
    assert account.user(by=key).refusal(op.server) == VIOLATION


@pytest.mark.parametrize(
    ("template", "subject", "other"),
    [
        ("work.{{name()}}.>", "work.ann.x", "work.bob.x"),
        ("u.{{subject()}}", "u.$SUBJECT", "u.x"),
        ("a.{{account-name()}}.x", "a.A.x", "a.B.x"),
        ("a.{{account-subject()}}", "a.$ACCOUNT", "a.A"),
        ("t.{{tag(dept)}}.*", "t.ops.1", "t.{{tag(dept)}}.1"),
        ("t.{{tag(dept)}}", "t.dev", "t.sales"),
        ("acc.{{account-tag(region)}}", "acc.north", "acc.south"),
        ("{{tag(dept)}}.{{name()}}", "dev.ann", "dev.dev"),
    ],
)
def test_a_scopes_templates(op: Deployment, template: str, subject: str, other: str) -> None:
    account = op.env.account("A")
    account.claims.nats.tags = ["region:north"]
    key = account.scoped_key(pub={"allow": [template]})
    op.push(account)
    user = account.user("ann", by=key, scoped=True, tags=["dept:ops", "dept:dev"])
    subject = subject.replace("$SUBJECT", user.key.public_key).replace("$ACCOUNT", account.id)
    assert allowed(op, user, "pub", subject, other) == [True, False]


@pytest.mark.parametrize("template", ["a.{{tag(missing)}}", "a.{{account-tag(missing)}}", "a.{{nonsense()}}"])
@pytest.mark.parametrize("side", ["allow", "deny"])
def test_a_template_that_gives_nothing(op: Deployment, template: str, side: str) -> None:
    """An allowance that gives nothing allows nothing; a prohibition that gives nothing lets nobody in."""
    account = op.env.account("A")
    key = account.scoped_key(pub={side: [template]})
    op.push(account)
    user = account.user("ann", by=key, scoped=True, tags=["dept:ops"])
    if side == "deny" or "nonsense" in template:
        assert user.refusal(op.server) == VIOLATION
    else:
        assert allowed(op, user, "pub", "a", "a.x") == [False, False]


def test_a_pushed_scope_holds_for_sessions_that_stand(op: Deployment) -> None:
    account = op.env.account("A")
    key = account.scoped_key(pub={"allow": ["a"]})
    op.push(account)
    user = account.user(by=key, scoped=True)
    with user.connect(op.server) as wire:
        assert [may(wire, "pub", s) for s in ("a", "b")] == [True, False]
        scope = account.claims.scope(key.public_key)
        assert scope is not None
        scope.template.pub.allow = ["b"]
        op.push(account)
        assert wire.ends() == []
    assert allowed(op, user, "pub", "a", "b") == [False, True]


def test_a_scopes_connection_types_and_networks_count(op: Deployment) -> None:
    account = op.env.account("A")
    far = account.scoped_key("far", src=["10.0.0.0/8"])
    socket = account.scoped_key("socket", allowed_connection_types=["WEBSOCKET"])
    bearer = account.scoped_key("bearer", bearer_token=True)
    op.push(account)
    assert account.user(by=far, scoped=True).refusal(op.server) == VIOLATION
    assert account.user(by=socket, scoped=True).refusal(op.server) == VIOLATION
    with account.user(by=bearer, scoped=True).connect(op.server, sig="") as wire:
        assert wire.sync() == []


def test_queue_permissions(op: Deployment) -> None:
    user = op.account("A").user(sub={"allow": ["a work.*"]})
    with user.connect(op.server) as wire:
        wire.sub("a", "1", queue="work.x")
        assert wire.sync() == []
        wire.sub("a", "2", queue="play")
        assert wire.sync() == [b'-ERR \'Permissions Violation for Subscription to "a" using queue "play"\'']


def test_pyjs_shows_an_end_far_away_as_a_number_that_clients_can_hold() -> None:
    """The reference takes such a token for an expired one."""
    env = OperatorEnv()
    account = env.account("A")
    server = pyjs_server.start(env.memory(account))
    try:
        with account.user(exp=2**60).connect(server) as wire:
            data = wire.request("$SYS.REQ.USER.INFO").json()["data"]
        assert 2**62 < data["expires"] < 2**63
    finally:
        server.stop()


def test_user_info_shows_permissions_and_the_end_of_the_token(op: Deployment) -> None:
    account = op.account("A")
    user = account.user(pub={"allow": ["$SYS.REQ.USER.INFO"]}, exp=soon(3600))
    with user.connect(op.server) as wire:
        data = wire.request("$SYS.REQ.USER.INFO").json()["data"]
    assert data["permissions"] == {"publish": {"allow": ["$SYS.REQ.USER.INFO"]}, "subscribe": {}}
    assert 3500 * 10**9 < data["expires"] <= 3600 * 10**9
    assert data["user"] == user.key.public_key
