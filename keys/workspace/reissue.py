"""A new identity for an operator: its token, and the tokens of the accounts that the old identity signed."""

from __future__ import annotations

import contextlib
from dataclasses import field

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..errors import FolderError, IdentityError, WorkspaceError
from ..folders.store import OperatorStore
from ..nkey import KeyPair, KeyRole
from ..token import encode
from .report import OperationReport, quote
from .signing import given_key
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class Reissued:
    """The operator's new identity, and the accounts that it signed."""

    report: OperationReport
    public_key: str
    accounts: list[str] = field(default_factory=list)


def reissue_operator(workspace: Workspace, *, convert: bool = False) -> Reissued:
    """Give the current operator a new identity: the key that `-K` names, else a new one.

    convert: whether the old identity becomes a signing key, so that accounts stay as they are.

    Otherwise the new identity signs the accounts that the old one signed; in strict mode a signing key does.
    All tokens are made before the first is stored. Raises WorkspaceError, FolderError.
    """
    with workspace.locked():
        store = workspace.store()
        if store.managed:
            raise WorkspaceError("reissue is only supported in non managed stores")
        operator = store.operator()
        old, strict = operator.sub, operator.nats.strict_signing_key_usage
        if strict and not convert and not operator.nats.signing_keys:
            raise WorkspaceError("reissue of strict operator is only supported with signing keys present")
        pair = _identity(workspace)
        operator.sub = pair.public_key
        if convert and old not in operator.nats.signing_keys and old != pair.public_key:
            operator.nats.signing_keys.append(old)
        signing = pair
        if strict and not convert:
            signing = _signing_key(workspace, operator.nats.signing_keys)
        token = encode(operator, pair, now=workspace.now())
        again: dict[str, str] = {}
        names = store.accounts()
        for name in () if convert else names:
            claims = store.account(name)
            if claims.iss == old:
                again[name] = encode(claims, signing, now=workspace.now())
        workspace.keystore.add(pair)
        _write(store, token, again)
    report = OperationReport(summary=True)
    report.ok(f"operator {quote(operator.name)} successfully changed identity to: {pair.public_key}")
    if convert:
        report.ok(f"old operator key {quote(old)} turned into signing key")
        return Reissued(report, pair.public_key)
    for name in names:
        report.ok(f"account {quote(name)} {'re-signed' if name in again else 'already signed properly'}")
    return Reissued(report, pair.public_key, sorted(again))


def _write(store: OperatorStore, operator: str, accounts: dict[str, str]) -> None:
    """Store the new tokens; if one fails, restore all of them. Raises FolderError."""
    old = {store.operator_path: store.operator_token()}
    old |= {store.account_path(name): store.account_token(name) for name in accounts}
    try:
        store.write_operator(operator, reissued=True)
        for token in accounts.values():
            store.write_account(token)
    except IdentityError:
        for path, token in old.items():
            with contextlib.suppress(FolderError):
                files.write(path, token)
        raise


def _identity(workspace: Workspace) -> KeyPair:
    if not workspace.private_key:
        return KeyPair.create(KeyRole.OPERATOR)
    given = given_key(workspace.private_key, KeyRole.OPERATOR)
    return given.pair or workspace.keystore.get(given.public_key)


def _signing_key(workspace: Workspace, keys: list[str]) -> KeyPair:
    for key in keys:
        if workspace.keystore.has(key):
            return workspace.keystore.get(key)
    raise WorkspaceError(f"failed to obtain signing key: the keystore has none of {', '.join(keys)}")
