"""Tokens of version 1: reading them and converting them to version 2 documents. They are never written.

In version 1 `type`, `tags` and `issuer_account` were beside `nats`, the signature covered only the payload,
and `alg` was `ed25519`.
"""

from __future__ import annotations

from typing import Any

from .claims.base import BASE
from .claims.model import UNLIMITED

ALGORITHM = "ed25519"
_FIELDS: dict[str, tuple[str, ...]] = {
    "operator": ("signing_keys", "account_server_url", "operator_service_urls", "system_account"),
    "account": ("imports", "exports", "limits", "signing_keys", "revocations"),
    "user": (
        "pub",
        "sub",
        "resp",
        "src",
        "times",
        "times_location",
        "subs",
        "data",
        "payload",
        "bearer_token",
    ),
    "activation": ("subject",),
}
_LIMITS = ("subs", "data", "payload", "imports", "exports", "wildcards", "disallow_bearer", "conn", "leaf")


def is_v1(document: dict[str, Any]) -> bool:
    """Return whether a payload is of version 1, which has a type at the top level."""
    return bool(document.get("type"))


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """Return a version 1 payload in the form of version 2, with `nats.version` 1.

    Fields that version 2 does not have are dropped.
    """
    kind = document["type"]
    old = document.get("nats") or {}
    result = {name: document[name] for name in BASE if name in document}
    if kind not in _FIELDS:
        result["nats"] = {**old, "type": kind, **({"tags": document["tags"]} if document.get("tags") else {})}
        return result
    body = {name: old[name] for name in _FIELDS[kind] if name in old}
    if kind == "account":
        limits = old.get("limits") or {}
        body["limits"] = {name: limits[name] for name in _LIMITS if name in limits}
    if kind == "user":
        body = {**dict.fromkeys(("subs", "data", "payload"), UNLIMITED), **body}
    if kind == "activation":
        body["kind"] = old.get("type") or ""
    if kind in {"user", "activation"} and document.get("issuer_account"):
        body["issuer_account"] = document["issuer_account"]
    result["nats"] = {**body, "tags": document.get("tags"), "type": kind, "version": 1}
    return result
