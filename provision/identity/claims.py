"""From sections to claims and back: the fields of tokens that documents declare.

Only these fields are compared and written. In documents an import names the exporting account as the store
does; in a token it has the account's public key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...keys.claims import AccountClaims, Export, Import, UserClaims
from ...keys.claims.export import ServiceLatency
from ...keys.claims.limits import JetStreamLimits, OperatorLimits
from ...keys.claims.parts import Permission, Permissions, ResponsePermission
from .model import AccountSection, PermissionsSection, UserSection, given

OF_ACCOUNTS = ("description", "info_url", "limits", "default_permissions", "exports", "imports")
OF_USERS = (
    "pub",
    "sub",
    "resp",
    "src",
    "subs",
    "data",
    "payload",
    "bearer_token",
    "allowed_connection_types",
)

Json = dict[str, Any]
KeyOf = Callable[[str], str]  # the public key of an account, by its name or its key


def fill_account(claims: AccountClaims, section: AccountSection, key_of: KeyOf) -> None:
    """Put what a section declares into claims; what it leaves out becomes the default."""
    body = claims.nats
    body.description, body.info_url = section.description, section.info_url
    limits = given(section.limits) if section.limits is not None else {}
    tiers = {name: JetStreamLimits(**each) for name, each in limits.pop("tiered_limits", {}).items()}
    body.limits = OperatorLimits.unlimited().model_copy(update={**limits, "tiered_limits": tiers})
    body.default_permissions = Permissions()
    if section.default_permissions is not None:
        _fill_permissions(body.default_permissions, section.default_permissions)
    body.exports = []
    for each in section.exports:
        values = given(each)
        latency = values.pop("service_latency", None)
        export = Export(**{"name": each.subject, **values})
        export.service_latency = ServiceLatency(**latency) if latency is not None else None
        body.exports.append(export)
    body.imports = [
        Import(**{"name": each.subject, **given(each), "account": key_of(each.account)})
        for each in section.imports
    ]


def fill_user(claims: UserClaims, section: UserSection) -> None:
    """Put what a section declares into claims; what it leaves out becomes the default."""
    body = claims.nats
    _fill_permissions(body, section)
    body.src, body.allowed_connection_types = list(section.src), list(section.allowed_connection_types)
    body.subs, body.data, body.payload = section.subs, section.data, section.payload
    body.bearer_token = section.bearer_token


def _fill_permissions(body: Permissions, section: PermissionsSection) -> None:
    body.pub = Permission(**given(section.pub)) if section.pub is not None else Permission()
    body.sub = Permission(**given(section.sub)) if section.sub is not None else Permission()
    body.resp = ResponsePermission(max=section.resp.max, ttl=section.resp.ttl) if section.resp else None


def normal_account(claims: AccountClaims, name_of: Mapping[str, str]) -> Json:
    """Return the declared fields of an account as a document that can be compared.

    name_of: names of the accounts of the store by their public keys.
    """
    found = _fields(claims.nats.document(), OF_ACCOUNTS)
    for each in found.get("imports", ()):
        each["account"] = name_of.get(each["account"], each["account"])
    for name in ("exports", "imports"):
        if name in found:
            found[name] = sorted(found[name], key=lambda each: (each.get("account", ""), each["subject"]))
    return found


def normal_user(claims: UserClaims) -> Json:
    """Return the declared fields of a user as a document that can be compared."""
    return _fields(claims.nats.document(), OF_USERS)


def _fields(document: Mapping[str, Any], names: tuple[str, ...]) -> Json:
    found = {name: _plain(document[name]) for name in names if name in document}
    return {name: value for name, value in found.items() if value not in ({}, [], "", 0, None)}


def _plain(value: Any) -> Any:
    """Return a document without nested ones that are empty."""
    if isinstance(value, dict):
        inner = {name: _plain(each) for name, each in value.items()}
        return {name: each for name, each in inner.items() if each != {}}
    return [_plain(each) for each in value] if isinstance(value, list) else value
