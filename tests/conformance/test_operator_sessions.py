"""Operator mode: open connections when their tokens expire or their account's token is replaced."""

from __future__ import annotations

import json

import pytest
from lib.eventually import eventually
from lib.operator_fixture import Deployment, OperatorAccount, User, soon
from lib.wire import Msg, Wire
from pyjs.keys import KeyPair, KeyRole

EXPIRED = [b"-ERR 'User Authentication Expired'"]
REVOKED = [b"-ERR 'User Authentication Revoked'"]
ACCOUNT_EXPIRED = [b"-ERR 'Account Authentication Expired'"]


def test_a_session_ends_with_its_token(op: Deployment) -> None:
    account = op.account("A")
    brief = account.user(exp=soon(2))
    with brief.connect(op.server) as wire, account.user().connect(op.server) as other:
        assert wire.ends() == EXPIRED
        assert other.sync() == []
    # In the very second of its end the token still opens the door, for no time at all.
    eventually(lambda: brief.refusal(op.server) == [b"-ERR 'Authorization Violation'"])


def test_sessions_end_with_their_accounts_token(op: Deployment) -> None:
    account = op.account("A")
    with account.user().connect(op.server) as wire:
        account.claims.exp = soon(2)
        op.push(account)
        assert wire.ends() == ACCOUNT_EXPIRED
    eventually(lambda: account.user().refusal(op.server) == [b"-ERR 'Authorization Violation'"])


def test_a_longer_token_for_the_account_comes_in_time(op: Deployment) -> None:
    account, other = op.env.account("A"), op.account("B")
    account.claims.exp = soon(2)
    op.push(account)
    with account.user().connect(op.server) as wire, other.user(exp=soon(3)).connect(op.server) as watch:
        account.claims.exp = soon(3600)
        op.push(account)
        assert watch.ends() == EXPIRED
        assert wire.sync() == []


@pytest.mark.parametrize("who", ["user", "*"])
def test_a_revocation_ends_sessions_of_older_tokens(op: Deployment, who: str) -> None:
    account = op.account("A")
    key = KeyPair.create(KeyRole.USER)
    old = account.user(key=key)
    newer = account.user(key=key)
    bystander = account.user()
    with (
        old.connect(op.server) as one,
        newer.connect(op.server) as two,
        bystander.connect(op.server) as three,
    ):
        account.claims.revoke(key.public_key if who == "user" else "*", old.issued)
        op.push(account)
        assert one.ends() == REVOKED
        assert two.sync() == []
        assert three.sync() == []
    assert old.refusal(op.server) == [b"-ERR 'Authorization Violation'"]


def test_a_revocation_taken_back_lets_the_token_in_again(op: Deployment) -> None:
    account = op.env.account("A")
    user = account.user()
    account.claims.revoke(user.key.public_key, user.issued)
    op.push(account)
    assert user.refusal(op.server) == [b"-ERR 'Authorization Violation'"]
    account.claims.nats.revocations = {}
    op.push(account)
    with user.connect(op.server) as wire:
        assert wire.sync() == []


def test_a_signing_key_taken_away_ends_its_users_sessions(op: Deployment) -> None:
    """Without a word, as the reference does."""
    account = op.env.account("A")
    signing = account.signing_key()
    op.push(account)
    own, lent = account.user(by=account.key), account.user(by=signing)
    with own.connect(op.server) as stays, lent.connect(op.server) as goes:
        account.claims.nats.signing_keys = {}
        op.push(account)
        assert goes.ends() == []
        assert stays.sync() == []


def test_bearers_are_sent_away_when_they_are_no_longer_allowed(op: Deployment) -> None:
    account = op.account("A")
    bearer, signs = account.user(bearer_token=True), account.user()
    with bearer.connect(op.server, sig="") as goes, signs.connect(op.server) as stays:
        account.set(limits={"disallow_bearer": True})
        op.push(account)
        assert goes.ends() == [b"-ERR 'Authorization Violation'"]
        assert stays.sync() == []


def test_fewer_connections_than_stand(op: Deployment) -> None:
    account = op.account("A")
    wires = [account.user().connect(op.server) for _ in range(3)]
    account.set(limits={"conn": 1})
    op.push(account)
    said = [alive(wire) for wire in wires]
    assert sorted(said) == ["", *["-ERR 'maximum account active connections exceeded'"] * 2]
    for wire in wires:
        wire.close()


def alive(wire: Wire) -> str:
    """ "" for a connection that answers, else its last words."""
    try:
        frames = wire.sync()
    except EOFError:
        return "closed"
    return "".join(f.decode() for f in frames if isinstance(f, bytes))


def test_one_connection_more_than_allowed(op: Deployment) -> None:
    account = op.account("A", limits={"conn": 1})
    with account.user().connect(op.server):
        assert account.user().refusal(op.server) == [b"-ERR 'maximum account active connections exceeded'"]
    eventually(lambda: admitted(account.user(), op))


def admitted(user: User, op: Deployment) -> bool:
    try:
        user.connect(op.server).close()
    except ConnectionError:
        return False
    return True


def test_an_account_for_which_no_connection_is_allowed(op: Deployment) -> None:
    account = op.account("A", limits={"conn": 0})
    assert account.user().refusal(op.server) == [b"-ERR 'maximum account active connections exceeded'"]


@pytest.mark.parametrize("where", ["user", "account"])
def test_subscriptions_beyond_the_limit(op: Deployment, where: str) -> None:
    account = op.account("A", limits={"subs": 2} if where == "account" else {})
    user = account.user(subs=2) if where == "user" else account.user()
    with user.connect(op.server) as wire:
        for number in range(2):
            wire.sub(f"subject.{number}", str(number))
        assert wire.sync() == []
        wire.sub("one.more", "9")
        assert wire.sync() == [b"-ERR 'maximum subscriptions exceeded'"]


@pytest.mark.parametrize("where", ["user", "account", "both"])
def test_payloads_beyond_the_limit(op: Deployment, where: str) -> None:
    """The smaller of the two counts."""
    account = op.account("A", limits={"payload": 10 if where == "account" else 20} if where != "user" else {})
    user = account.user(payload=10) if where != "account" else account.user()
    with user.connect(op.server) as wire:
        wire.pub("subject", "x" * 10)
        assert wire.sync() == []
        wire.send("PUB subject 11\r\n" + "x" * 11 + "\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


def test_a_smaller_payload_limit_holds_at_once(op: Deployment) -> None:
    account = op.account("A")
    with account.user().connect(op.server) as wire:
        wire.pub("subject", "x" * 100)
        assert wire.sync() == []
        account.set(limits={"payload": 10})
        op.push(account)
        wire.send("PUB subject 11\r\n" + "x" * 11 + "\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


def test_a_larger_subscription_limit_holds_at_once(op: Deployment) -> None:
    account = op.account("A", limits={"subs": 1})
    with account.user().connect(op.server) as wire:
        wire.sub("a", "1")
        wire.sub("b", "2")
        assert wire.sync() == [b"-ERR 'maximum subscriptions exceeded'"]
        account.set(limits={"subs": 2})
        op.push(account)
        wire.sub("b", "2")
        assert wire.sync() == []


def test_a_deleted_account_is_sent_away(op: Deployment) -> None:
    account, other = op.account("A"), op.account("B")
    with account.user().connect(op.server) as goes, other.user().connect(op.server) as stays:
        answer = op.env.delete(op.server, account, by=op.env.signer)
        assert answer["data"] == {"code": 200, "message": "deleted 1 accounts"}
        assert goes.ends() == ACCOUNT_EXPIRED
        assert stays.sync() == []
    assert account.user().refusal(op.server) == [b"-ERR 'Authorization Violation'"]
    op.push(account)
    with account.user().connect(op.server) as wire:
        assert wire.sync() == []


def test_an_unchanged_push_disturbs_nobody(op: Deployment) -> None:
    account = op.account("A")
    with account.user().connect(op.server) as wire:
        wire.sub("subject")
        wire.sync()
        op.push(account)
        wire.pub("subject", "x")
        assert [m.body for m in wire.sync() if isinstance(m, Msg)] == [b"x"]


def events(wire: Wire, account: OperatorAccount) -> None:
    for number, kind in enumerate(("CONNECT", "DISCONNECT")):
        wire.sub(f"$SYS.ACCOUNT.{account.id}.{kind}", str(number))
    wire.sync()


def test_the_system_account_hears_who_comes_and_goes(op: Deployment) -> None:
    account = op.account("A")
    signing = account.signing_key()
    op.push(account)
    user = account.user("ann", by=signing, tags=["tagged:x"])
    with op.env.system(op.server) as watch:
        events(watch, account)
        with user.connect(op.server):
            came = json.loads(watch.msg().body)["client"]
        went = json.loads(watch.msg().body)
    expected = {
        "acc": account.id,
        "user": user.key.public_key,
        "name_tag": "A",
        "name": "ann",
        "jwt": user.token,
        "issuer_key": signing.public_key,
        "tags": ["tagged:x"],
    }
    assert {k: came.get(k) for k in expected} == expected
    assert {k: went["client"].get(k) for k in expected} == expected
    assert went["reason"] == "Client Closed"


def test_the_system_account_hears_why_a_session_ended(op: Deployment) -> None:
    account = op.account("A")
    user = account.user()
    with op.env.system(op.server) as watch:
        events(watch, account)
        with user.connect(op.server) as wire:
            account.claims.revoke(user.key.public_key, user.issued)
            op.push(account)
            assert wire.ends() == REVOKED
            watch.msg()
            assert json.loads(watch.msg().body)["reason"] == "Credentials Revoked"
