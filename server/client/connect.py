"""What a client says of itself in CONNECT."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from ...protocol.errors import PeerError
from ..accounts.auth import Credentials

_BAD = "Protocol Violation: CONNECT is not an object of the known fields"


@dataclass(slots=True)
class ConnectOptions:
    """Defaults are those of fields that are absent, so `{}` is verbose and pedantic."""

    echo: bool = True
    verbose: bool = True
    pedantic: bool = True
    tls_required: bool = False
    headers: bool = False
    no_responders: bool = False
    protocol: int = 0
    name: str = ""
    lang: str = ""
    version: str = ""
    user: str = ""
    password: str = ""
    auth_token: str = ""
    nkey: str = ""
    sig: str = ""
    jwt: str = ""
    account: str = ""
    new_account: bool = False

    @classmethod
    def parse(cls, raw: bytes, before: ConnectOptions) -> ConnectOptions:
        """Read CONNECT's JSON on top of what an earlier CONNECT said. Names of fields may have any case.

        Raises PeerError (closes, without a text) when it is no object or a field has the wrong type.
        """
        try:
            given = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise PeerError("", True, _BAD) from error
        if not isinstance(given, dict):
            raise PeerError("", True, _BAD)
        values = {key: getattr(before, key) for key in _TYPES}
        for name, value in given.items():
            key = _NAMES.get(name, str(name).lower())
            expected = _TYPES.get(key)
            if expected is None or value is None:
                continue
            if type(value) is not expected:
                raise PeerError("", True, f"{_BAD}: {name}")
            values[key] = value
        return cls(**values)

    @property
    def credentials(self) -> Credentials:
        """What is judged. A token may also come as a password without a user."""
        return Credentials(self.user, self.password, self.auth_token, self.nkey, self.sig, self.jwt)


_NAMES = {"pass": "password"}  # where the wire has another word
_TYPES: dict[str, Any] = {
    f.name: {"bool": bool, "int": int, "str": str}[str(f.type)] for f in fields(ConnectOptions)
}
