"""What a leaf says of itself in CONNECT, and what a hub says of itself in INFO."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from ...protocol.errors import PeerError
from ..accounts.auth import Credentials

T = TypeVar("T", "LeafConnect", "HubInfo")


@dataclass(slots=True)
class LeafConnect:
    """CONNECT of the solicitor. `name` is its server's name, remote_account the account bound there."""

    version: str = ""
    user: str = ""
    password: str = ""
    auth_token: str = ""
    nkey: str = ""
    jwt: str = ""
    sig: str = ""
    server_id: str = ""
    name: str = ""
    domain: str = ""
    cluster: str = ""
    is_hub: bool = False
    headers: bool = False
    jetstream: bool = False
    isolate: bool = False
    deny_pub: list[str] = field(default_factory=list)
    remote_account: str = ""
    gateway: str = ""
    lang: str = ""
    protocol: int = 0

    @classmethod
    def parse(cls, raw: bytes) -> LeafConnect:
        """Raises PeerError (closes, without a text) when it is no object or a field has the wrong type."""
        return _parse(cls, raw, "CONNECT")

    @property
    def credentials(self) -> Credentials:
        """What is judged."""
        return Credentials(self.user, self.password, self.auth_token, self.nkey, self.sig, self.jwt)


@dataclass(slots=True)
class HubInfo:
    """INFO of the acceptor. leafnode_urls None: it is no leaf port. given: the whole document."""

    server_id: str = ""
    server_name: str = ""
    version: str = ""
    cluster: str = ""
    domain: str = ""
    nonce: str = ""
    client_id: int = 0
    max_payload: int = 0
    proto: int = 0
    headers: bool = False
    tls_required: bool = False
    info_on_connect: bool = False
    connect_info: bool = False
    acc_is_sys: bool = False
    remote_account: str = ""
    leafnode_urls: list[str] | None = None
    given: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: bytes) -> HubInfo:
        """Raises PeerError (closes, without a text) when it is no object or a field has the wrong type."""
        return _parse(cls, raw, "INFO")


_NAMES = {"pass": "password"}  # where the wire has another word
_KINDS: dict[str, Any] = {
    "str": str,
    "int": int,
    "bool": bool,
    "list[str]": list,
    "list[str] | None": list,
}


def _parse(cls: type[T], raw: bytes, what: str) -> T:
    bad = f"Protocol Violation: {what} is not an object of the known fields"
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise PeerError("", True, bad) from error
    if not isinstance(given, dict):
        raise PeerError("", True, bad)
    expected = {f.name: _KINDS[str(f.type)] for f in fields(cls) if f.name != "given"}
    values: dict[str, Any] = {}
    for name, value in given.items():
        key = _NAMES.get(name, str(name))
        kind = expected.get(key)
        if kind is None or value is None:
            continue
        texts = kind is not list or all(isinstance(item, str) for item in value)
        if type(value) is not kind or not texts:
            raise PeerError("", True, f"{bad}: {name}")
        values[key] = value
    if cls is HubInfo:
        values["given"] = given
    return cls(**values)
