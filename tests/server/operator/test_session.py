"""Open sessions end in time, and follow every change of their account."""

from __future__ import annotations

import pytest
from lib.operator_accounts import SECOND
from lib.operator_clients import LoginFixture, with_login_fixture
from pyjs.keys import KeyPair, KeyRole

HOUR = 3600
EXPIRED = b"-ERR 'User Authentication Expired'\r\n"
REVOKED = b"-ERR 'User Authentication Revoked'\r\n"


@with_login_fixture()
async def test_a_session_ends_with_its_token_to_the_moment(logins: LoginFixture) -> None:
    end = logins.clock.now() // SECOND + 60
    client = await logins.login(logins.account().user(exp=end))
    logins.clock.advance(end * SECOND - logins.clock.now() - 1)
    assert client.says("PING\r\n").endswith(b"PONG\r\n") or client.closed == ""
    client.read()
    logins.clock.advance(1)
    assert client.read() == EXPIRED
    assert client.closed == "Authentication Expired"


@with_login_fixture(ping_interval=10 * HOUR * SECOND)
async def test_a_session_ends_with_its_hours(logins: LoginFixture) -> None:
    hour = logins.clock.now() // SECOND // HOUR % 24
    hours = [{"start": f"{(hour + 23) % 24:02}:00:00", "end": f"{(hour + 1) % 24:02}:00:00"}]
    client = await logins.login(logins.account().user(times=hours, times_location="UTC"))
    assert client.closed == ""
    session = client.connection.user
    assert session is not None
    assert session.session is not None
    end = (logins.clock.now() // SECOND // HOUR + 1) * HOUR * SECOND
    assert session.session.expires == end
    logins.clock.advance(end - logins.clock.now())
    assert client.closed == "Authentication Expired"


@with_login_fixture()
async def test_a_second_connect_ends_the_first_login(logins: LoginFixture) -> None:
    account = logins.account()
    end = logins.clock.now() // SECOND + 60
    client = await logins.login(account.user(exp=end))
    logins.says_who(client, account.user())
    logins.clock.advance(100 * SECOND)
    assert client.closed == ""


@with_login_fixture()
async def test_a_revocation_closes_what_stands_on_older_tokens(logins: LoginFixture) -> None:
    account = logins.account()
    gone, stays = account.user(), account.user()
    first, second = await logins.login(gone), await logins.login(stays)
    account.claims.revoke(gone.key.public_key, gone.issued)
    logins.fixture.deploy(account)
    assert first.read() == REVOKED
    assert first.closed == "Credentials Revoked"
    assert second.closed == ""


@with_login_fixture()
async def test_a_signing_key_taken_away_closes_without_a_word(logins: LoginFixture) -> None:
    account = logins.env.account("A")
    account.signing_key()
    logins.fixture.publish(account)
    client = await logins.login(account.user())
    client.read()
    account.claims.nats.signing_keys.clear()
    logins.fixture.deploy(account)
    assert client.read() == b""
    assert client.closed == "Authentication Failure"


@pytest.mark.parametrize("change", ["template", "plain", "role"])
@with_login_fixture()
async def test_another_scope_closes_without_a_word(logins: LoginFixture, change: str) -> None:
    account = logins.env.account("A")
    key = account.scoped_key(pub={"allow": ["a"]})
    logins.fixture.publish(account)
    client = await logins.login(account.user(by=key, scoped=True))
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
    logins.fixture.deploy(account)
    assert client.read() == b""
    assert client.closed == "Authentication Failure"


@with_login_fixture()
async def test_bearers_get_an_error_when_they_are_no_longer_allowed(logins: LoginFixture) -> None:
    account = logins.account()
    client = await logins.login(account.user(bearer_token=True), sig="")
    client.read()
    account.set(limits={"disallow_bearer": True})
    logins.fixture.deploy(account)
    assert client.read() == b"-ERR 'Authorization Violation'\r\n"
    assert client.closed == "Authentication Failure"


@with_login_fixture()
async def test_other_default_permissions_hold_at_once(logins: LoginFixture) -> None:
    account = logins.account()
    client = await logins.login(account.user())
    client.says("SUB a 1\r\nSUB b 2\r\n")
    account.set(default_permissions={"sub": {"deny": ["b"]}, "pub": {"deny": ["c"]}})
    logins.fixture.deploy(account)
    assert client.read() == b'-ERR \'Permissions Violation for Subscription to "b" (sid "2")\'\r\n'
    assert client.says("PUB c 0\r\n\r\n") == b"-ERR 'Permissions Violation for Publish to \"c\"'\r\n"
    assert client.says("PUB a 0\r\n\r\n") == b"MSG a 1 0\r\n\r\n"
    account.set(default_permissions={})
    logins.fixture.deploy(account)
    assert client.says("PUB c 0\r\n\r\nSUB b 2\r\nPUB b 0\r\n\r\n") == b"MSG b 2 0\r\n\r\n"


@with_login_fixture()
async def test_other_limits_hold_at_once(logins: LoginFixture) -> None:
    account = logins.account()
    client, other = await logins.login(account.user()), await logins.login(account.user())
    client.says("SUB a 1\r\nSUB b 2\r\n")
    account.set(limits={"subs": 1, "payload": 5})
    logins.fixture.deploy(account)
    assert client.read() == b"-ERR 'maximum subscriptions exceeded'\r\n"
    assert client.closed == "Maximum Subscriptions Exceeded"
    other.read()
    assert other.says("PUB a 6\r\n123456\r\n") == b"-ERR 'Maximum Payload Violation'\r\n"


@with_login_fixture()
async def test_the_latest_connections_go_when_fewer_are_allowed(logins: LoginFixture) -> None:
    account = logins.account()
    clients = [await logins.login(account.user()) for _ in range(3)]
    account.set(limits={"conn": 1})
    logins.fixture.deploy(account)
    closed = [client.closed for client in clients]
    assert closed == ["", *["Maximum Account Connections Exceeded"] * 2]


@with_login_fixture()
async def test_an_account_whose_time_is_over_closes_all(logins: LoginFixture) -> None:
    account = logins.env.account("A")
    account.claims.exp = logins.clock.now() // SECOND + 60
    logins.fixture.publish(account)
    client = await logins.login(account.user())
    client.read()
    logins.clock.advance(61 * SECOND)
    assert client.read().endswith(b"-ERR 'Account Authentication Expired'\r\n")
    assert client.closed == "Authentication Expired"


@with_login_fixture()
async def test_a_push_that_changes_nothing_disturbs_nobody(logins: LoginFixture) -> None:
    account = logins.account()
    client = await logins.login(account.user(subs=1))
    client.says("SUB a 1\r\n")
    account.claims.name = "other"
    logins.fixture.deploy(account)
    assert client.says("PUB a 1\r\nx\r\n") == b"MSG a 1 1\r\nx\r\n"


@with_login_fixture()
async def test_a_session_of_a_closed_connection_is_forgotten(logins: LoginFixture) -> None:
    account = logins.account()
    key = KeyPair.create(KeyRole.USER)
    client = await logins.login(account.user(key=key, exp=logins.clock.now() // SECOND + 60))
    client.connection.lost()
    account.claims.revoke(key.public_key, logins.clock.now() // SECOND)
    logins.fixture.deploy(account)
    logins.clock.advance(100 * SECOND)
    assert client.closed == "Client Closed"
    assert logins.registry.accounts[account.id].connections == set()


@with_login_fixture()
async def test_a_reload_authenticates_again(logins: LoginFixture) -> None:
    account = logins.account()
    client = await logins.login(account.user())
    client.read()
    logins.options.max_payload = 5
    logins.clients.reload(logins.options)
    assert client.closed == ""
    assert client.says("PUB a 6\r\n123456\r\n") == b"-ERR 'Maximum Payload Violation'\r\n"
