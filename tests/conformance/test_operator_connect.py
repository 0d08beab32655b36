"""Operator mode: which tokens log in, which do not, and the error that each client gets."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nats
import pytest
from lib.operator_fixture import Deployment, OperatorEnv, User, reheaded, soon, tampered, unsigned
from lib.process import ServerProcess
from lib.wire import Wire
from pyjs.keys import KeyPair, KeyRole, encode

VIOLATION = [b"-ERR 'Authorization Violation'"]
HOUR = 3600


def test_the_users_of_a_pushed_account_connect(op: Deployment) -> None:
    account = op.account("A")
    user = account.user("ann")
    with user.connect(op.server) as wire:
        assert wire.info["auth_required"] is True
        assert len(wire.info["nonce"]) == 15
        data = wire.request("$SYS.REQ.USER.INFO").json()["data"]
    assert data == {
        "user": user.key.public_key,
        "user_name": "ann",
        "account": account.id,
        "account_name": "A",
    }


def test_a_token_that_ended_before_1970_lets_nobody_in(op: Deployment) -> None:
    """The reference tells apart what it sees when it reads a token, and what it counts down."""
    said = op.account("A").user(exp=-1).refusal(op.server)
    # Counting down, it may answer a PING first.
    assert said[-1:] in (VIOLATION, [b"-ERR 'User Authentication Expired'"])


def test_a_token_without_a_date_of_issue(op: Deployment, implementation: str) -> None:
    """pyjs takes none: whether it was revoked could not be said (docs/operator.md)."""
    account = op.account("A")
    user = account.user()
    undated = replace(user, token=encode(user.claims, account.key, now=0))
    if implementation == "pyjs":
        assert undated.refusal(op.server) == VIOLATION
    else:
        undated.connect(op.server).close()


def test_nats_py_connects_with_a_credentials_file(op: Deployment, tmp_path: Path) -> None:
    path = op.account("A").user("ann").write(tmp_path)

    async def run() -> bytes:
        client = await nats.connect(op.server.url, user_credentials=str(path))
        heard = await client.subscribe("subject")
        await client.publish("subject", b"hello")
        message = await heard.next_msg()
        await client.close()
        return bytes(message.data)

    assert asyncio.run(run()) == b"hello"


def test_accounts_of_one_operator_do_not_hear_each_other(op: Deployment) -> None:
    one, other = (op.account(name).user() for name in ("A", "B"))
    with one.connect(op.server) as speaks, other.connect(op.server) as hears, one.connect(op.server) as near:
        for wire in (hears, near):
            wire.sub(">")
            wire.sync()
        speaks.pub("subject", "hello")
        speaks.sync()
        assert near.msg().body == b"hello"
        assert hears.sync() == []


def test_a_client_in_verbose_mode_gets_ok_for_its_login(op: Deployment) -> None:
    user = op.account("A").user()
    with op.server.raw() as wire:
        wire.login(**user.proof(wire, verbose=True))
        assert wire.next() == b"+OK"


def test_a_user_of_a_signing_key_connects(op: Deployment) -> None:
    account = op.env.account("A")
    signing = account.signing_key()
    op.push(account)
    with account.user(by=signing).connect(op.server) as wire:
        assert wire.sync() == []


def test_a_second_name_in_the_token_is_the_connections_own(op: Deployment) -> None:
    """CONNECT's nkey beside the token does no harm; a user name and password do not help."""
    user = op.account("A").user()
    with user.connect(op.server, nkey=user.key.public_key) as wire:
        assert wire.sync() == []
    with op.server.raw() as wire:
        wire.login(**{"user": "ann", "pass": "x"})
        wire.send("PING\r\n")
        assert wire.ends() == VIOLATION


Case = Callable[[Deployment], tuple[User, dict[str, Any]]]


def fresh(op: Deployment, **fields: Any) -> User:
    return op.account("A").user(**fields)


def changed(user: User, token: str) -> tuple[User, dict[str, Any]]:
    return replace(user, token=token), {}


def with_wrong_nonce(op: Deployment) -> tuple[User, dict[str, Any]]:
    user = fresh(op)
    with op.server.raw() as other:
        return user, {"sig": user.proof(other)["sig"]}


def signed_by_another(op: Deployment) -> tuple[User, dict[str, Any]]:
    return replace(fresh(op), key=KeyPair.create(KeyRole.USER)), {}


def of_other_account(op: Deployment) -> tuple[User, dict[str, Any]]:
    """Signed by B's key, yet naming A as its account."""
    return op.account("A").user(by=op.account("B").key), {}


def of_signing_key_unnamed(op: Deployment) -> tuple[User, dict[str, Any]]:
    """Signed by A's signing key, not naming the account."""
    account = op.env.account("A")
    signing = account.signing_key()
    op.push(account)
    stray = op.env.account("stray")
    stray.key = signing
    return stray.user(), {}


def algorithm(op: Deployment, name: str) -> tuple[User, dict[str, Any]]:
    account = op.account("A")
    user = account.user()
    return changed(user, reheaded(user.token, account.key, alg=name))


def stranger(op: Deployment) -> tuple[User, dict[str, Any]]:
    return OperatorEnv().account("A").user(), {}


def unpushed(op: Deployment) -> tuple[User, dict[str, Any]]:
    return op.env.account("A").user(), {}


def revoked(op: Deployment, who: str = "", later: int = 0) -> tuple[User, dict[str, Any]]:
    account = op.env.account("A")
    user = account.user()
    account.claims.revoke(who or user.key.public_key, user.issued + later)
    op.push(account)
    return user, {}


REFUSED: dict[str, Case] = {
    "no-token": lambda op: (fresh(op), {"jwt": ""}),
    "no-signature": lambda op: (fresh(op), {"sig": ""}),
    "signature-no-base64": lambda op: (fresh(op), {"sig": "!!"}),
    "signature-of-another-nonce": with_wrong_nonce,
    "signature-of-another-key": signed_by_another,
    "token-no-token": lambda op: (fresh(op), {"jwt": "nonsense"}),
    "token-tampered": lambda op: changed(u := fresh(op), tampered(u.token, name="bob")),
    "token-account-tampered": lambda op: changed(u := fresh(op), tampered(u.token, iss=op.env.sys.id)),
    "alg-none": lambda op: changed(u := fresh(op), unsigned(u.token)),
    "alg-hs256": lambda op: algorithm(op, "HS256"),
    "alg-eddsa": lambda op: algorithm(op, "EdDSA"),
    "type-other": lambda op: changed(u := fresh(op), reheaded(u.token, op.env.sys.key, typ="JWS")),
    "an-accounts-token": lambda op: changed(fresh(op), op.account("B").token()),
    "the-operators-token": lambda op: changed(fresh(op), op.env.token),
    "expired": lambda op: (fresh(op, exp=soon(-HOUR)), {}),
    "not-yet-valid": lambda op: (fresh(op, nbf=soon(HOUR)), {}),
    "account-not-pushed": unpushed,
    "other-operator": stranger,
    "signed-by-another-account": of_other_account,
    "signing-key-without-its-account": of_signing_key_unnamed,
    "revoked": revoked,
    "revoked-by-star": lambda op: revoked(op, "*"),
    "connection-type": lambda op: (fresh(op, allowed_connection_types=["WEBSOCKET"]), {}),
    "connection-type-unknown": lambda op: (fresh(op, allowed_connection_types=["PIGEON"]), {}),
    "source-network": lambda op: (fresh(op, src=["10.1.0.0/16"]), {}),
    "source-network-broken": lambda op: (fresh(op, src=["nowhere"]), {}),
    "hours": lambda op: (fresh(op, times=[hours(2, 3)]), {}),
    "proxy-required": lambda op: (fresh(op, proxy_required=True), {}),
}
LET_IN: dict[str, Case] = {
    "expires-later": lambda op: (fresh(op, exp=soon(HOUR)), {}),
    "valid-for-an-hour": lambda op: (fresh(op, nbf=soon(-HOUR)), {}),
    "revoked-before-issue": lambda op: revoked(op, later=-1),
    "revoked-by-star-before-issue": lambda op: revoked(op, "*", -1),
    "another-is-revoked": lambda op: revoked(op, KeyPair.create(KeyRole.USER).public_key),
    "connection-type": lambda op: (fresh(op, allowed_connection_types=["WEBSOCKET", "STANDARD"]), {}),
    "connection-type-small-letters": lambda op: (fresh(op, allowed_connection_types=["standard"]), {}),
    "source-network": lambda op: (fresh(op, src=["10.1.0.0/16", "127.0.0.0/8"]), {}),
    "hours": lambda op: (fresh(op, times=[hours(-1, 1)]), {}),
    "bearer": lambda op: (fresh(op, bearer_token=True), {"sig": ""}),
    "bearer-that-signs-wrongly": lambda op: (fresh(op, bearer_token=True), {"sig": "!!"}),
}


def hours(start: int, end: int) -> dict[str, str]:
    """From `start` to `end` hours from now, by the server's clock."""
    now = datetime.datetime.now().astimezone()
    return {
        name: (now + datetime.timedelta(hours=away)).strftime("%H:%M:%S")
        for name, away in (("start", start), ("end", end))
    }


@pytest.mark.parametrize("case", REFUSED)
def test_refused(op: Deployment, case: str) -> None:
    user, changes = REFUSED[case](op)
    assert user.refusal(op.server, **changes) == VIOLATION


@pytest.mark.parametrize("case", LET_IN)
def test_let_in(op: Deployment, case: str) -> None:
    user, changes = LET_IN[case](op)
    with user.connect(op.server, **changes) as wire:
        assert wire.sync() == []


def test_bearers_need_an_account_that_allows_them(op: Deployment) -> None:
    account = op.account("A", limits={"disallow_bearer": True})
    assert account.user(bearer_token=True).refusal(op.server, sig="") == VIOLATION
    with account.user().connect(op.server) as wire:
        assert wire.sync() == []


def test_an_account_that_has_expired_lets_nobody_in(op: Deployment) -> None:
    account = op.env.account("A")
    account.claims.exp = soon(-HOUR)
    op.ask("$SYS.REQ.CLAIMS.UPDATE", account.token())
    assert account.user().refusal(op.server) == VIOLATION


@pytest.fixture
def strict(serve: Callable[[str], ServerProcess], strict_env: tuple[OperatorEnv, str]) -> Deployment:
    env, config = strict_env
    return Deployment(env, serve(config))


@pytest.fixture(scope="module")
def strict_env() -> tuple[OperatorEnv, str]:
    env = OperatorEnv(strict=True)
    return env, env.full(timeout='"200ms"')


def test_a_strict_operator_wants_signing_keys_everywhere(strict: Deployment) -> None:
    account = strict.env.account("A")
    signing = account.signing_key()
    strict.push(account)
    with account.user(by=signing).connect(strict.server) as wire:
        assert wire.sync() == []
    assert account.user(by=account.key).refusal(strict.server) == VIOLATION


def test_a_strict_operator_takes_no_account_that_its_identity_signed(strict: Deployment) -> None:
    account = strict.env.account("A")
    token = account.token(by=strict.env.key)
    answer = strict.ask("$SYS.REQ.CLAIMS.UPDATE", token)["error"]
    assert (answer["code"], answer["description"]) == (
        500,
        "jwt update resulted in error - operator requires issuer to be a signing key",
    )
    assert account.user(by=account.key).refusal(strict.server) == VIOLATION


def test_an_account_token_that_an_unknown_operator_signed(op: Deployment) -> None:
    account = op.env.account("A")
    op.ask("$SYS.REQ.CLAIMS.UPDATE", account.token(by=KeyPair.create(KeyRole.OPERATOR)))
    assert account.user().refusal(op.server) == VIOLATION


def test_preloaded_accounts_need_no_push(
    serve: Callable[[str], ServerProcess], preloaded: tuple[User, str]
) -> None:
    user, config = preloaded
    with user.connect(serve(config)) as wire:
        assert wire.sync() == []


@pytest.fixture(scope="module")
def preloaded() -> tuple[User, str]:
    env = OperatorEnv()
    account = env.account("A")
    return account.user(), env.memory(account)


def test_too_little_said_in_time(op: Deployment) -> None:
    with op.server.raw() as wire:
        wire.send("PING\r\n")
        assert wire.ends() == VIOLATION


def test_two_connections_do_not_share_a_nonce(op: Deployment) -> None:
    with op.server.raw() as one, op.server.raw() as two:
        assert nonce(one) != nonce(two)


def nonce(wire: Wire) -> str:
    return str(wire.info["nonce"])
