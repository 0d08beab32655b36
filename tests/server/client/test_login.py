"""Logins: users, bcrypt off the loop, tokens, nkeys, `no_auth_user`, timeouts, limits of accounts."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import bcrypt
import nkeys
import pytest
from lib.fake_wire import ClientsFixture, FakeClient
from pyjs.server.accounts.auth import Authenticator, AuthResult, ClientCredentials, verify
from pyjs.server.config.options import (
    AccountLimitOptions,
    AccountOptions,
    AuthorizationOptions,
    Options,
    PermissionsOptions,
    SubjectPermission,
    UserOptions,
)

SECOND = 1_000_000_000
REFUSED = b"-ERR 'Authorization Violation'\r\n"
HASHED = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()


def fixture(
    no_auth_user: str = "", accounts: dict[str, AccountOptions] | None = None, **authorization: Any
) -> ClientsFixture:
    return ClientsFixture(
        Options(
            authorization=AuthorizationOptions(**authorization),
            no_auth_user=no_auth_user,
            accounts=accounts or {},
        )
    )


def outcome(client: FakeClient) -> bytes:
    return client.says("PING\r\n")[:6] if not client.closed else b""


@pytest.mark.parametrize(
    ("authorization", "given", "ok"),
    [
        ({"user": "u", "password": "p"}, {"user": "u", "pass": "p"}, True),
        ({"user": "u", "password": "p"}, {"user": "u", "pass": "x"}, False),
        ({"user": "u", "password": "p"}, {"user": "x", "pass": "p"}, False),
        ({"user": "u", "password": "p"}, {}, False),
        ({"token": "t"}, {"auth_token": "t"}, True),
        ({"token": "t"}, {"auth_token": "x"}, False),
        ({"token": "t"}, {}, False),
        ({"users": [UserOptions("a", "1"), UserOptions("b", "2")]}, {"user": "b", "pass": "2"}, True),
        ({"users": [UserOptions("a", "1"), UserOptions("b", "2")]}, {"user": "a", "pass": "2"}, False),
        ({"users": [UserOptions("a", "pässwörd")]}, {"user": "a", "pass": "pässwörd"}, True),
        (
            {"users": [UserOptions("a", "1", allowed_connection_types=frozenset({"LEAFNODE"}))]},
            {"user": "a", "pass": "1"},
            False,
        ),
        (
            {"users": [UserOptions("a", "1", allowed_connection_types=frozenset({"STANDARD"}))]},
            {"user": "a", "pass": "1"},
            True,
        ),
    ],
)
def test_credentials_decide(authorization: dict[str, Any], given: dict[str, str], ok: bool) -> None:
    client = fixture(**authorization).client()
    assert client.info["auth_required"] is True
    client.connect(**given)
    assert (outcome(client) == b"PONG\r\n") == ok
    assert client.closed == ("" if ok else "Authentication Failure")


def test_bcrypt_is_checked_off_the_loop_and_in_order() -> None:
    place = fixture(user="u", password=HASHED)
    client = place.client()
    client.connection.receive(
        b'CONNECT {"verbose":false,"user":"u","pass":"secret"}\r\nSUB a 1\r\nPUB a 1\r\nx\r\n'
    )
    assert client.read() == b""
    assert client.wire.paused
    client.connection.receive(b"PING\r\n")
    assert client.read() == b""
    place.work()
    assert client.read() == b"MSG a 1 1\r\nx\r\nPONG\r\n"
    assert not client.wire.paused


@pytest.mark.parametrize(("right", "said"), [(True, b"PONG\r\n"), (False, REFUSED)])
def test_the_password_of_a_user_who_was_looked_up_is_checked(right: bool, said: bytes) -> None:
    place = fixture(user="u", password="p")
    found = place.clients.authenticator.authenticate(ClientCredentials("u", "p"), b"")
    held: list[Callable[[AuthResult], None]] = []

    class LookingUp(Authenticator):
        def authenticate(self, *_given: Any, **_more: Any) -> AuthResult:
            return AuthResult(None, lookup=held.append)

    place.clients.authenticator = LookingUp(place.options, place.registry)
    client = place.connected(user="u", protocol=0)
    held.pop()(found._replace(check=lambda: right))
    assert client.says("PING\r\n") == b""
    place.work()
    assert client.read() == said


def test_what_a_refused_client_still_sends_is_read_so_that_it_gets_the_error() -> None:
    place = fixture(user="u", password=HASHED)
    client = place.client()
    client.connection.receive(b'CONNECT {"verbose":false,"user":"u","pass":"wrong"}\r\n')
    place.work()
    assert client.read() == b"-ERR 'Authorization Violation'\r\n"
    assert not client.wire.paused
    assert not client.wire.closed
    client.connection.receive(b"PING\r\n")
    assert client.read() == b""
    place.clock.advance(1_000_000_000)
    assert client.wire.closed


@pytest.mark.parametrize("prefix", ["$2a", "$2b", "$2x", "$2y"])
def test_every_spelling_of_bcrypt_is_one(prefix: str) -> None:
    place = fixture(token=prefix + HASHED[3:])
    good, bad = place.connected(auth_token="secret"), place.connected(auth_token="wrong")
    place.work()
    assert outcome(good) == b"PONG\r\n"
    assert bad.closed == "Authentication Failure"


def test_a_client_gone_while_its_password_is_checked_leaves_nothing() -> None:
    place = fixture(user="u", password=HASHED)
    client = place.connected(user="u", **{"pass": "secret"})
    client.connection.lost()
    place.work()
    assert not place.registry.global_account.connections
    assert place.clock.pending() == 0


def test_an_nkey_signs_the_nonce() -> None:
    pair = nkeys.from_seed(b"SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY")
    public = pair.public_key.decode()
    place = fixture(users=[UserOptions(nkey=public)])
    client = place.client()
    nonce = client.info["nonce"]
    assert len(nonce) == 15
    assert place.client().info["nonce"] != nonce
    signature = base64.urlsafe_b64encode(pair.sign(nonce.encode())).decode().rstrip("=")
    client.connect(nkey=public, sig=signature)
    assert outcome(client) == b"PONG\r\n"
    other = place.connected(nkey=public, sig=signature)
    assert other.closed == "Authentication Failure"
    standard = base64.b64encode(pair.sign(b"n")).decode()
    assert verify(public, b"n", standard)
    for key, sig in ((public, "!!"), (public, ""), ("U1", standard), ("", standard), (public, "AAAA")):
        assert not verify(key, b"n", sig)


def test_who_says_nothing_is_the_no_auth_user() -> None:
    place = fixture("guest", users=[UserOptions("guest", "g"), UserOptions("a", "1")])
    client = place.client()
    assert "auth_required" not in client.info
    assert client.says("PING\r\n").endswith(b"PONG\r\n")
    assert client.connection.user is not None
    assert client.connection.user.name == "guest"
    named = place.connected(user="a", **{"pass": "1"})
    assert outcome(named) == b"PONG\r\n"
    assert place.connected(user="a", **{"pass": "2"}).closed == "Authentication Failure"


@pytest.mark.parametrize(
    "said", ["PING\r\n", "PUB a 0\r\n\r\n", "SUB a 1\r\n", "UNSUB 1\r\n", "NONSENSE\r\n"]
)
def test_nothing_but_connect_is_served_before_authentication(said: str) -> None:
    client = fixture(user="u", password="p").client()
    client.read()
    assert client.says(said) == REFUSED
    assert client.closed == "Authentication Failure"


def test_connect_must_come_in_time() -> None:
    place = fixture(user="u", password="p")
    slow, quick = place.client(), place.connected(user="u", **{"pass": "p"})
    slow.read()
    place.clock.advance(2 * SECOND)
    assert slow.read() == b"-ERR 'Authentication Timeout'\r\n"
    assert slow.closed == "Authentication Timeout"
    assert not quick.closed


def test_without_authentication_there_is_no_time_limit() -> None:
    place = ClientsFixture()
    client = place.client()
    place.clock.advance(3 * SECOND)
    assert not client.closed


def test_users_live_in_their_accounts() -> None:
    accounts = {
        "A": AccountOptions(name="A", users=[UserOptions("a", "1")]),
        "B": AccountOptions(name="B", users=[UserOptions("b", "2")]),
    }
    place = fixture(accounts=accounts)
    a, b = place.connected(user="a", **{"pass": "1"}), place.connected(user="b", **{"pass": "2"})
    a.says("SUB > 1\r\n")
    b.says("PUB x 0\r\n\r\n")
    assert a.read() == b""
    assert a.says("PUB x 0\r\n\r\n") == b"MSG x 1 0\r\n\r\n"
    assert place.registry.accounts["A"].connections == {a.connection}


def test_an_account_is_full_at_its_limit() -> None:
    account = AccountOptions(
        name="A", users=[UserOptions("a", "1")], limits=AccountLimitOptions(max_connections=1)
    )
    place = fixture(accounts={"A": account})
    first = place.connected(user="a", **{"pass": "1"})
    second = place.client()
    second.connection.receive(b'CONNECT {"verbose":false,"user":"a","pass":"1"}\r\n')
    assert second.read().endswith(b"-ERR 'maximum account active connections exceeded'\r\n")
    assert not first.closed
    first.connection.lost()
    assert not place.connected(user="a", **{"pass": "1"}).closed


def test_an_account_limits_payload_and_subscriptions() -> None:
    limits = AccountLimitOptions(max_payload=4, max_subscriptions=1)
    account = AccountOptions(name="A", users=[UserOptions("a", "1")], limits=limits)
    client = fixture(accounts={"A": account}).connected(user="a", **{"pass": "1"})
    assert client.says("SUB a 1\r\nSUB b 2\r\n") == b"-ERR 'maximum subscriptions exceeded'\r\n"
    assert client.says("PUB x 5\r\n12345\r\n") == b"-ERR 'Maximum Payload Violation'\r\n"


def test_default_permissions_are_for_users_without_their_own() -> None:
    narrow = PermissionsOptions(publish=SubjectPermission(allow=["ok"]))
    wide = PermissionsOptions(publish=SubjectPermission(allow=[">"]))
    place = fixture(
        users=[UserOptions("n", "1"), UserOptions("w", "1", permissions=wide)], default_permissions=narrow
    )
    n, w = place.connected(user="n", **{"pass": "1"}), place.connected(user="w", **{"pass": "1"})
    assert b"Permissions Violation" in n.says("PUB x 0\r\n\r\n")
    assert w.says("PUB x 0\r\n\r\n") == b""


def test_a_leaf_is_authenticated_by_its_own_connection_type() -> None:
    place = fixture(users=[UserOptions("a", "1", allowed_connection_types=frozenset({"LEAFNODE"}))])
    authenticator = Authenticator(place.options, place.registry)
    assert authenticator.authenticate(ClientCredentials("a", "1"), b"", "LEAFNODE").user is not None
    assert authenticator.authenticate(ClientCredentials("a", "1"), b"").user is None
