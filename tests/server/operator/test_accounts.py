"""Accounts from tokens: found, changed while they are used, ended; and what they take from each other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lib.eventually import turns
from lib.operator_accounts import SECOND, Rig, answer, ask, faults, hear, rigged
from lib.operator_fixture import OperatorSite, SiteAccount
from pyjs.keys import Refusal
from pyjs.server.config.options import Options

STREAM: dict[str, Any] = {"subject": "s.>", "type": "stream"}
SERVICE: dict[str, Any] = {"subject": "q.*", "type": "service"}


def taken(exporter: SiteAccount, subject: str, kind: str = "stream", **more: Any) -> dict[str, Any]:
    return {"account": exporter.id, "subject": subject, "type": kind, **more}


async def refusal(rig: Rig, key: str) -> str:
    found = await rig.accounts.fetch(key)
    assert isinstance(found, Refusal)
    return str(found.reason)


# --- looking up


@rigged
async def test_an_account_is_looked_up_once_and_is_then_here(rig: Rig) -> None:
    a = rig.site.account("A", limits={"conn": 3, "subs": 4, "payload": 5, "leaf": 6})
    rig.publish(a)
    rig.table.gate.clear()
    waiting = [asyncio.ensure_future(rig.accounts.fetch(a.id)) for _ in range(3)]
    await turns(1)
    rig.table.gate.set()
    first, *others = await asyncio.gather(*waiting)
    assert all(other is first for other in others)
    assert rig.table.asked == [a.id]
    account = rig.accounts.account(a.id)
    assert account is first is rig.registry.get(a.id)
    assert (account.name, account.nkey, account.display) == (a.id, a.id, "A")
    limits = account.limits
    assert (limits.connections, limits.subscriptions, limits.payload, limits.leafs) == (3, 4, 5, 6)
    assert rig.accounts.claims(a.id) is not None
    assert rig.told == ["A"]


@rigged
async def test_who_is_no_account_or_unknown_is_refused(rig: Rig) -> None:
    a = rig.site.account("A")
    assert await refusal(rig, "$G") == "wrong-role"
    assert await refusal(rig, a.user().key.public_key) == "wrong-role"
    assert await refusal(rig, a.id) == "bad-token"
    assert rig.accounts.account(a.id) is None
    rig.publish(a)
    await rig.fetch(a)


@pytest.mark.parametrize("wrong", ["operator", "key", "expired", "early", "invalid", "text"])
@rigged
async def test_a_token_that_does_not_hold_makes_no_account(rig: Rig, wrong: str) -> None:
    a, b = rig.site.account("A"), rig.site.account("B")
    now = rig.clock.now() // SECOND
    if wrong == "operator":
        token = a.token(OperatorSite().key)
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
    rig.table.tokens[a.id] = token
    reasons = {
        "operator": "unknown-operator",
        "key": "wrong-account",
        "expired": "account-expired",
        "early": "account-not-yet-valid",
        "invalid": "invalid-claims",
        "text": "bad-token",
    }
    assert await refusal(rig, a.id) == reasons[wrong]
    assert a.id not in rig.registry.accounts


@rigged
async def test_a_refused_update_changes_nothing(rig: Rig) -> None:
    a = rig.site.account("A", limits={"subs": 4})
    (account,) = await rig.open(a)
    refused = rig.accounts.update(a.set(limits={"subs": 1}).token(OperatorSite().key))
    assert isinstance(refused, Refusal)
    a.claims.exp = rig.clock.now() // SECOND
    refused = rig.accounts.update(a.token())
    assert isinstance(refused, Refusal)
    assert account.limits.subscriptions == 4
    assert rig.accounts.account(a.id) is account


@rigged
async def test_an_update_of_an_account_that_nobody_uses_is_left_to_the_resolver(rig: Rig) -> None:
    a = rig.site.account("A")
    assert rig.accounts.update(a.token()) is None
    assert rig.accounts.account(a.id) is None


# --- imports


@rigged
async def test_streams_and_services_cross_accounts(rig: Rig) -> None:
    a = rig.site.account("A", exports=[STREAM, SERVICE])
    b = rig.site.account("B", imports=[taken(a, "s.x", local_subject="mine"), taken(a, "q.1", "service")])
    rig.publish(a, b)
    importer = await rig.fetch(b)  # the exporter is looked up, too
    exporter = rig.accounts.account(a.id)
    assert exporter is not None
    heard = hear(importer, "mine")
    exporter.publish("s.x", b"1")
    assert heard == [("mine", b"1")]
    answer(exporter, "q.1")
    assert ask(importer, "q.1") == b"yes"
    assert importer.charter is not None
    assert importer.charter.complete


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
    rig: Rig, kind: str, fields: dict[str, Any], local: str
) -> None:
    a = rig.site.account("A", exports=[{"subject": "s.>", "type": kind}])
    b = rig.site.account("B", imports=[taken(a, "s.*.*", kind, **fields)])
    exporter, importer = await rig.open(a, b)
    if kind == "stream":
        heard = hear(importer, ">")
        exporter.publish("s.1.2", b"1")
        assert heard == [(local, b"1")]
    else:
        answer(exporter, "s.1.2")
        assert ask(importer, local) == b"yes"


@rigged
async def test_the_older_to_of_a_service_names_the_exporters_subject(rig: Rig) -> None:
    a = rig.site.account("A", exports=[SERVICE])
    b = rig.site.account("B", imports=[taken(a, "my.q", "service", to="q.7")])
    exporter, importer = await rig.open(a, b)
    answer(exporter, "q.7")
    assert ask(importer, "my.q") == b"yes"


@rigged
async def test_an_import_waits_for_an_exporter_that_comes_later(rig: Rig) -> None:
    a = rig.site.account("A", exports=[STREAM])
    b = rig.site.account("B", imports=[taken(a, "s.x")])
    (importer,) = await rig.open(b)
    heard = hear(importer, "s.x")
    assert list(faults(importer).values()) == ["its account is not known here"]
    assert any("is not served" in text for _, text in rig.log.lines)
    rig.deploy(a)  # nobody of A is connected: B's waiting brings it here
    exporter = rig.accounts.account(a.id)
    assert exporter is not None
    exporter.publish("s.x", b"1")
    assert heard == [("s.x", b"1")]
    assert faults(importer) == {}


@rigged
async def test_an_update_looks_up_new_exporters(rig: Rig) -> None:
    a = rig.site.account("A", exports=[STREAM])
    b = rig.site.account("B")
    (importer,) = await rig.open(b)
    rig.publish(a)
    rig.deploy(b.set(imports=[taken(a, "s.x")]))
    assert faults(importer)
    await rig.fetch(b)  # waits for the lookup under way
    assert faults(importer) == {}
    assert rig.table.asked == [b.id, a.id]


@rigged
async def test_exports_and_imports_change_without_a_new_subscription(rig: Rig) -> None:
    a = rig.site.account("A", exports=[STREAM])
    b = rig.site.account("B", imports=[taken(a, "s.x")])
    exporter, importer = await rig.open(a, b)
    heard = hear(importer, "s.x")

    def comes() -> bool:
        del heard[:]
        exporter.publish("s.x", b"1")
        return bool(heard)

    assert comes()
    rig.deploy(a.set(exports=[]))
    assert not comes()
    assert "exports no stream" in "".join(faults(importer).values())
    rig.deploy(a.set(exports=[{"subject": "s.x", "type": "stream"}]))
    assert comes()
    rig.deploy(b.set(imports=[]))
    assert not comes()
    rig.deploy(b.set(imports=[taken(a, "s.x")]))
    assert comes()
    rig.accounts.expire(a.id)
    assert not comes()
    rig.deploy(a)
    assert comes()


@rigged
async def test_a_response_still_comes_when_something_else_changes(rig: Rig) -> None:
    a = rig.site.account("A", exports=[SERVICE])
    b = rig.site.account("B", imports=[taken(a, "q.1", "service")])
    exporter, importer = await rig.open(a, b)
    replies: list[str] = []
    exporter.subscribe("q.1", lambda message: replies.append(message.reply))
    inbox = hear(importer, "_INBOX.1")
    importer.publish("q.1", b"?", reply="_INBOX.1")
    rig.deploy(a.set(exports=[SERVICE, STREAM]), b.set(imports=[*b.claims.nats.document()["imports"]]))
    exporter.publish(replies[0], b"late")
    assert inbox == [("_INBOX.1", b"late")]


@rigged
async def test_an_export_that_answers_otherwise_is_taken_over_by_importers(rig: Rig) -> None:
    a = rig.site.account("A", exports=[SERVICE])
    b = rig.site.account("B", imports=[taken(a, "q.1", "service")])
    _, importer = await rig.open(a, b)
    rig.deploy(a.set(exports=[{**SERVICE, "response_type": "Stream", "response_threshold": 5 * SECOND}]))
    export = importer.imports_services[0].export
    assert export.response_type.value == "stream"
    assert export.threshold == 5 * SECOND


@rigged
async def test_the_importers_key_may_have_to_be_in_the_subject(rig: Rig) -> None:
    a = rig.site.account("A", exports=[{"subject": "s.*", "type": "stream", "account_token_position": 2}])
    b, c = rig.site.account("B"), rig.site.account("C")
    b.set(imports=[taken(a, f"s.{b.id}", local_subject="mine")])
    c.set(imports=[taken(a, f"s.{b.id}", local_subject="mine")])
    _, ours, theirs = await rig.open(a, b, c)
    assert faults(ours) == {}
    assert "must be the importing account" in "".join(faults(theirs).values())


@rigged
async def test_overlapping_exports_each_grant_their_own(rig: Rig) -> None:
    a = rig.site.account(
        "A",
        exports=[
            {"subject": "s.x", "type": "stream", "token_req": True},
            {"subject": "s.*", "type": "service"},
            {"subject": "t.>", "type": "stream"},
        ],
    )
    b = rig.site.account("B", imports=[taken(a, "s.x"), taken(a, "t.x.*"), taken(a, "s.x", "service")])
    _, importer = await rig.open(a, b)
    assert [each.subject for each in importer.imports_streams] == ["t.x.*"]
    assert [each.subject for each in importer.imports_services] == ["s.x"]


@rigged
async def test_the_same_import_twice_is_served_once(rig: Rig) -> None:
    a = rig.site.account("A", exports=[STREAM])
    b = rig.site.account("B", imports=[taken(a, "s.x"), taken(a, "s.x", local_subject="y")])
    exporter, importer = await rig.open(a, b)
    heard = hear(importer, ">")
    exporter.publish("s.x", b"1")
    assert heard == [("s.x", b"1")]
    assert list(faults(importer).values()) == ["it is there twice"]


# --- cycles


@rigged
async def test_the_import_that_would_close_a_cycle_waits(rig: Rig) -> None:
    a, b, c = (rig.site.account(name, exports=[STREAM]) for name in "ABC")
    for importer, exporter in ((a, b), (b, c), (c, a)):
        importer.set(imports=[taken(exporter, "s.x")])
    made = await rig.open(a, b, c)
    assert [len(each.imports_streams) for each in made].count(1) == 2
    (waiting,) = (each for each in made if not each.imports_streams)
    assert list(faults(waiting).values()) == ["it forms a cycle"]
    other = next(s for s in (a, b, c) if s.id != waiting.name)
    rig.deploy(other.set(imports=[]))
    assert faults(waiting) == {}
    assert len(waiting.imports_streams) == 1


@rigged
async def test_the_import_that_was_first_stays(rig: Rig) -> None:
    a, b = (rig.site.account(name, exports=[SERVICE]) for name in "AB")
    first, second = await rig.open(a.set(imports=[taken(b, "q.1", "service")]), b)
    rig.deploy(b.set(imports=[taken(a, "q.1", "service")]))
    rig.deploy(a)
    assert len(first.imports_services) == 1
    assert second.imports_services == []


@rigged
async def test_two_accounts_may_import_different_subjects_from_each_other(rig: Rig) -> None:
    a, b = (rig.site.account(name, exports=[SERVICE]) for name in "AB")
    a.set(imports=[taken(b, "q.1", "service")])
    b.set(imports=[taken(a, "q.2", "service")])
    first, second = await rig.open(a, b)
    assert faults(first) == faults(second) == {}


@rigged
async def test_an_account_may_import_from_itself(rig: Rig) -> None:
    a = rig.site.account("A", exports=[STREAM, SERVICE])
    a.set(imports=[taken(a, "s.x", local_subject="s.y"), taken(a, "q.1", "service", local_subject="q.2")])
    (account,) = await rig.open(a)
    heard = hear(account, "s.>")
    account.publish("s.x", b"1")
    assert sorted(heard) == [("s.x", b"1"), ("s.y", b"1")]
    answer(account, "q.1")
    assert ask(account, "q.2") == b"yes"


# --- activations


PRIVATE: dict[str, Any] = {"subject": "p.>", "type": "stream", "token_req": True}


@rigged
async def test_a_private_export_needs_an_activation(rig: Rig) -> None:
    a = rig.site.account("A", exports=[PRIVATE])
    b, c = rig.site.account("B"), rig.site.account("C")
    token = a.activation(b, "p.x", "stream")
    _, ours = await rig.open(a, b.set(imports=[taken(a, "p.x", token=token)]))
    (theirs,) = await rig.open(c.set(imports=[taken(a, "p.x")]))
    assert len(ours.imports_streams) == 1
    assert "has no activation" in "".join(faults(theirs).values())


@rigged
async def test_a_revoked_activation_ends_the_import_at_once(rig: Rig) -> None:
    a = rig.site.account("A", exports=[PRIVATE])
    b = rig.site.account("B")
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream"))])
    exporter, importer = await rig.open(a, b)
    heard = hear(importer, "p.x")
    exporter.publish("p.x", b"1")
    for revoked in ({b.id: rig.site.clock}, {"*": rig.site.clock}):
        rig.deploy(a.set(exports=[{**PRIVATE, "revocations": revoked}]))
        exporter.publish("p.x", b"2")
        assert heard == [("p.x", b"1")]
        assert "revoked" in "".join(faults(importer).values())
    rig.deploy(b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream"))]))
    exporter.publish("p.x", b"3")
    assert heard[1:] == [("p.x", b"3")]


@rigged
async def test_an_activation_ends_in_time(rig: Rig) -> None:
    a = rig.site.account("A", exports=[PRIVATE])
    b = rig.site.account("B")
    end = rig.clock.now() // SECOND + 10
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", exp=end))])
    exporter, importer = await rig.open(a, b)
    heard = hear(importer, "p.x")
    rig.clock.advance(9 * SECOND)
    exporter.publish("p.x", b"1")
    rig.clock.advance(2 * SECOND)
    exporter.publish("p.x", b"2")
    assert heard == [("p.x", b"1")]
    assert "expired" in "".join(faults(importer).values())


@rigged
async def test_a_timer_that_is_early_ends_the_activation_all_the_same(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Event loops run timers a little early, and time goes on while an import is judged."""
    a = rig.site.account("A", exports=[PRIVATE])
    b = rig.site.account("B")
    end = (rig.clock.now() // SECOND + 10) * SECOND
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", exp=end // SECOND))])
    _, importer = await rig.open(a, b)
    moments = iter([end - 1])
    real = rig.clock.now
    monkeypatch.setattr(rig.clock, "now", lambda: next(moments, None) or real())
    rig.clock.advance(20 * SECOND)
    assert importer.imports_streams == []


@rigged
async def test_an_activation_by_a_signing_key_ends_with_that_key(rig: Rig) -> None:
    a = rig.site.account("A", exports=[PRIVATE])
    b = rig.site.account("B")
    key = a.signing_key()
    b.set(imports=[taken(a, "p.x", token=a.activation(b, "p.x", "stream", by=key))])
    _, importer = await rig.open(a, b)
    assert len(importer.imports_streams) == 1
    a.claims.nats.signing_keys.clear()
    rig.deploy(a)
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
async def test_an_account_expires_and_comes_back(rig: Rig) -> None:
    a = rig.site.account("A", jetstream=True)
    a.claims.exp = rig.clock.now() // SECOND + 10
    (account,) = await rig.open(a)
    client, leaf = Connection(1), Connection(2)
    account.connections.add(client)  # type: ignore[arg-type]
    account.leafs.add(leaf)  # type: ignore[arg-type]
    rig.clock.advance(11 * SECOND)
    for connection in (client, leaf):
        assert connection.said == ["Account Authentication Expired", "Authentication Expired"]
    assert rig.accounts.account(a.id) is None
    assert rig.accounts.claims(a.id) is None
    assert account.grants is not None
    assert await refusal(rig, a.id) == "account-expired"
    a.claims.exp = 0
    rig.publish(a)
    assert await rig.fetch(a) is account
    assert rig.told == ["A", "A", "A"]


@rigged
async def test_a_deleted_account_has_no_jetstream_until_it_is_back(rig: Rig) -> None:
    a = rig.site.account("A", jetstream=True)
    (account,) = await rig.open(a)
    rig.accounts.expire(a.id, deleted=True)
    assert account.grants is None
    assert rig.accounts.account(a.id) is None
    rig.deploy(a)
    assert account.grants is not None


@rigged
async def test_a_longer_life_takes_effect(rig: Rig) -> None:
    a = rig.site.account("A")
    a.claims.exp = rig.clock.now() // SECOND + 10
    await rig.open(a)
    a.claims.exp += 10
    rig.deploy(a)
    rig.clock.advance(15 * SECOND)
    assert rig.accounts.account(a.id) is not None
    rig.clock.advance(10 * SECOND)
    assert rig.accounts.account(a.id) is None


@rigged
async def test_a_limit_below_what_is_connected_closes_the_latest(rig: Rig) -> None:
    a = rig.site.account("A")
    (account,) = await rig.open(a)
    clients = [Connection(number) for number in range(1, 6)]
    account.connections |= set(clients)  # type: ignore[arg-type]
    rig.deploy(a.set(limits={"conn": 2}))
    assert [bool(client.said) for client in clients] == [False, False, True, True, True]
    assert clients[-1].said[0] == "maximum account active connections exceeded"


@rigged
async def test_mappings_take_effect_with_the_next_message(rig: Rig) -> None:
    a = rig.site.account("A", mappings={"x": [{"subject": "y"}]})
    (account,) = await rig.open(a)
    assert account.mapped("x") == "y"
    rig.deploy(a.set(mappings={"x": [{"subject": "z", "weight": 100}]}))
    assert account.mapped("x") == "z"
    rig.deploy(a.set(mappings={}))
    assert account.mapped("x") == "x"


@rigged
async def test_a_reload_of_the_configuration_leaves_accounts_from_tokens(rig: Rig) -> None:
    a = rig.site.account("A", exports=[STREAM])
    b = rig.site.account("B", imports=[taken(a, "s.x")])
    exporter, importer = await rig.open(a, b)
    rig.registry.appoint(exporter)
    assert rig.registry.reload(Options(trusted_keys=["x"], system_account=a.id)) == []
    assert rig.registry.system is exporter
    assert rig.registry.get(b.id) is importer
    heard = hear(importer, "s.x")
    exporter.publish("s.x", b"1")
    assert heard == [("s.x", b"1")]


@rigged
async def test_what_is_not_served_is_said(rig: Rig) -> None:
    a = rig.site.account(
        "A",
        exports=[{**SERVICE, "service_latency": {"sampling": 50, "results": "lat"}}],
        authorization={"auth_users": [rig.site.admin.key.public_key]},
        trace={"dest": "traces"},
    )
    await rig.open(a)
    said = "\n".join(text for level, text in rig.log.lines if level == "warning")
    for word in ("latency of service 'q.*'", "auth callout", "message traces"):
        assert word in said
