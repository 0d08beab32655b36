"""Migrating accounts of another operator, with their users, to the current one.

The current operator signs each account; in a managed store the account signs itself, and the operator's owner
signs it later. Users keep their tokens, which their account's key signed.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import AccountClaims, UserClaims
from ..decorated import undecorate_jwt
from ..errors import IdentityError, WorkspaceError
from ..folders.store import OperatorStore
from ..token import decode
from .accountserver import is_http
from .report import OperationReport, place, quote
from .signing import account_signer
from .source import load_token
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class Migrated:
    """The names of the accounts that were migrated."""

    report: OperationReport
    accounts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Job:
    """One account to migrate, and the tokens of its users."""

    claims: AccountClaims
    users: list[str] | None


def migrate_operator(workspace: Workspace, folder: Path, *, force: bool = False) -> Migrated:
    """Migrate all accounts of the store in `folder`. `force`: replace accounts of the same name.

    Raises NotFoundError if the folder is not a store. A failure with one account does not affect the others.
    """
    other = OperatorStore(folder.expanduser().absolute())
    paths = [str(other.account_path(name)) for name in other.accounts()]
    if not paths:
        raise WorkspaceError(f"operator {quote(other.name)} has no accounts")
    return _migrated(workspace, paths, force)


def migrate_account(workspace: Workspace, where: str, *, force: bool = False) -> Migrated:
    """Migrate the account whose token is in a file or at a URL; from a file its users are migrated too."""
    return _migrated(workspace, [where], force)


def _migrated(workspace: Workspace, places: list[str], force: bool) -> Migrated:
    report, names = OperationReport(summary=True), []
    with workspace.locked():
        for where in places:
            try:
                job = _job(workspace, where, force)
                outcome = _run(workspace, job)
            except IdentityError as error:
                report.error(f"cannot migrate {where}: {error}" if where not in str(error) else str(error))
                continue
            names.append(job.claims.name)
            report.add(outcome)
    return Migrated(report, names)


def _job(workspace: Workspace, where: str, force: bool) -> _Job:
    """Read an account and its users, and check whether it can be migrated."""
    store = workspace.store()
    path = None if is_http(where) else Path(where).expanduser().absolute()
    if path is not None and path.is_relative_to(store.folder.absolute()):
        raise WorkspaceError(f"cannot migrate {place(path)} onto itself")
    claims = decode(load_token(where), AccountClaims)
    if claims.name in store.accounts() and not force:
        raise WorkspaceError(f"account {quote(claims.name)} already exists, specify --force to overwrite")
    keys = [claims.sub, *claims.nats.signing_keys]
    if not any(workspace.keystore.has(key) for key in keys):
        raise WorkspaceError(
            f"unable to find an account key for {quote(claims.name)} - need one of {', '.join(keys)}"
        )
    if path is None:
        return _Job(claims, None)
    users = []
    folder = path.parent / "users"
    for name in files.names(folder):
        if name.endswith(".jwt"):
            token = undecorate_jwt(files.read(folder / name))
            user_claims = decode(token, UserClaims)
            if not claims.did_sign(user_claims):
                raise WorkspaceError(
                    f"user {quote(user_claims.name)} is signed by {user_claims.iss}, no key of the account"
                )
            users.append(token)
    return _Job(claims, users)


def _run(workspace: Workspace, job: _Job) -> OperationReport:
    store = workspace.store()
    name = job.claims.name
    signer = account_signer(workspace, job.claims)
    if name in store.accounts() and store.account(name).sub != job.claims.sub:
        store.remove_account(name)  # another account, now replaced: its users are not this one's
    outcome = workspace.write_account(job.claims, signer)
    for token in job.users or ():
        store.write_user(token)
    count = f"{len(job.users)} users migrated" if job.users else "no users migrated"
    users = f" [{count}]" if job.users is not None else ""
    report = OperationReport()
    report.ok(f"migrated {quote(name)} to operator {quote(store.name)}{users}").add(outcome)
    return report
