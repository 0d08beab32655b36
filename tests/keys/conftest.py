"""One operator, two accounts, users, and all their keys: what the tests of identity begin with."""

from __future__ import annotations

import base64
import hashlib
from typing import TypeVar

import pytest
from pyjs.keys.chain import ConnectInfo, Trust
from pyjs.keys.claims import AccountClaims, Claims, OperatorClaims, UserClaims, UserScope
from pyjs.keys.nkey import KeyPair, KeyRole, write_seed
from pyjs.keys.token import decode, encode

NOW = 1_800_000_000 * 10**9
NONCE = b"a nonce"
C = TypeVar("C", bound=Claims)


def key(role: KeyRole, name: str) -> KeyPair:
    """The same key for the same name, each time."""
    return KeyPair(write_seed(role, hashlib.sha256(name.encode()).digest()))


class Party:
    """Keys by role and name, and tokens as they would be made."""

    now = NOW
    seconds = NOW // 10**9

    def __init__(self) -> None:
        self.operator = key(KeyRole.OPERATOR, "operator")
        self.operator_signing = key(KeyRole.OPERATOR, "operator signing")
        self.stranger = key(KeyRole.OPERATOR, "stranger")
        self.account = key(KeyRole.ACCOUNT, "account")
        self.signing = key(KeyRole.ACCOUNT, "signing")
        self.scoped = key(KeyRole.ACCOUNT, "scoped")
        self.other = key(KeyRole.ACCOUNT, "other")
        self.user = key(KeyRole.USER, "user")

    def key(self, role: KeyRole, name: str) -> KeyPair:
        return key(role, name)

    def operator_claims(self) -> OperatorClaims:
        claims = OperatorClaims.new(self.operator.public_key, "OP")
        claims.nats.signing_keys = [self.operator_signing.public_key]
        return claims

    def account_claims(self) -> AccountClaims:
        claims = AccountClaims.new(self.account.public_key, "ACC")
        scope = UserScope(key=self.scoped.public_key, role="r")
        claims.nats.signing_keys = {self.signing.public_key: None, self.scoped.public_key: scope}
        return claims

    def user_claims(self) -> UserClaims:
        return UserClaims.new(self.user.public_key, "ann")

    def signed(self, claims: Claims, by: KeyPair, now: int = NOW) -> str:
        return encode(claims, by, now=now)

    def made(self, claims: C, by: KeyPair, now: int = NOW) -> C:
        return decode(encode(claims, by, now=now), type(claims))

    def trust(self) -> Trust:
        return Trust.in_operators([self.operator_claims()])

    def connection(self, **changes: object) -> ConnectInfo:
        signature = base64.urlsafe_b64encode(self.user.sign(NONCE)).decode().rstrip("=")
        return ConnectInfo(**{"nonce": NONCE, "signature": signature, "host": "127.0.0.1", **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def party() -> Party:
    return Party()
