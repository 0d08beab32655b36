"""What peers send about themselves before anything else: the JSON objects of INFO and CONNECT.

Pure. Promises that whatever a peer sends is either an object with known fields, whose values have the right
types, or a PeerError that closes the connection without an error text, as nats-server does
(server/client.go: processConnect). Unknown fields and nulls are ignored.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from ...protocol import gojson
from ...protocol.errors import PeerError
from ..identity import ServerIdentity

_NONCE_BYTES = 11
_RENAMED = {"pass": "password"}  # from names on the wire to names of fields
_KINDS: dict[str, type] = {
    "bool": bool,
    "int": int,
    "str": str,
    "list[str]": list,
    "list[str] | None": list,
}


def kinds(introduction: type[Any]) -> dict[str, type]:
    """Return the fields of a dataclass that are sent over the wire, with the types of their values."""
    found = {field.name: _KINDS.get(str(field.type)) for field in fields(introduction)}
    return {name: kind for name, kind in found.items() if kind is not None}


def read(raw: bytes, what: str, expected: Mapping[str, type]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (known fields, the whole object). Names may have any case; `what` is INFO or CONNECT.

    Raises PeerError (which closes without a text) if it is no object or a field has the wrong type.
    """
    bad = f"Protocol Violation: {what} is not an object of the known fields"
    try:
        given = gojson.decode(raw)
    except gojson.JsonError as error:
        raise PeerError("", True, bad) from error
    if not isinstance(given, dict):
        raise PeerError("", True, bad)
    known: dict[str, Any] = {}
    for name, value in given.items():
        key = _RENAMED.get(name, name.lower())
        kind = expected.get(key)
        if kind is None or value is None:
            continue
        texts = kind is not list or (isinstance(value, list) and all(isinstance(v, str) for v in value))
        if type(value) is not kind or not texts:
            raise PeerError("", True, f"{bad}: {name}")
        known[key] = value
    return known, given


def of_server(identity: ServerIdentity, proto: int, host: str, port: int, *, headers: bool) -> dict[str, Any]:
    """Return the fields that every INFO begins with. `proto` is the protocol version of this port."""
    return {
        "server_id": identity.id,
        "server_name": identity.name,
        "version": identity.version,
        "proto": proto,
        "go": identity.runtime,
        "host": host,
        "port": port,
        "headers": headers,
    }


def new_nonce(random_bytes: Callable[[int], bytes]) -> bytes:
    """Return a new random nonce, which a peer has to sign."""
    return base64.urlsafe_b64encode(random_bytes(_NONCE_BYTES)).rstrip(b"=")
