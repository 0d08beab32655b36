"""Who gets in with a token and who does not, each refusal for its own reason, and lookups meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from lib.eventually import turns
from lib.operator_accounts import SECOND
from lib.operator_clients import Door, at_the_door
from lib.operator_fixture import OperatorSite, User, reheaded, tampered
from pyjs.keys import KeyPair, KeyRole, Reason, Trust

HOUR = 3600
REFUSED = b"-ERR 'Authorization Violation'\r\n"
Case = Callable[[Door], tuple[User, dict[str, Any]]]


def seconds(door: Door, away: int = 0) -> int:
    return door.clock.now() // SECOND + away


def plain(door: Door, **fields: Any) -> User:
    return door.account().user("ann", **fields)


def token(door: Door, change: Callable[[User], str]) -> tuple[User, dict[str, Any]]:
    user = plain(door)
    return replace(user, token=change(user)), {}


def algorithm(door: Door) -> tuple[User, dict[str, Any]]:
    account = door.account()
    user = account.user()
    return replace(user, token=reheaded(user.token, account.key, alg="HS256")), {}


def operators_own(door: Door) -> tuple[User, dict[str, Any]]:
    """A user that the operator's key signed."""
    key = door.site.key
    return token(door, lambda user: reheaded(tampered(user.token, iss=key.public_key), key))


def revoked(door: Door) -> tuple[User, dict[str, Any]]:
    account = door.site.account("A")
    user = account.user()
    account.claims.revoke(user.key.public_key, user.issued)
    door.rig.publish(account)
    return user, {}


def dated(door: Door, **dates: int) -> tuple[User, dict[str, Any]]:
    account = door.site.account("A")
    for name, value in dates.items():
        setattr(account.claims, name, value)
    door.rig.publish(account)
    return account.user(), {}


def foreign(door: Door) -> tuple[User, dict[str, Any]]:
    account = OperatorSite().account("A")
    door.rig.publish(account)
    return account.user(), {}


def another(door: Door) -> tuple[User, dict[str, Any]]:
    account, other = door.account(), door.account("B")
    door.rig.table.tokens[account.id] = other.token()
    return account.user(), {}


def strict(door: Door) -> tuple[User, dict[str, Any]]:
    door.rig.accounts.trust = Trust(MappingProxyType({door.site.key.public_key: True}))
    return plain(door), {}


def scoped(door: Door, template: dict[str, Any], **user: Any) -> tuple[User, dict[str, Any]]:
    account = door.site.account("A")
    key = account.scoped_key(**template)
    door.rig.publish(account)
    return account.user("ann", by=key, **user), {}


def bearer(door: Door) -> tuple[User, dict[str, Any]]:
    return door.account(limits={"disallow_bearer": True}).user(bearer_token=True), {}


def wrong_nonce(door: Door) -> tuple[User, dict[str, Any]]:
    return replace(plain(door), key=KeyPair.create(KeyRole.USER)), {}


CASES: dict[Reason, Case] = {
    Reason.BAD_TOKEN: lambda door: (plain(door), {"jwt": "nonsense"}),
    Reason.BAD_SIGNATURE: lambda door: token(door, lambda user: tampered(user.token, name="bob")),
    Reason.BAD_ALGORITHM: algorithm,
    Reason.WRONG_KIND: lambda door: token(door, lambda _: door.account("B").token()),
    Reason.WRONG_ROLE: operators_own,
    Reason.INVALID_CLAIMS: lambda door: (plain(door, src=["nowhere"]), {}),
    Reason.USER_EXPIRED: lambda door: (plain(door, exp=seconds(door, -1)), {}),
    Reason.USER_NOT_YET_VALID: lambda door: (plain(door, nbf=seconds(door, HOUR)), {}),
    Reason.USER_REVOKED: revoked,
    Reason.ACCOUNT_EXPIRED: lambda door: dated(door, exp=seconds(door, -1)),
    Reason.ACCOUNT_NOT_YET_VALID: lambda door: dated(door, nbf=seconds(door, HOUR)),
    Reason.UNKNOWN_OPERATOR: foreign,
    Reason.WRONG_ACCOUNT: another,
    Reason.UNKNOWN_ISSUER: lambda door: (door.account().user(by=door.account("B").key), {}),
    Reason.IDENTITY_ISSUED: strict,
    Reason.SCOPE_CONFLICT: lambda door: scoped(door, {"subs": 3}, scoped=False),
    Reason.BAD_TEMPLATE: lambda door: scoped(door, {"sub": {"deny": ["{{tag(team)}}.>"]}}, scoped=True),
    Reason.BEARER_NOT_ALLOWED: bearer,
    Reason.CONNECTION_TYPE: lambda door: (plain(door, allowed_connection_types=["LEAFNODE"]), {}),
    Reason.PROXY_REQUIRED: lambda door: (plain(door, proxy_required=True), {}),
    Reason.NONCE_UNSIGNED: lambda door: (plain(door), {"sig": ""}),
    Reason.NONCE_SIGNATURE: wrong_nonce,
    Reason.SOURCE_NETWORK: lambda door: (plain(door, src=["10.0.0.0/8"]), {}),
    Reason.OUTSIDE_HOURS: lambda door: (plain(door, times=night(door), times_location="UTC"), {}),
}


def night(door: Door) -> list[dict[str, str]]:
    """An hour that is not now, in UTC."""
    hour = (door.clock.now() // SECOND // HOUR + 12) % 24
    return [{"start": f"{hour:02}:00:00", "end": f"{hour:02}:59:59"}]


@pytest.mark.parametrize("reason", CASES)
@at_the_door()
async def test_refused(door: Door, reason: Reason) -> None:
    user, changes = CASES[reason](door)
    client = await door.login(user, **changes)
    assert client.read() == REFUSED
    assert client.closed == "Authentication Failure"
    assert door.why.startswith(f"{reason}: ")
    assert user.token not in "".join(text for _, text in door.log.lines)


@at_the_door()
async def test_let_in(door: Door) -> None:
    account = door.account()
    user = account.user("ann", pub={"allow": ["a.>"]}, subs=1, payload=10, tags=["x:y"])
    client = await door.login(user)
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
@at_the_door()
async def test_a_token_without_a_subscription_is_sent_away(door: Door, subs: int) -> None:
    client = await door.login(door.account().user(subs=subs))
    assert client.read() == b"-ERR 'maximum subscriptions exceeded'\r\n"
    assert client.closed == "Maximum Subscriptions Exceeded"


@at_the_door()
async def test_default_permissions_are_of_those_without_their_own(door: Door) -> None:
    account = door.account(default_permissions={"pub": {"deny": ["no"]}})
    plainly, own = await door.login(account.user()), await door.login(account.user(sub={"allow": [">"]}))
    assert plainly.says("PUB no 0\r\n\r\n").startswith(b"-ERR 'Permissions Violation")
    assert own.says("PUB no 0\r\n\r\n") == b""


@at_the_door()
async def test_a_client_waits_for_its_account(door: Door) -> None:
    user = plain(door)
    door.rig.table.gate.clear()
    client = await door.login(user)
    client.connection.receive(b"PING\r\n")
    assert client.read() == b""
    assert client.wire.paused
    door.rig.table.gate.set()
    await turns()
    assert client.read().startswith(b"PONG\r\n")
    assert not client.wire.paused


@at_the_door()
async def test_who_waits_too_long_for_its_account_is_sent_away(door: Door) -> None:
    account = door.account()
    user = account.user()
    door.rig.table.gate.clear()
    client = await door.login(user)
    door.clock.advance(door.options.auth_timeout)
    assert client.read() == b"-ERR 'Authentication Timeout'\r\n"
    assert client.closed == "Authentication Timeout"
    door.rig.table.gate.set()
    await turns()
    assert client.connection.account is None
    assert door.registry.accounts[account.id].connections == set()


@at_the_door()
async def test_a_lookup_that_fails_unforeseen_is_a_refusal(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(key: str) -> str:
        raise TypeError(f"no token for {key}")

    user = door.account().user()
    monkeypatch.setattr(door.rig.table, "fetch", broken)
    client = await door.login(user)
    assert client.read() == REFUSED
    assert "TypeError" in door.why


@at_the_door()
async def test_nothing_but_connect_is_served_before(door: Door) -> None:
    client = door.client()
    assert client.says("PING\r\n") == REFUSED


@at_the_door()
async def test_no_token_is_no_login(door: Door) -> None:
    client = await door.login(plain(door), jwt="", user="ann", **{"pass": "x"})
    assert client.read() == REFUSED


@at_the_door()
async def test_a_sentinel_stands_in_for_no_token(door: Door) -> None:
    account = door.account()
    sentinel = account.user("nobody", bearer_token=True)
    door.options.default_sentinel = sentinel.token
    door.authenticator.reload(door.options)
    for given in ("", "nonsense"):
        client = await door.login(sentinel, jwt=given, sig="")
        assert client.closed == ""
        assert client.connection.client_info()["name_tag"] == "nobody"
    late = account.user(exp=seconds(door, -5))
    assert (await door.login(late)).closed == "Authentication Failure"


@at_the_door()
async def test_only_pinned_accounts_are_used(door: Door) -> None:
    account, other = door.account(), door.account("B")
    door.rig.publish(door.site.sys)
    door.options.resolver_pinned_accounts = [account.id]
    door.authenticator.reload(door.options)
    assert (await door.login(account.user())).closed == ""
    assert (await door.login(door.site.admin)).closed == ""
    assert (await door.login(other.user())).closed == "Authentication Failure"
    assert door.rig.table.asked == [account.id, door.site.sys.id]
    assert door.authenticator.not_pinned == 1


@at_the_door()
async def test_of_an_account_with_auth_callout_only_its_auth_users_come_in(door: Door) -> None:
    account = door.site.account("A")
    able, other = account.user(), account.user()
    account.set(authorization={"auth_users": [able.key.public_key]})
    door.rig.publish(account)
    assert (await door.login(able)).closed == ""
    assert (await door.login(other)).closed == "Authentication Failure"
    assert "auth callout" in door.why
