"""Accounts from tokens: found, changed while in use, expired; and what they import from each other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lib.eventually import turns
from lib.operator_accounts import SECOND, AccountsEnv, hear, rigged
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
async def test_a_token_says_where_traces_go(fixture: AccountsEnv) -> None:
    a = fixture.env.account("A", trace={"dest": "traces"})
    (account,) = await fixture.open(a)
    assert account.trace_target == ("traces", 100)
