"""Revocations: of users in an account, and of other accounts' activations on one of its exports."""

from __future__ import annotations

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, Export
from ..claims.export import Kind
from ..claims.issues import quote
from ..claims.parts import ANY, revoke
from ..claims.subjects import contained
from ..errors import WorkspaceError
from .account_update import AccountUpdate, editing
from .flag_values import date
from .report import OperationReport
from .resolve import account_key, user_key
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class RevocationResult:
    """The result of a change.

    key: whose tokens are revoked, `*` for all.
    export: the export, None for users.
    """

    report: OperationReport
    account: str
    claims: AccountClaims
    key: str
    export: Export | None = None


@dataclass(frozen=True, slots=True)
class Revocation:
    """One entry: the tokens of `key` (or `*`) that were issued up to `at` (seconds) are refused."""

    key: str
    at: int


def revoke_user(workspace: Workspace, user: str = "", *, at: int = 0, account: str = "") -> RevocationResult:
    """Revoke a user (name, public key or `*`; "" for the only one) as of `at` (seconds; 0 is now).

    A later revocation of the same user stays. Raises WorkspaceError, NkeyError.
    """
    with editing(workspace, account) as update:
        key = _user(update, user)
        when = at or update.seconds
        update.claims.revoke(key, when)
        report = update.store()
        report.summary = True
        if key == ANY:
            report.ok(f"revoked all users issued before {_when(when)}")
        else:
            report.ok(f"revoked user {quote(key)}")
        return RevocationResult(report, update.name, update.claims, key)


def unrevoke_user(workspace: Workspace, user: str = "", *, account: str = "") -> RevocationResult:
    """Remove the revocation of a user (name, public key or `*`). Raises WorkspaceError if there is none."""
    with editing(workspace, account) as update:
        if not update.claims.nats.revocations:
            raise WorkspaceError(f"no user revocations set in account {update.name}")
        key = _user(update, user)
        if key not in update.claims.nats.revocations:
            raise WorkspaceError(f"user with public key {key} is not revoked")
        del update.claims.nats.revocations[key]
        report = update.store()
        report.summary = True
        report.ok(
            "deleted all user revocation" if key == ANY else f"deleted user revocation for {quote(key)}"
        )
        return RevocationResult(report, update.name, update.claims, key)


def revoked_users(workspace: Workspace, *, account: str = "") -> tuple[str, list[Revocation]]:
    """Return the account's name and the revocations of its users, `*` first, then by key."""
    update = AccountUpdate.open(workspace, account)
    return update.name, _sorted(update.claims.nats.revocations)


def revoke_activation(
    workspace: Workspace,
    target: str,
    *,
    subject: str = "",
    kind: Kind = "stream",
    at: int = 0,
    account: str = "",
) -> RevocationResult:
    """Revoke the activation of an account (name, public key or `*`) as of `at` (seconds; 0 is now).

    The export is the one of `kind` that contains `subject`, or the only one. Raises WorkspaceError,
    NkeyError.
    """
    with editing(workspace, account) as update:
        export = _export(update, subject, kind)
        key = account_key(workspace, target, anyone=True)
        when = at or update.seconds
        export.revocations = revoke(export.revocations, key, when)
        report = update.store()
        report.summary = True
        if key == ANY:
            report.ok(f"revoked all activations for {quote(export.name)} issued before {_when(when)}")
        else:
            report.ok(f"revoked activation {quote(export.name)} for account {key}")
        return RevocationResult(report, update.name, update.claims, key, export)


def unrevoke_activation(
    workspace: Workspace, target: str, *, subject: str = "", kind: Kind = "stream", account: str = ""
) -> RevocationResult:
    """Remove the revocation of an account's activation. Raises WorkspaceError if there is none."""
    with editing(workspace, account) as update:
        export = _export(update, subject, kind)
        key = account_key(workspace, target, anyone=True)
        if key not in export.revocations:
            whose = "of all accounts" if key == ANY else f"of account {key}"
            raise WorkspaceError(f"{kind} export {export.name} has no revocation {whose}")
        export.revocations = {other: at for other, at in export.revocations.items() if other != key}
        report = update.store()
        report.summary = True
        whom = "all accounts" if key == ANY else f"account {key}"
        report.ok(f"deleted {kind} {export.name} revocation for {whom}")
        return RevocationResult(report, update.name, update.claims, key, export)


def revoked_activations(
    workspace: Workspace, *, subject: str = "", kind: Kind = "stream", account: str = ""
) -> tuple[Export, list[Revocation]]:
    """Return an export and the revocations on it, `*` first, then by key. Raises WorkspaceError."""
    export = _export(AccountUpdate.open(workspace, account), subject, kind)
    return export, _sorted(export.revocations)


def exports_of(update: AccountUpdate, kind: Kind) -> list[Export]:
    """Return an account's exports of one kind. Raises WorkspaceError if there are none."""
    if not update.claims.nats.exports:
        raise WorkspaceError(f"account {quote(update.name)} doesn't have exports")
    found = [export for export in update.claims.nats.exports if export.type == kind]
    if not found:
        raise WorkspaceError(f"account {quote(update.name)} doesn't have {kind} exports")
    return found


def _export(update: AccountUpdate, subject: str, kind: Kind) -> Export:
    possible = exports_of(update, kind)
    if not subject and len(possible) > 1:
        raise WorkspaceError(f"a subject is required: one of {', '.join(e.subject for e in possible)}")
    exact = [export for export in possible if subject in ("", export.subject)]
    for export in exact or [e for e in possible if contained(subject, e.subject)]:
        return export
    raise WorkspaceError(
        f"unable to locate export: account {quote(update.name)} exports no {kind} {quote(subject)}"
    )


def _user(update: AccountUpdate, user: str) -> str:
    """Return a user's key; if none is given, that of the account's only user."""
    if user:
        return user_key(update.workspace, update.name, user, anyone=True)
    name = update.workspace.user_name(update.name)
    return update.workspace.store().user(update.name, name).sub


def _sorted(revocations: dict[str, int]) -> list[Revocation]:
    return [Revocation(key, revocations[key]) for key in sorted(revocations)]


def _when(seconds: int) -> str:
    """Return a time as Go writes it: `2026-01-02 03:04:05 +0000 UTC`."""
    return date(seconds).replace(" UTC", " +0000 UTC")
