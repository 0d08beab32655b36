"""Logins that stand: they end in time, and follow every change of their account."""

from __future__ import annotations

import pytest
from lib.operator_accounts import SECOND
from lib.operator_clients import Door, at_the_door
from pyjs.keys import KeyPair, KeyRole

HOUR = 3600
EXPIRED = b"-ERR 'User Authentication Expired'\r\n"
REVOKED = b"-ERR 'User Authentication Revoked'\r\n"


@at_the_door()
async def test_a_session_ends_with_its_token_to_the_moment(door: Door) -> None:
    end = door.clock.now() // SECOND + 60
    client = await door.login(door.account().user(exp=end))
    door.clock.advance(end * SECOND - door.clock.now() - 1)
    assert client.says("PING\r\n").endswith(b"PONG\r\n") or client.closed == ""
    client.read()
    door.clock.advance(1)
    assert client.read() == EXPIRED
    assert client.closed == "Authentication Expired"


@at_the_door(ping_interval=10 * HOUR * SECOND)
async def test_a_session_ends_with_its_hours(door: Door) -> None:
    hour = door.clock.now() // SECOND // HOUR % 24
    hours = [{"start": f"{(hour + 23) % 24:02}:00:00", "end": f"{(hour + 1) % 24:02}:00:00"}]
    client = await door.login(door.account().user(times=hours, times_location="UTC"))
    assert client.closed == ""
    session = client.connection.handshake.user
    assert session is not None
    assert session.session is not None
    end = (door.clock.now() // SECOND // HOUR + 1) * HOUR * SECOND
    assert session.session.expires == end
    door.clock.advance(end - door.clock.now())
    assert client.closed == "Authentication Expired"


@at_the_door()
async def test_a_second_connect_leaves_the_first_login_behind(door: Door) -> None:
    account = door.account()
    end = door.clock.now() // SECOND + 60
    client = await door.login(account.user(exp=end))
    door.says_who(client, account.user())
    door.clock.advance(100 * SECOND)
    assert client.closed == ""


@at_the_door()
async def test_a_revocation_closes_what_stands_on_older_tokens(door: Door) -> None:
    account = door.account()
    gone, stays = account.user(), account.user()
    first, second = await door.login(gone), await door.login(stays)
    account.claims.revoke(gone.key.public_key, gone.issued)
    door.rig.deploy(account)
    assert first.read() == REVOKED
    assert first.closed == "Credentials Revoked"
    assert second.closed == ""


@at_the_door()
async def test_a_signing_key_taken_away_closes_without_a_word(door: Door) -> None:
    account = door.site.account("A")
    account.signing_key()
    door.rig.publish(account)
    client = await door.login(account.user())
    client.read()
    account.claims.nats.signing_keys.clear()
    door.rig.deploy(account)
    assert client.read() == b""
    assert client.closed == "Authentication Failure"


@pytest.mark.parametrize("change", ["template", "plain", "role"])
@at_the_door()
async def test_another_scope_closes_without_a_word(door: Door, change: str) -> None:
    account = door.site.account("A")
    key = account.scoped_key(pub={"allow": ["a"]})
    door.rig.publish(account)
    client = await door.login(account.user(by=key, scoped=True))
    assert client.closed == ""
    client.read()
    keys = account.claims.nats.signing_keys
    scope = keys[key.public_key]
    assert scope is not None
    if change == "plain":
        keys[key.public_key] = None
    elif change == "role":
        keys[key.public_key] = scope.model_copy(update={"role": "other"})
    else:
        scope.template.pub.allow = ["b"]
    door.rig.deploy(account)
    assert client.read() == b""
    assert client.closed == "Authentication Failure"


@at_the_door()
async def test_bearers_are_told_when_they_are_no_longer_allowed(door: Door) -> None:
    account = door.account()
    client = await door.login(account.user(bearer_token=True), sig="")
    client.read()
    account.set(limits={"disallow_bearer": True})
    door.rig.deploy(account)
    assert client.read() == b"-ERR 'Authorization Violation'\r\n"
    assert client.closed == "Authentication Failure"


@at_the_door()
async def test_other_default_permissions_hold_at_once(door: Door) -> None:
    account = door.account()
    client = await door.login(account.user())
    client.says("SUB a 1\r\nSUB b 2\r\n")
    account.set(default_permissions={"sub": {"deny": ["b"]}, "pub": {"deny": ["c"]}})
    door.rig.deploy(account)
    assert client.read() == b'-ERR \'Permissions Violation for Subscription to "b" (sid "2")\'\r\n'
    assert client.says("PUB c 0\r\n\r\n") == b"-ERR 'Permissions Violation for Publish to \"c\"'\r\n"
    assert client.says("PUB a 0\r\n\r\n") == b"MSG a 1 0\r\n\r\n"
    account.set(default_permissions={})
    door.rig.deploy(account)
    assert client.says("PUB c 0\r\n\r\nSUB b 2\r\nPUB b 0\r\n\r\n") == b"MSG b 2 0\r\n\r\n"


@at_the_door()
async def test_other_limits_hold_at_once(door: Door) -> None:
    account = door.account()
    client, other = await door.login(account.user()), await door.login(account.user())
    client.says("SUB a 1\r\nSUB b 2\r\n")
    account.set(limits={"subs": 1, "payload": 5})
    door.rig.deploy(account)
    assert client.read() == b"-ERR 'maximum subscriptions exceeded'\r\n"
    assert client.closed == "Maximum Subscriptions Exceeded"
    other.read()
    assert other.says("PUB a 6\r\n123456\r\n") == b"-ERR 'Maximum Payload Violation'\r\n"


@at_the_door()
async def test_the_latest_connections_go_when_fewer_are_allowed(door: Door) -> None:
    account = door.account()
    clients = [await door.login(account.user()) for _ in range(3)]
    account.set(limits={"conn": 1})
    door.rig.deploy(account)
    closed = [client.closed for client in clients]
    assert closed == ["", *["Maximum Account Connections Exceeded"] * 2]


@at_the_door()
async def test_an_account_whose_time_is_over_closes_all(door: Door) -> None:
    account = door.site.account("A")
    account.claims.exp = door.clock.now() // SECOND + 60
    door.rig.publish(account)
    client = await door.login(account.user())
    client.read()
    door.clock.advance(61 * SECOND)
    assert client.read().endswith(b"-ERR 'Account Authentication Expired'\r\n")
    assert client.closed == "Authentication Expired"


@at_the_door()
async def test_a_push_that_changes_nothing_disturbs_nobody(door: Door) -> None:
    account = door.account()
    client = await door.login(account.user(subs=1))
    client.says("SUB a 1\r\n")
    account.claims.name = "other"
    door.rig.deploy(account)
    assert client.says("PUB a 1\r\nx\r\n") == b"MSG a 1 1\r\nx\r\n"


@at_the_door()
async def test_a_session_of_a_closed_connection_is_forgotten(door: Door) -> None:
    account = door.account()
    key = KeyPair.create(KeyRole.USER)
    client = await door.login(account.user(key=key, exp=door.clock.now() // SECOND + 60))
    client.connection.lost()
    account.claims.revoke(key.public_key, door.clock.now() // SECOND)
    door.rig.deploy(account)
    door.clock.advance(100 * SECOND)
    assert client.closed == "Client Closed"
    assert door.registry.accounts[account.id].connections == set()


@at_the_door()
async def test_a_reload_judges_anew(door: Door) -> None:
    account = door.account()
    client = await door.login(account.user())
    client.read()
    door.options.max_payload = 5
    door.clients.reload(door.options)
    assert client.closed == ""
    assert client.says("PUB a 6\r\n123456\r\n") == b"-ERR 'Maximum Payload Violation'\r\n"
