"""Renaming an account: its token is signed again, and its users and credentials are moved.

The new account is written first and the old one removed last; if something fails before that, the new one is
removed.
"""

from __future__ import annotations

import contextlib
from dataclasses import field, replace
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import AccountClaims
from ..errors import FolderError, WorkspaceError
from ..folders.store import OperatorStore
from ..nkey import Signer
from .naming import chosen
from .report import Grade, OperationReport, quote
from .signing import account_signer
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class Renamed:
    """The account's new name.

    workspace: the workspace in which it is current, if the old one was.
    """

    report: OperationReport
    name: str
    public_key: str
    workspace: Workspace = field(repr=False)


def rename_account(workspace: Workspace, old: str, new: str) -> Renamed:
    """Rename an account, by name or public key; its public key and its users' keys stay.

    Raises WorkspaceError if the new name is taken, NotFoundError, FolderError; nothing is changed then.
    """
    new = chosen(new, "account")
    with workspace.locked():
        store = workspace.store()
        old = store.account_named(old)
        claims = store.account(old)
        for name in store.accounts():
            if name.lower() == new.lower() and name != old:
                raise WorkspaceError(f"account {quote(name)} already exists")
        if old.lower() == new.lower():
            raise WorkspaceError(f"the account is called {quote(old)}: give it a really different name")
        if store.account_path(new).parent.exists():
            raise FolderError(f"{store.account_path(new).parent} already exists")
        source, target = (_credentials(workspace, store, name) for name in (old, new))
        if target.exists():
            raise FolderError(f"creds dir {quote(str(target))} already exists")
        signer = account_signer(workspace, claims)
        report = OperationReport(f"rename account {quote(old)} to {quote(new)}")
        renamed = claims.model_copy(update={"name": new})
        users = {user: store.user_token(old, user) for user in store.users(old)}
        report.add(_copied(workspace, store, renamed, signer, old, users))
        report.add(_moved_credentials(source, target, store, new))
        store.remove_account(old)
        cleanup = OperationReport("cleanup")
        for what in ("users directory", "account jwt", "account directory"):
            cleanup.ok(f"deleted old {what}")
        report.add(cleanup)
    context = workspace.context
    if context.account == old:
        workspace = replace(workspace, context=replace(context, account=new)).save()
    whole = OperationReport(children=[report])
    return Renamed(whole, new, claims.sub, workspace)


def _copied(
    workspace: Workspace,
    store: OperatorStore,
    claims: AccountClaims,
    signer: Signer,
    old: str,
    users: dict[str, str],
) -> OperationReport:
    """Write the account and its users under the new name, and return a report."""
    both = OperationReport()
    try:
        copy = OperationReport(f"copy account {quote(old)} to {quote(claims.name)}", Grade.OK)
        copy.add(workspace.write_account(claims, signer))
        moved = OperationReport("move users")
        for user, token in users.items():
            files.write(store.user_path(claims.name, user), token)
            one = OperationReport(f"move user {quote(user)}")
            one.ok("copied user")
            one.ok("removed user from the old account")
            moved.add(one)
    except (FolderError, WorkspaceError):
        with contextlib.suppress(FolderError):
            store.remove_account(claims.name)
        raise
    both.add(copy)
    if moved.children:
        both.add(moved)
    return both


def _moved_credentials(source: Path, target: Path, store: OperatorStore, new: str) -> OperationReport:
    report = OperationReport("move creds directory", Grade.OK)
    if not source.is_dir():
        report.ok("skipping... no creds directory found")
        return report
    try:
        source.rename(target)
    except OSError as error:
        with contextlib.suppress(FolderError):
            store.remove_account(new)
        raise FolderError(f"cannot rename {source}: {error.strerror}") from None
    return report


def _credentials(workspace: Workspace, store: OperatorStore, account: str) -> Path:
    return workspace.keystore.credentials_path(store.name, account, "any").parent
