"""Logging in: each kind of credential, right, wrong and missing; timeouts; the name a user is shown by."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import nkeys
import pytest
from lib.process import ServerProcess
from lib.wire import Wire

VIOLATION = b"-ERR 'Authorization Violation'"
# bcrypt of "secret" at the lowest cost.
SECRET_HASH = "$2a$04$do63dDTyB0n02aL.H0h31.stYKV0o5tF62sY88jbVxbr3huJnwWpG"


def user_key() -> Any:
    return nkeys.from_seed(nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_USER))


PUBLIC = user_key().public_key.decode()

LISTEN = "listen: 127.0.0.1:<client>\n"
USER = LISTEN + "authorization { user: bob, password: pw, timeout: 0.3 }\n"
TOKEN = LISTEN + "authorization { token: t0ken }\n"
USERS = (
    LISTEN
    + f"""
authorization {{
  users: [
    {{ user: plain, password: pw }}
    {{ user: hashed, password: "{SECRET_HASH}" }}
    {{ nkey: {PUBLIC} }}
  ]
}}
"""
)
ANONYMOUS = (
    LISTEN
    + """
accounts {
  A { users: [{ user: a, password: pw }] }
  B { users: [{ user: guest, password: x }] }
}
no_auth_user: guest
"""
)


def refused(wire: Wire, **options: Any) -> bool:
    wire.login(**options)
    wire.send("PING\r\n")
    return wire.ends() == [VIOLATION]


def accepted(server: ServerProcess, **options: Any) -> bool:
    with server.connect(**options) as wire:
        return wire.sync() == []


def test_info_shows_that_auth_is_required(serve: Callable[[str], ServerProcess]) -> None:
    with serve(USER).raw() as wire:
        assert wire.info["auth_required"] is True
        assert "nonce" not in wire.info


@pytest.mark.parametrize(
    ("config", "options", "ok"),
    [
        (USER, {"user": "bob", "pass": "pw"}, True),
        (USER, {"user": "bob", "pass": "no"}, False),
        (USER, {"user": "bob", "pass": ""}, False),
        (USER, {"user": "bob"}, False),
        (USER, {"user": "BOB", "pass": "pw"}, False),
        (USER, {}, False),
        (USER, {"auth_token": "pw"}, False),
        (TOKEN, {"auth_token": "t0ken"}, True),
        (TOKEN, {"auth_token": "t0ken2"}, False),
        (TOKEN, {"user": "t0ken"}, False),
        (TOKEN, {}, False),
        (USERS, {"user": "plain", "pass": "pw"}, True),
        (USERS, {"user": "plain", "pass": "secret"}, False),
        (USERS, {"user": "hashed", "pass": "secret"}, True),
        (USERS, {"user": "hashed", "pass": "Secret"}, False),
        (USERS, {"user": "hashed", "pass": SECRET_HASH}, False),
        (USERS, {"user": "nobody", "pass": "pw"}, False),
        (USERS, {}, False),
        (ANONYMOUS, {}, True),
        (ANONYMOUS, {"user": "a", "pass": "pw"}, True),
        (ANONYMOUS, {"user": "a", "pass": "no"}, False),
    ],
)
def test_credentials_are_judged(
    serve: Callable[[str], ServerProcess], config: str, options: dict[str, str], ok: bool
) -> None:
    server = serve(config)
    if ok:
        assert accepted(server, **options)
    else:
        with server.raw() as wire:
            assert refused(wire, **options)


@pytest.mark.parametrize("first", ["PING\r\n", "SUB a 1\r\n", "PUB a 1\r\nx\r\n", "UNSUB 1\r\n"])
def test_anything_before_connect_is_a_violation(serve: Callable[[str], ServerProcess], first: str) -> None:
    with serve(USER).raw() as wire:
        wire.send(first)
        assert wire.ends() == [VIOLATION]


def test_who_says_nothing_is_timed_out(serve: Callable[[str], ServerProcess]) -> None:
    with serve(USER).raw() as wire:
        assert wire.ends() == [b"-ERR 'Authentication Timeout'"]


def test_a_wrong_second_connect_closes(serve: Callable[[str], ServerProcess]) -> None:
    with serve(USER).connect(**{"user": "bob", "pass": "pw"}) as wire:
        wire.login(**{"user": "bob", "pass": "bad"})
        assert wire.ends() == [VIOLATION]


def signed(wire: Wire, encode: Callable[[bytes], bytes] = base64.urlsafe_b64encode) -> dict[str, str]:
    signature = user_key().sign(wire.info["nonce"].encode())
    return {"nkey": PUBLIC, "sig": encode(signature).rstrip(b"=").decode()}


def test_an_nkey_user_signs_the_nonce(serve: Callable[[str], ServerProcess]) -> None:
    with serve(USERS).raw() as wire:
        assert len(wire.info["nonce"]) == 15
        wire.login(**signed(wire))
        assert wire.sync() == []


def test_each_connection_has_its_own_nonce(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(USERS)
    with server.raw() as one, server.raw() as two:
        assert one.info["nonce"] != two.info["nonce"]
        assert refused(two, **signed(one))


@pytest.mark.parametrize("change", [{"sig": ""}, {"sig": "AAAA"}, {"sig": "!!!"}, {"nkey": "UNKNOWN"}])
def test_a_bad_signature_or_key_is_a_violation(
    serve: Callable[[str], ServerProcess], change: dict[str, str]
) -> None:
    with serve(USERS).raw() as wire:
        assert refused(wire, **(signed(wire) | change))


def test_no_auth_user_makes_auth_optional_and_gives_its_account(
    serve: Callable[[str], ServerProcess],
) -> None:
    server = serve(ANONYMOUS)
    with server.connect() as wire:
        assert "auth_required" not in wire.info
        wire.sync()
        assert wire.infos[-1]["remote_account"] == "B"
    with server.connect(**{"user": "a", "pass": "pw"}) as wire:
        wire.sync()
        assert wire.infos[-1]["remote_account"] == "A"


def test_no_auth_user_needs_no_connect(serve: Callable[[str], ServerProcess], unique: str) -> None:
    with serve(ANONYMOUS).raw() as wire:
        wire.send(f"SUB {unique} 1\r\n")
        assert [f for f in wire.sync() if f != b"+OK"] == []


@pytest.mark.parametrize("options", [{"account": "A"}, {"account": "A", "new_account": True}])
def test_naming_an_account_is_refused(serve: Callable[[str], ServerProcess], options: dict[str, Any]) -> None:
    with serve(ANONYMOUS).raw() as wire:
        assert refused(wire, **options)


def test_user_info_shows_who_i_am(serve: Callable[[str], ServerProcess]) -> None:
    with serve(ANONYMOUS).connect(**{"user": "a", "pass": "pw"}) as wire:
        answer = wire.request("$SYS.REQ.USER.INFO").json()
    assert answer["data"]["user"] == "a"
    assert answer["data"]["account"] == answer["data"]["account_name"] == "A"
    assert answer["server"]["jetstream"] is False


def test_the_system_account_is_marked(serve: Callable[[str], ServerProcess]) -> None:
    config = LISTEN + "accounts { SYS { users: [{user: s, password: s}] } }\nsystem_account: SYS\n"
    with serve(config).connect(**{"user": "s", "pass": "s"}) as wire:
        wire.sync()
        assert wire.infos[-1]["acc_is_sys"] is True


def test_a_static_password_stays_out_of_every_info(serve: Callable[[str], ServerProcess]) -> None:
    with serve(USER).connect(**{"user": "bob", "pass": "pw"}) as wire:
        wire.sync()
        assert all("pw" not in str(info.values()) for info in wire.infos)


@pytest.mark.parametrize(
    ("more", "open_to_all"),
    [
        ("", True),
        ("accounts { $SYS { users: [{ user: sys, password: pw }] }, A {} }", False),
        ("accounts { A { users: [{ user: sys, password: pw }] } }, system_account: A", True),
        ("authorization { timeout: 2 }", False),
    ],
)
def test_beside_users_of_the_system_account_alone_nobody_needs_a_name(
    serve: Callable[[str], ServerProcess], more: str, open_to_all: bool
) -> None:
    alone = "" if "accounts" in more else "accounts { $SYS { users: [{ user: sys, password: pw }] } }\n"
    server = serve(LISTEN + alone + more)
    assert accepted(server, user="sys", **{"pass": "pw"})
    with server.raw() as wire:
        assert wire.info["auth_required"] is True
        if open_to_all:
            wire.login()
            assert wire.sync() == []
        else:
            assert refused(wire)
    with server.raw() as wire:
        assert refused(wire, user="sys", **{"pass": "wrong"})
