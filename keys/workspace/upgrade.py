"""Upgrading a store of version 1 tokens to version 2: the key that signed a token signs it again.

Accounts and users whose issuer's seed is not stored stay as they are and are reported.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import Claims
from ..decorated import undecorate_jwt
from ..errors import FolderError, IdentityError, NotFoundError, WorkspaceError
from ..folders.store import OperatorStore
from ..token import decode, encode, header_of
from .report import OperationReport, place, quote
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The report, and how many tokens were upgraded to version 2."""

    report: OperationReport
    tokens: int = 0


def needs_upgrade(workspace: Workspace) -> bool:
    """Return whether the current operator's token is of version 1. Raises FolderError, TokenError."""
    return _old(workspace.store().operator_token())


def backup(workspace: Workspace, path: Path) -> Path:
    """Write the current operator's store, which contains no seeds, as a zip file; return its path.

    Raises FolderError.
    """
    store, path = workspace.store(), path.expanduser().absolute()
    if path.exists():
        raise FolderError(f"{place(path)} already exists")
    try:
        with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as archive:
            for found in sorted(store.folder.rglob("*")):
                if found.is_file():
                    archive.write(found, found.relative_to(store.folder.parent))
    except OSError as error:
        raise FolderError(f"cannot write {path}: {error.strerror}") from None
    return path


def upgrade(workspace: Workspace) -> Upgraded:
    """Upgrade the current operator's store to version 2.

    Raises WorkspaceError for a managed store, whose owner must provide a new token, or NotFoundError if the
    operator's identity key is not stored. Nothing is changed then.
    """
    report = OperationReport("Upgrade operator jwt to v2")
    whole = OperationReport(children=[report])
    with workspace.locked():
        store = workspace.store()
        token = store.operator_token()
        if not _old(token):
            report.ok(f"Operator {store.name} is already upgraded to version 2. No change was applied")
            return Upgraded(whole)
        if store.managed:
            raise WorkspaceError(
                "the store is in managed mode: ask the operator's owner for a token of version 2 and take "
                "it in with `nsc add operator --force --url <file or url>`"
            )
        claims = decode(token, v1=True)
        try:
            signer = workspace.keystore.get(claims.sub)
        except NotFoundError:
            raise NotFoundError(
                f"the identity key of operator {quote(store.name)}, {claims.sub}, is not in the keystore: it "
                "must sign the operator's new token"
            ) from None
        store.write_operator(encode(claims, signer, now=workspace.now()), reissued=True)
        report.ok(f"Converted Operator: {store.name}")
        count = 1 + sum(_converted(workspace, path, report) for path in _paths(store))
    return Upgraded(whole, count)


def _paths(store: OperatorStore) -> list[Path]:
    """Return the paths of the accounts' tokens, each before those of its users."""
    found = []
    for account in store.accounts():
        found += [store.account_path(account), *(store.user_path(account, u) for u in store.users(account))]
    return found


def _converted(workspace: Workspace, path: Path, report: OperationReport) -> bool:
    """Convert one token to version 2; return False if it is one already, or cannot be converted."""
    try:
        token = undecorate_jwt(files.read(path))
        if not _old(token):
            return False
        claims: Claims = decode(token, v1=True)
        signer = workspace.keystore.get(claims.iss)
        files.write(path, encode(claims, signer, now=workspace.now()))
    except IdentityError as error:
        report.warn(f"left {place(path)} as it is: {error}")
        return False
    report.ok(f"Converted {claims.KIND}: {claims.name}")
    return True


def _old(token: str) -> bool:
    return header_of(token).get("alg") == "ed25519"
