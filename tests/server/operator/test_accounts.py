"""Accounts from tokens: found, changed while in use, expired; and what they import from each other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lib.eventually import turns
from lib.operator_accounts import SECOND, AccountsEnv, answer, ask, faults, hear, rigged
from lib.operator_fixture import OperatorAccount, OperatorEnv
from pyjs.keys import Refusal
from pyjs.server.config.options import Options

STREAM: dict[str, Any] = {"subject": "s.>", "type": "stream"}
SERVICE: dict[str, Any] = {"subject": "q.*", "type": "service"}


def taken(exporter: OperatorAccount, subject: str, kind: str = "stream", **more: Any) -> dict[str, Any]:
    return {"account": exporter.id, "subject": subject, "type": kind, **more}


async def refusal(fixture: AccountsEnv, key: str) -> str:
    found = await fixture.accounts.fetch(key)
    assert isinstance(found, Refusal)
    return str(found.reason)


# --- looking up


@rigged
async def test_an_account_is_looked_up_once_and_is_then_here(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", limits={"conn": 3, "subs": 4, "payload": 5, "leaf": 6})
    fixture.publish(a)
    fixture.table.may_answer.clear()
    waiting = [asyncio.ensure_future(fixture.accounts.fetch(a.id)) for _ in range(3)]
    await turns(1)
    fixture.table.may_answer.set()
    first, *others = await asyncio.gather(*waiting)
    assert all(other is first for other in others)
    assert fixture.table.asked == [a.id]
    account = fixture.accounts.account(a.id)
    assert account is first is fixture.registry.get(a.id)
    assert (account.name, account.nkey, account.display) == (a.id, a.id, "A")
    limits = account.limits
    assert (limits.connections, limits.subscriptions, limits.payload, limits.leafs) == (3, 4, 5, 6)
    assert fixture.accounts.claims(a.id) is not None
    assert fixture.reported == ["A"]


@rigged
async def test_who_is_no_account_or_unknown_is_refused(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A")
    assert await refusal(fixture, "$G") == "wrong-role"
    assert await refusal(fixture, a.user().key.public_key) == "wrong-role"
    assert await refusal(fixture, a.id) == "bad-token"
    assert fixture.accounts.account(a.id) is None
    fixture.publish(a)
    await fixture.fetch(a)


@pytest.mark.parametrize("wrong", ["operator", "key", "expired", "early", "invalid", "text"])
@rigged
async def test_a_token_that_does_not_hold_makes_no_account(fixture: AccountsEnv, wrong: str) -> None:
    a, b = fixture.env.account("A"), fixture.env.account("B")
    now = fixture.clock.now() // SECOND
    if wrong == "operator":
        token = a.token(OperatorEnv().key)
    elif wrong == "key":
        token = b.token()
    elif wrong == "text":
        token = "no.token.here"
    else:
        if wrong == "expired":
            a.claims.exp = now
        elif wrong == "early":
            a.claims.nbf = now + 60
        else:
            a.set(exports=[{"subject": "a..b", "type": "stream"}])
        token = a.token()
    fixture.table.tokens[a.id] = token
    reasons = {
        "operator": "unknown-operator",
        "key": "wrong-account",
        "expired": "account-expired",
        "early": "account-not-yet-valid",
        "invalid": "invalid-claims",
        "text": "bad-token",
    }
    assert await refusal(fixture, a.id) == reasons[wrong]
    assert a.id not in fixture.registry.accounts


@rigged
async def test_a_refused_update_changes_nothing(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", limits={"subs": 4})
    (account,) = await fixture.open(a)
    refused = fixture.accounts.update(a.set(limits={"subs": 1}).token(OperatorEnv().key))
    assert isinstance(refused, Refusal)
    a.claims.exp = fixture.clock.now() // SECOND
    refused = fixture.accounts.update(a.token())
    assert isinstance(refused, Refusal)
    assert account.limits.subscriptions == 4
    assert fixture.accounts.account(a.id) is account


@rigged
async def test_an_update_of_an_account_that_nobody_uses_is_left_to_the_resolver(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A")
    assert fixture.accounts.update(a.token()) is None
    assert fixture.accounts.account(a.id) is None


# --- imports


@rigged
async def test_streams_and_services_cross_accounts(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM, SERVICE])
    b = fixture.env.account("B", imports=[taken(a, "s.x", local_subject="mine"), taken(a, "q.1", "service")])
    fixture.publish(a, b)
    importer = await fixture.fetch(b)  # the exporter is looked up, too
    exporter = fixture.accounts.account(a.id)
    assert exporter is not None
    heard = hear(importer, "mine")
    exporter.publish("s.x", b"1")
    assert heard == [("mine", b"1")]
    answer(exporter, "q.1")
    assert ask(importer, "q.1") == b"yes"
    assert importer.account_token is not None
    assert importer.account_token.complete


@pytest.mark.parametrize(
    ("kind", "fields", "local"),
    [
        ("stream", {}, "s.1.2"),
        ("stream", {"to": "my.pre"}, "my.pre.s.1.2"),
        ("stream", {"local_subject": "x.$2.$1"}, "x.2.1"),
        ("service", {}, "s.1.2"),
        ("service", {"local_subject": "x.$2.$1"}, "x.2.1"),
    ],
)
@rigged
async def test_an_import_has_its_local_subject(
    fixture: AccountsEnv, kind: str, fields: dict[str, Any], local: str
) -> None:
    a = fixture.env.account("A", exports=[{"subject": "s.>", "type": kind}])
    b = fixture.env.account("B", imports=[taken(a, "s.*.*", kind, **fields)])
    exporter, importer = await fixture.open(a, b)
    if kind == "stream":
        heard = hear(importer, ">")
        exporter.publish("s.1.2", b"1")
        assert heard == [(local, b"1")]
    else:
        answer(exporter, "s.1.2")
        assert ask(importer, local) == b"yes"


@rigged
async def test_the_older_to_of_a_service_names_the_exporters_subject(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[SERVICE])
    b = fixture.env.account("B", imports=[taken(a, "my.q", "service", to="q.7")])
    exporter, importer = await fixture.open(a, b)
    answer(exporter, "q.7")
    assert ask(importer, "my.q") == b"yes"


@rigged
async def test_an_import_waits_for_an_exporter_that_comes_later(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B", imports=[taken(a, "s.x")])
    (importer,) = await fixture.open(b)
    heard = hear(importer, "s.x")
    assert list(faults(importer).values()) == ["its account is not known here"]
    assert any("is not served" in text for _, text in fixture.log.lines)
    fixture.deploy(a)  # nobody of A is connected: B's waiting brings it here
    exporter = fixture.accounts.account(a.id)
    assert exporter is not None
    exporter.publish("s.x", b"1")
    assert heard == [("s.x", b"1")]
    assert faults(importer) == {}


@rigged
async def test_an_update_looks_up_new_exporters(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B")
    (importer,) = await fixture.open(b)
    fixture.publish(a)
    fixture.deploy(b.set(imports=[taken(a, "s.x")]))
    assert faults(importer)
    await fixture.fetch(b)  # waits for the lookup under way
    assert faults(importer) == {}
    assert fixture.table.asked == [b.id, a.id]


@rigged
async def test_exports_and_imports_change_without_a_new_subscription(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B", imports=[taken(a, "s.x")])
    exporter, importer = await fixture.open(a, b)
    heard = hear(importer, "s.x")

    def comes() -> bool:
        del heard[:]
        exporter.publish("s.x", b"1")
        return bool(heard)

    assert comes()
    fixture.deploy(a.set(exports=[]))
    assert not comes()
    assert "exports no stream" in "".join(faults(importer).values())
    fixture.deploy(a.set(exports=[{"subject": "s.x", "type": "stream"}]))
    assert comes()
    fixture.deploy(b.set(imports=[]))
    assert not comes()
    fixture.deploy(b.set(imports=[taken(a, "s.x")]))
    assert comes()
    fixture.accounts.expire(a.id)
    assert not comes()
    fixture.deploy(a)
    assert comes()


@rigged
async def test_a_response_still_comes_when_something_else_changes(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[SERVICE])
    b = fixture.env.account("B", imports=[taken(a, "q.1", "service")])
    exporter, importer = await fixture.open(a, b)
    replies: list[str] = []
    exporter.subscribe("q.1", lambda message: replies.append(message.reply))
    inbox = hear(importer, "_INBOX.1")
    importer.publish("q.1", b"?", reply="_INBOX.1")
    fixture.deploy(a.set(exports=[SERVICE, STREAM]), b.set(imports=[*b.claims.nats.document()["imports"]]))
    exporter.publish(replies[0], b"late")
    assert inbox == [("_INBOX.1", b"late")]


@rigged
async def test_an_export_that_answers_otherwise_is_taken_over_by_importers(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[SERVICE])
    b = fixture.env.account("B", imports=[taken(a, "q.1", "service")])
    _, importer = await fixture.open(a, b)
    fixture.deploy(a.set(exports=[{**SERVICE, "response_type": "Stream", "response_threshold": 5 * SECOND}]))
    export = importer.imports_services[0].export
    assert export.response_type.value == "stream"
    assert export.threshold == 5 * SECOND


@rigged
async def test_the_importers_key_may_have_to_be_in_the_subject(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[{"subject": "s.*", "type": "stream", "account_token_position": 2}])
    b, c = fixture.env.account("B"), fixture.env.account("C")
    b.set(imports=[taken(a, f"s.{b.id}", local_subject="mine")])
    c.set(imports=[taken(a, f"s.{b.id}", local_subject="mine")])
    _, ours, theirs = await fixture.open(a, b, c)
    assert faults(ours) == {}
    assert "must be the importing account" in "".join(faults(theirs).values())


@rigged
async def test_overlapping_exports_each_grant_their_own(fixture: AccountsEnv) -> None:
    a = fixture.env.account(
        "A",
        exports=[
            {"subject": "s.x", "type": "stream", "token_req": True},
            {"subject": "s.*", "type": "service"},
            {"subject": "t.>", "type": "stream"},
        ],
    )
    b = fixture.env.account("B", imports=[taken(a, "s.x"), taken(a, "t.x.*"), taken(a, "s.x", "service")])
    _, importer = await fixture.open(a, b)
    assert [each.subject for each in importer.imports_streams] == ["t.x.*"]
    assert [each.subject for each in importer.imports_services] == ["s.x"]


@rigged
async def test_the_same_import_twice_is_served_once(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B", imports=[taken(a, "s.x"), taken(a, "s.x", local_subject="y")])
    exporter, importer = await fixture.open(a, b)
    heard = hear(importer, ">")
    exporter.publish("s.x", b"1")
    assert heard == [("s.x", b"1")]
    assert list(faults(importer).values()) == ["it is there twice"]


# --- cycles


@rigged
async def test_the_import_that_would_close_a_cycle_waits(fixture: AccountsEnv) -> None:
    a, b, c = (fixture.env.account(name, exports=[STREAM]) for name in "ABC")
    for importer, exporter in ((a, b), (b, c), (c, a)):
        importer.set(imports=[taken(exporter, "s.x")])
    made = await fixture.open(a, b, c)
    assert [len(each.imports_streams) for each in made].count(1) == 2
    (waiting,) = (each for each in made if not each.imports_streams)
    assert list(faults(waiting).values()) == ["it forms a cycle"]
    other = next(s for s in (a, b, c) if s.id != waiting.name)
    fixture.deploy(other.set(imports=[]))
    assert faults(waiting) == {}
    assert len(waiting.imports_streams) == 1


@rigged
async def test_the_import_that_was_first_stays(fixture: AccountsEnv) -> None:
    a, b = (fixture.env.account(name, exports=[SERVICE]) for name in "AB")
    first, second = await fixture.open(a.set(imports=[taken(b, "q.1", "service")]), b)
    fixture.deploy(b.set(imports=[taken(a, "q.1", "service")]))
    fixture.deploy(a)
    assert len(first.imports_services) == 1
    assert second.imports_services == []


@rigged
async def test_two_accounts_may_import_different_subjects_from_each_other(fixture: AccountsEnv) -> None:
    a, b = (fixture.env.account(name, exports=[SERVICE]) for name in "AB")
    a.set(imports=[taken(b, "q.1", "service")])
    b.set(imports=[taken(a, "q.2", "service")])
    first, second = await fixture.open(a, b)
    assert faults(first) == faults(second) == {}


@rigged
async def test_an_account_may_import_from_itself(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM, SERVICE])
    a.set(imports=[taken(a, "s.x", local_subject="s.y"), taken(a, "q.1", "service", local_subject="q.2")])
    (account,) = await fixture.open(a)
    heard = hear(account, "s.>")
    account.publish("s.x", b"1")
    assert sorted(heard) == [("s.x", b"1"), ("s.y", b"1")]
    answer(account, "q.1")
    assert ask(account, "q.2") == b"yes"


# --- activations


PRIVATE: dict[str, Any] = {"subject": "p.>", "type": "stream", "token_req": True}


@rigged
async def test_a_private_export_needs_an_activation(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[PRIVATE])
    b, c = fixture.env.account("B"), fixture.env.account("C")
    token = a.activation(b, "p.x", "stream")
    _, ours = await fixture.open(a, b.set(imports=[taken(a, "p.x", token=token)]))
    (theirs,) = await fixture.open(c.set(imports=[taken(a, "p.x")]))
    assert len(ours.imports_streams) == 1
    assert "has no activation" in "".join(faults(theirs).values())


@rigged
async def test_a_revoked_activation_ends_the_import_at_once(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[PRIVATE])
    b = fixture.env.account("B")
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream"))])
    exporter, importer = await fixture.open(a, b)
    heard = hear(importer, "p.x")
    exporter.publish("p.x", b"1")
    for revoked in ({b.id: fixture.env.clock}, {"*": fixture.env.clock}):
        fixture.deploy(a.set(exports=[{**PRIVATE, "revocations": revoked}]))
        exporter.publish("p.x", b"2")
        assert heard == [("p.x", b"1")]
        assert "revoked" in "".join(faults(importer).values())
    fixture.deploy(b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream"))]))
    exporter.publish("p.x", b"3")
    assert heard[1:] == [("p.x", b"3")]


@rigged
async def test_an_activation_ends_in_time(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[PRIVATE])
    b = fixture.env.account("B")
    end = fixture.clock.now() // SECOND + 10
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", exp=end))])
    exporter, importer = await fixture.open(a, b)
    heard = hear(importer, "p.x")
    fixture.clock.advance(9 * SECOND)
    exporter.publish("p.x", b"1")
    fixture.clock.advance(2 * SECOND)
    exporter.publish("p.x", b"2")
    assert heard == [("p.x", b"1")]
    assert "expired" in "".join(faults(importer).values())


@rigged
async def test_a_timer_that_is_early_ends_the_activation_all_the_same(
    fixture: AccountsEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Event loops run timers a little early, and time goes on while an import is authorized."""
    a = fixture.env.account("A", exports=[PRIVATE])
    b = fixture.env.account("B")
    end = (fixture.clock.now() // SECOND + 10) * SECOND
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", exp=end // SECOND))])
    _, importer = await fixture.open(a, b)
    moments = iter([end - 1])
    real = fixture.clock.now
    monkeypatch.setattr(fixture.clock, "now", lambda: next(moments, None) or real())
    fixture.clock.advance(20 * SECOND)
    assert importer.imports_streams == []


@rigged
async def test_an_activation_by_a_signing_key_ends_with_that_key(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[PRIVATE])
    b = fixture.env.account("B")
    key = a.signing_key()
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", by=key))])
    _, importer = await fixture.open(a, b)
    assert len(importer.imports_streams) == 1
    a.claims.nats.signing_keys.clear()
    fixture.deploy(a)
    assert importer.imports_streams == []


# --- the end of an account


class Connection:
    """A client's connection, as far as an account sees it."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.said: list[str] = []

    def fail(self, text: str, reason: str) -> None:
        self.said += [text, reason]


@rigged
async def test_an_account_expires_and_comes_back(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", jetstream=True)
    a.claims.exp = fixture.clock.now() // SECOND + 10
    (account,) = await fixture.open(a)
    client, leaf = Connection(1), Connection(2)
    account.connections.add(client)
    account.leafs.add(leaf)
    fixture.clock.advance(11 * SECOND)
    for connection in (client, leaf):
        assert connection.said == ["Account Authentication Expired", "Authentication Expired"]
    assert fixture.accounts.account(a.id) is None
    assert fixture.accounts.claims(a.id) is None
    assert account.grants is not None
    assert await refusal(fixture, a.id) == "account-expired"
    a.claims.exp = 0
    fixture.publish(a)
    assert await fixture.fetch(a) is account
    assert fixture.reported == ["A", "A", "A"]


@rigged
async def test_a_deleted_account_has_no_jetstream_until_it_is_back(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", jetstream=True)
    (account,) = await fixture.open(a)
    fixture.accounts.expire(a.id, deleted=True)
    assert account.grants is None
    assert fixture.accounts.account(a.id) is None
    fixture.deploy(a)
    assert account.grants is not None


@rigged
async def test_a_later_expiry_takes_effect(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A")
    a.claims.exp = fixture.clock.now() // SECOND + 10
    await fixture.open(a)
    a.claims.exp += 10
    fixture.deploy(a)
    fixture.clock.advance(15 * SECOND)
    assert fixture.accounts.account(a.id) is not None
    fixture.clock.advance(10 * SECOND)
    assert fixture.accounts.account(a.id) is None


@rigged
async def test_a_limit_below_what_is_connected_closes_the_latest(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A")
    (account,) = await fixture.open(a)
    clients = [Connection(number) for number in range(1, 6)]
    account.connections |= set(clients)
    fixture.deploy(a.set(limits={"conn": 2}))
    assert [bool(client.said) for client in clients] == [False, False, True, True, True]
    assert clients[-1].said[0] == "maximum account active connections exceeded"


@rigged
async def test_mappings_take_effect_with_the_next_message(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", mappings={"x": [{"subject": "y"}]})
    (account,) = await fixture.open(a)
    assert account.mapped("x") == "y"
    fixture.deploy(a.set(mappings={"x": [{"subject": "z", "weight": 100}]}))
    assert account.mapped("x") == "z"
    fixture.deploy(a.set(mappings={}))
    assert account.mapped("x") == "x"


@rigged
async def test_a_reload_of_the_configuration_leaves_accounts_from_tokens(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", exports=[STREAM])
    b = fixture.env.account("B", imports=[taken(a, "s.x")])
    exporter, importer = await fixture.open(a, b)
    fixture.registry.appoint(exporter)
    assert fixture.registry.reload(Options(trusted_keys=["x"], system_account=a.id)) == []
    assert fixture.registry.system is exporter
    assert fixture.registry.get(b.id) is importer
    heard = hear(importer, "s.x")
    exporter.publish("s.x", b"1")
    assert heard == [("s.x", b"1")]


@rigged
async def test_what_is_not_served_is_said(fixture: AccountsEnv) -> None:
    a = fixture.env.account(
        "A",
        exports=[{**SERVICE, "service_latency": {"sampling": 50, "results": "lat"}}],
        authorization={"auth_users": [fixture.env.admin.key.public_key]},
        trace={"dest": "traces"},
    )
    await fixture.open(a)
    said = "\n".join(text for level, text in fixture.log.lines if level == "warning")
    for word in ("latency of service 'q.*'", "auth callout", "message traces"):
        assert word in said
