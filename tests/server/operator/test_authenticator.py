"""Which tokens log in and which do not, each refusal with its own reason, and lookups meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from lib.eventually import turns
from lib.operator_accounts import SECOND
from lib.operator_clients import LoginFixture, with_login_fixture
from lib.operator_fixture import OperatorEnv, User, reheaded, tampered
from pyjs.keys import KeyPair, KeyRole, Reason, Trust

HOUR = 3600
REFUSED = b"-ERR 'Authorization Violation'\r\n"
Case = Callable[[LoginFixture], tuple[User, dict[str, Any]]]


def seconds(logins: LoginFixture, away: int = 0) -> int:
    return logins.clock.now() // SECOND + away


def plain(logins: LoginFixture, **fields: Any) -> User:
    return logins.account().user("ann", **fields)


def token(logins: LoginFixture, change: Callable[[User], str]) -> tuple[User, dict[str, Any]]:
    user = plain(logins)
    return replace(user, token=change(user)), {}


def algorithm(logins: LoginFixture) -> tuple[User, dict[str, Any]]:
    account = logins.account()
    user = account.user()
    return replace(user, token=reheaded(user.token, account.key, alg="HS256")), {}


def operators_own(logins: LoginFixture) -> tuple[User, dict[str, Any]]:
    """A user that the operator's key signed."""
    key = logins.env.key
    return token(logins, lambda user: reheaded(tampered(user.token, iss=key.public_key), key))


def revoked(logins: LoginFixture) -> tuple[User, dict[str, Any]]:
    account = logins.env.account("A")
    user = account.user()
    account.claims.revoke(user.key.public_key, user.issued)
    logins.fixture.publish(account)
    return user, {}


def dated(logins: LoginFixture, **dates: int) -> tuple[User, dict[str, Any]]:
    account = logins.env.account("A")
    for name, value in dates.items():
        setattr(account.claims, name, value)
    logins.fixture.publish(account)
    return account.user(), {}


def foreign(logins: LoginFixture) -> tuple[User, dict[str, Any]]:
    account = OperatorEnv().account("A")
    logins.fixture.publish(account)
    return account.user(), {}


def another(logins: LoginFixture) -> tuple[User, dict[str, Any]]:
    account, other = logins.account(), logins.account("B")
    logins.fixture.table.tokens[account.id] = other.token()
    return account.user(), {}


def strict(logins: LoginFixture) -> tuple[User, dict[str, Any]]:
    logins.fixture.accounts.trust = Trust(MappingProxyType({logins.env.key.public_key: True}))
    return plain(logins), {}


def scoped(logins: LoginFixture, template: dict[str, Any], **user: Any) -> tuple[User, dict[str, Any]]:
    account = logins.env.account("A")
    key = account.scoped_key(**template)
    logins.fixture.publish(account)
    return account.user("ann", by=key, **user), {}


def bearer(logins: LoginFixture) -> tuple[User, dict[str, Any]]:
    return logins.account(limits={"disallow_bearer": True}).user(bearer_token=True), {}


def wrong_nonce(logins: LoginFixture) -> tuple[User, dict[str, Any]]:
    return replace(plain(logins), key=KeyPair.create(KeyRole.USER)), {}


CASES: dict[Reason, Case] = {
    Reason.BAD_TOKEN: lambda logins: (plain(logins), {"jwt": "nonsense"}),
    Reason.BAD_SIGNATURE: lambda logins: token(logins, lambda user: tampered(user.token, name="bob")),
    Reason.BAD_ALGORITHM: algorithm,
    Reason.WRONG_KIND: lambda logins: token(logins, lambda _: logins.account("B").token()),
    Reason.WRONG_ROLE: operators_own,
    Reason.INVALID_CLAIMS: lambda logins: (plain(logins, src=["nowhere"]), {}),
    Reason.USER_EXPIRED: lambda logins: (plain(logins, exp=seconds(logins, -1)), {}),
    Reason.USER_NOT_YET_VALID: lambda logins: (plain(logins, nbf=seconds(logins, HOUR)), {}),
    Reason.USER_REVOKED: revoked,
    Reason.ACCOUNT_EXPIRED: lambda logins: dated(logins, exp=seconds(logins, -1)),
    Reason.ACCOUNT_NOT_YET_VALID: lambda logins: dated(logins, nbf=seconds(logins, HOUR)),
    Reason.UNKNOWN_OPERATOR: foreign,
    Reason.WRONG_ACCOUNT: another,
    Reason.UNKNOWN_ISSUER: lambda logins: (logins.account().user(by=logins.account("B").key), {}),
    Reason.IDENTITY_ISSUED: strict,
    Reason.SCOPE_CONFLICT: lambda logins: scoped(logins, {"subs": 3}, scoped=False),
    Reason.BAD_TEMPLATE: lambda logins: scoped(logins, {"sub": {"deny": ["{{tag(team)}}.>"]}}, scoped=True),
    Reason.BEARER_NOT_ALLOWED: bearer,
    Reason.CONNECTION_TYPE: lambda logins: (plain(logins, allowed_connection_types=["LEAFNODE"]), {}),
    Reason.PROXY_REQUIRED: lambda logins: (plain(logins, proxy_required=True), {}),
    Reason.NONCE_UNSIGNED: lambda logins: (plain(logins), {"sig": ""}),
    Reason.NONCE_SIGNATURE: wrong_nonce,
    Reason.SOURCE_NETWORK: lambda logins: (plain(logins, src=["10.0.0.0/8"]), {}),
    Reason.OUTSIDE_HOURS: lambda logins: (plain(logins, times=night(logins), times_location="UTC"), {}),
}


def night(logins: LoginFixture) -> list[dict[str, str]]:
    """An hour that is not now, in UTC."""
    hour = (logins.clock.now() // SECOND // HOUR + 12) % 24
    return [{"start": f"{hour:02}:00:00", "end": f"{hour:02}:59:59"}]


@pytest.mark.parametrize("reason", CASES)
@with_login_fixture()
async def test_refused(logins: LoginFixture, reason: Reason) -> None:
    user, changes = CASES[reason](logins)
    client = await logins.login(user, **changes)
    assert client.read() == REFUSED
    by_proxy = reason is Reason.PROXY_REQUIRED
    assert client.closed == ("Proxy Required" if by_proxy else "Authentication Failure")
    assert logins.why.startswith("proxy connection required" if by_proxy else f"{reason}: ")
    assert user.token not in "".join(text for _, text in logins.log.lines)


@with_login_fixture()
async def test_let_in(logins: LoginFixture) -> None:
    account = logins.account()
    user = account.user("ann", pub={"allow": ["a.>"]}, subs=1, payload=10, tags=["x:y"])
    client = await logins.login(user)
    assert client.info["auth_required"] is True
    assert len(client.info["nonce"]) == 15
    assert client.says("PUB b 1\r\nx\r\n") == b"-ERR 'Permissions Violation for Publish to \"b\"'\r\n"
    assert client.says("SUB a 1\r\nSUB b 2\r\n") == b"-ERR 'maximum subscriptions exceeded'\r\n"
    who = client.connection.client_info()
    assert {name: who[name] for name in ("user", "acc", "jwt", "issuer_key", "name_tag", "tags")} == {
        "user": user.key.public_key,
        "acc": account.id,
        "jwt": user.token,
        "issuer_key": account.id,
        "name_tag": "ann",
        "tags": ["x:y"],
    }
    assert client.says("PUB a.b 11\r\n" + "x" * 11 + "\r\n") == b"-ERR 'Maximum Payload Violation'\r\n"


@pytest.mark.parametrize("subs", [0, -2])
@with_login_fixture()
async def test_a_token_without_a_subscription_is_sent_away(logins: LoginFixture, subs: int) -> None:
    client = await logins.login(logins.account().user(subs=subs))
    assert client.read() == b"-ERR 'maximum subscriptions exceeded'\r\n"
    assert client.closed == "Maximum Subscriptions Exceeded"


@with_login_fixture()
async def test_default_permissions_are_of_those_without_their_own(logins: LoginFixture) -> None:
    account = logins.account(default_permissions={"pub": {"deny": ["no"]}})
    plainly, own = await logins.login(account.user()), await logins.login(account.user(sub={"allow": [">"]}))
    assert plainly.says("PUB no 0\r\n\r\n").startswith(b"-ERR 'Permissions Violation")
    assert own.says("PUB no 0\r\n\r\n") == b""


@with_login_fixture()
async def test_a_client_waits_for_its_account(logins: LoginFixture) -> None:
    user = plain(logins)
    logins.fixture.table.may_answer.clear()
    client = await logins.login(user)
    client.connection.receive(b"PING\r\n")
    assert client.read() == b""
    assert client.wire.paused
    logins.fixture.table.may_answer.set()
    await turns()
    assert client.read().startswith(b"PONG\r\n")
    assert not client.wire.paused


@with_login_fixture()
async def test_who_waits_too_long_for_its_account_is_sent_away(logins: LoginFixture) -> None:
    account = logins.account()
    user = account.user()
    logins.fixture.table.may_answer.clear()
    client = await logins.login(user)
    logins.clock.advance(logins.options.auth_timeout)
    assert client.read() == b"-ERR 'Authentication Timeout'\r\n"
    assert client.closed == "Authentication Timeout"
    logins.fixture.table.may_answer.set()
    await turns()
    assert client.connection.account is None
    assert logins.registry.accounts[account.id].connections == set()


@with_login_fixture()
async def test_a_lookup_that_fails_unforeseen_is_a_refusal(
    logins: LoginFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(key: str) -> str:
        raise TypeError(f"no token for {key}")

    user = logins.account().user()
    monkeypatch.setattr(logins.fixture.table, "fetch", broken)
    client = await logins.login(user)
    assert client.read() == REFUSED
    assert "TypeError" in logins.why


@with_login_fixture()
async def test_nothing_but_connect_is_served_before(logins: LoginFixture) -> None:
    client = logins.client()
    assert client.says("PING\r\n") == REFUSED


@with_login_fixture()
async def test_no_token_is_no_login(logins: LoginFixture) -> None:
    client = await logins.login(plain(logins), jwt="", user="ann", **{"pass": "x"})
    assert client.read() == REFUSED


@with_login_fixture()
async def test_a_sentinel_stands_in_for_no_token(logins: LoginFixture) -> None:
    account = logins.account()
    sentinel = account.user("nobody", bearer_token=True)
    logins.options.default_sentinel = sentinel.token
    logins.authenticator.reload(logins.options)
    for given in ("", "nonsense"):
        client = await logins.login(sentinel, jwt=given, sig="")
        assert client.closed == ""
        assert client.connection.client_info()["name_tag"] == "nobody"
    late = account.user(exp=seconds(logins, -5))
    assert (await logins.login(late)).closed == "Authentication Failure"


@with_login_fixture()
async def test_only_pinned_accounts_are_used(logins: LoginFixture) -> None:
    account, other = logins.account(), logins.account("B")
    logins.fixture.publish(logins.env.sys)
    logins.options.resolver_pinned_accounts = [account.id]
    logins.authenticator.reload(logins.options)
    assert (await logins.login(account.user())).closed == ""
    assert (await logins.login(logins.env.admin)).closed == ""
    assert (await logins.login(other.user())).closed == "Authentication Failure"
    assert logins.fixture.table.asked == [account.id, logins.env.sys.id]
    assert logins.authenticator.not_pinned == 1


@with_login_fixture()
async def test_of_an_account_with_auth_callout_only_its_auth_users_come_in(logins: LoginFixture) -> None:
    account = logins.env.account("A")
    able, other = account.user(), account.user()
    account.set(authorization={"auth_users": [able.key.public_key]})
    logins.fixture.publish(account)
    assert (await logins.login(able)).closed == ""
    assert (await logins.login(other)).closed == "Authentication Failure"
    assert "auth callout" in logins.why
