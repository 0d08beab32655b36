"""Tokens made by others, read and written again byte by byte. A folder is named after their maker."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from pyjs.keys.claims import AccountClaims, OperatorClaims, UserClaims
from pyjs.keys.token import decode, encode, jti
from pyjs.protocol import gojson

GOLDEN = Path(__file__).parent / "golden"
TOKENS = sorted(GOLDEN.rglob("*.jwt"))


def _payload(token: str) -> bytes:
    chunk = token.split(".")[1]
    return base64.urlsafe_b64decode(chunk + "=" * (-len(chunk) % 4))


def test_there_are_tokens_of_both_makers() -> None:
    assert len(list((GOLDEN / "nsc").iterdir())) == 5
    assert len(list((GOLDEN / "jwt-go-2.8.1").iterdir())) == 9


@pytest.mark.parametrize("path", TOKENS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_claims_are_written_as_they_were_read(path: Path) -> None:
    token = path.read_text()
    claims = decode(token)
    assert gojson.encode(claims.document()) == _payload(token)
    assert jti(claims) == claims.jti


@pytest.mark.parametrize("path", TOKENS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_claims_have_no_issues(path: Path) -> None:
    assert list(decode(path.read_text()).issues(1_800_000_000 * 10**9)) == []


def test_the_demo_is_one_chain() -> None:
    read = {path.stem: decode(path.read_text()) for path in (GOLDEN / "nsc").iterdir()}
    operator, system, test = read["OP"], read["SYS"], read["TEST"]
    assert isinstance(operator, OperatorClaims)
    assert isinstance(system, AccountClaims)
    assert isinstance(test, AccountClaims)
    assert operator.nats.system_account == system.sub
    assert all(operator.did_sign(claims) for claims in (operator, system, test))
    assert system.did_sign(read["sys-user"])
    assert test.did_sign(read["leaf"])
    assert not test.did_sign(read["sys-user"])


def test_signing_again_changes_only_who_when_and_id() -> None:
    from pyjs.keys import KeyPair, KeyRole

    account = KeyPair.create(KeyRole.ACCOUNT)
    old = decode((GOLDEN / "nsc" / "leaf.jwt").read_text(), UserClaims)
    new = decode(encode(old, account, now=5 * 10**9), UserClaims)
    assert (new.iss, new.iat) == (account.public_key, 5)
    assert new.jti == jti(new) != old.jti
    assert new.nats == old.nats
    assert (new.sub, new.name) == (old.sub, old.name)
