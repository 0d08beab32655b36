"""An operator, a system account and account tokens of any size, made without pyjs.

Promises: the keys are the same in every process, so that one process can write a server's configuration and
another one can log in there.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import nkeys

ISSUED = 1_700_000_000  # s since 1970; later tokens have this plus their serials


def _key(kind: int, name: str) -> nkeys.KeyPair:
    return nkeys.from_seed(nkeys.encode_seed(hashlib.sha256(name.encode()).digest(), kind))


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _public(key: nkeys.KeyPair) -> str:
    return str(key.public_key.decode())


class Site:
    """An operator's keys: `config` makes a server trust it, `login` is its system user's (see load.Wire)."""

    def __init__(self) -> None:
        self._operator = _key(nkeys.PREFIX_BYTE_OPERATOR, "operator")
        self._system = _key(nkeys.PREFIX_BYTE_ACCOUNT, "system")
        self._account = _key(nkeys.PREFIX_BYTE_ACCOUNT, "account")
        self._user = _key(nkeys.PREFIX_BYTE_USER, "user")
        system = _public(self._system)
        operator = self._token(
            self._operator, _public(self._operator), "O", {"type": "operator", "system_account": system}
        )
        account = self._token(self._operator, system, "SYS", self._limits([]))
        self.config = (
            f"operator: {operator}\nsystem_account: {system}\nresolver: {{ type: full, dir: '{{folder}}' }}\n"
            f"resolver_preload: {{ {system}: {account} }}\n"
        )

    def login(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return the system user's fields of CONNECT for a server with this INFO."""
        limits = {"type": "user", "subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}, "version": 2}
        token = self._token(self._system, _public(self._user), "u", limits)
        return {"jwt": token, "sig": _part(self._user.sign(info["nonce"].encode()))}

    def account(self, exports: int, serial: int) -> bytes:
        """Return a token of an account with so many stream exports; a higher serial means a later token."""
        offered = [{"name": f"e{n}", "subject": f"e.{n}.>", "type": "stream"} for n in range(exports)]
        claims = self._limits(offered)
        return self._token(self._operator, _public(self._account), "A", claims, ISSUED + serial).encode()

    @staticmethod
    def _limits(exports: list[dict[str, Any]]) -> dict[str, Any]:
        free = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
        limits = {**dict.fromkeys(free, -1), "wildcards": True}
        return {"type": "account", "version": 2, "limits": limits, "exports": exports}

    @staticmethod
    def _token(
        issuer: nkeys.KeyPair, subject: str, name: str, nats: dict[str, Any], issued: int = ISSUED
    ) -> str:
        claims = {
            "jti": f"{name}{issued}",
            "iat": issued,
            "iss": _public(issuer),
            "name": name,
            "sub": subject,
            "nats": {"version": 2, **nats},
        }
        head = _part(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
        signed = f"{head}.{_part(json.dumps(claims).encode())}"
        return f"{signed}.{_part(issuer.sign(signed.encode()))}"
