"""Users: making, editing and deleting them, with their credentials files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, UserClaims
from ..claims.base import SECOND
from ..decorated import format_credentials
from ..errors import FolderError, WorkspaceError
from ..nkey import KeyPair, KeyRole
from ..token import encode
from .edits import NO_DATES, NO_TAGS, Dates, Tags, kept, refuse_new_errors
from .naming import chosen
from .permissions import NO_EDITS, UserEdits
from .report import Grade, OperationReport, quote
from .signing import account_signer, given_key, user_signer
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class UserResult:
    """The result for a user that was made or edited.

    credentials: its file, None if the seed is not stored.
    """

    report: OperationReport
    name: str
    account: str
    public_key: str
    claims: UserClaims
    credentials: Path | None
    workspace: Workspace = field(repr=False)


@dataclass(frozen=True, slots=True)
class DeletedUsers:
    """The users that were deleted: name to public key."""

    report: OperationReport
    account: str
    users: dict[str, str]


@dataclass(frozen=True, slots=True)
class UserRemoval:
    """What is removed together with a user."""

    revoke: bool = False
    keys: bool = False
    credentials: bool = False


TOKEN_ONLY = UserRemoval()


def add_user(
    workspace: Workspace,
    name: str,
    *,
    account: str = "",
    key: str = "",
    edits: UserEdits = NO_EDITS,
    dates: Dates = NO_DATES,
    tags: tuple[str, ...] = (),
) -> UserResult:
    """Make a user of an account, by default the current one, and its credentials.

    key: its public key, its seed or a file with one of them, instead of a new key. A secret given here is not
        stored.

    `-K` may name the role of a scoped signing key; such a user has no permissions or limits of its own.
    Raises WorkspaceError, NkeyError; then nothing is changed.
    """
    name = chosen(name, "user")
    with workspace.locked():
        account_name = workspace.account_name(account)
        owner = workspace.store().account(account_name)
        if name in workspace.store().users(account_name):
            raise WorkspaceError(f"the user {quote(name)} already exists")
        if owner.nats.limits.disallow_bearer and edits.bearer:
            raise WorkspaceError(f"account {quote(account_name)} forbids the use of bearer token")
        signer = user_signer(workspace, owner)
        given = given_key(key, KeyRole.USER) if key else None
        made = KeyPair.create(KeyRole.USER) if given is None else None
        public = made.public_key if made is not None else given.public_key if given is not None else ""
        _must_be_new(workspace, account_name, public)
        scoped = owner.scope(signer.public_key) is not None
        issuer = "" if signer.public_key == owner.sub else owner.sub
        claims = UserClaims.new(public, name, issuer_account=issuer, scoped=scoped)
        dates.apply(claims, workspace.now())
        Tags(add=tags).apply(claims.nats)
        report = OperationReport()
        report.add(_permission_lines(edits, claims))
        _check_scope(owner, signer.public_key, claims, report)
        refuse_new_errors(None, claims, workspace.now())
        if made is not None:
            report.ok(f"generated and stored user key {quote(public)}")
        with kept(workspace.keystore, [] if made is None else [made]):
            path = workspace.put_user(account_name, claims, signer, report)
    report.ok(f"added user {quote(name)} to account {quote(account_name)}")
    return UserResult(
        report, name, account_name, public, workspace.store().user(account_name, name), path, workspace
    )


def edit_user(
    workspace: Workspace,
    name: str,
    edits: UserEdits,
    *,
    account: str = "",
    dates: Dates = NO_DATES,
    tags: Tags = NO_TAGS,
) -> UserResult:
    """Change a user, by name or public key, by default the only one, and rewrite its credentials.

    Raises WorkspaceError, NkeyError; then nothing is changed.
    """
    if not (edits.given or dates.given or tags.given):
        raise WorkspaceError("specify an edit option")
    with workspace.locked():
        account_name = workspace.account_name(account)
        store = workspace.store()
        owner, name = store.account(account_name), workspace.user_name(account_name, name)
        old = store.user(account_name, name)
        signer = user_signer(workspace, owner, prefer=old.iss)
        if owner.nats.limits.disallow_bearer and edits.bearer:
            raise WorkspaceError(f"account {quote(account_name)} forbids the use of bearer token")
        claims = old.model_copy(deep=True)
        scoped = owner.scope(signer.public_key) is not None
        if not scoped and owner.scope(old.iss) is not None:  # from now on it has limits of its own
            claims.nats.subs = claims.nats.data = claims.nats.payload = -1
        report = OperationReport()
        report.add(dates.apply(claims, workspace.now()), tags.apply(claims.nats), edits.apply(claims.nats))
        claims.nats.issuer_account = "" if signer.public_key == owner.sub else owner.sub
        _check_scope(owner, signer.public_key, claims, report)
        refuse_new_errors(old, claims, workspace.now())
        path = workspace.put_user(account_name, claims, signer, report)
    report.ok(f"edited user {quote(name)}")
    stored = store.user(account_name, name)
    return UserResult(report, name, account_name, claims.sub, stored, path, workspace)


def user_credentials(workspace: Workspace, account: str, name: str, *, expiry: int = 0) -> str:
    """Return the credentials of a stored user, by name or public key; they contain its seed.

    expiry: seconds since the epoch; then they have a token of their own, which ends there. The stored one
        stays as it is.

    Raises NotFoundError if the seed is not stored, WorkspaceError if no key may sign.
    """
    account_name = workspace.account_name(account)
    store, name = workspace.store(), workspace.user_name(account_name, name)
    claims, token = store.user(account_name, name), store.user_token(account_name, name)
    pair = workspace.keystore.get(claims.sub)
    if expiry:
        owner = store.account(account_name)
        signer = user_signer(workspace, owner, prefer=claims.iss)
        if signer.public_key != claims.iss:
            raise WorkspaceError(
                f"the key {claims.iss}, which signed user {quote(name)}, is not stored: no token that ends "
                "earlier can be made"
            )
        claims.exp = expiry
        token = encode(claims, signer, now=workspace.now())
    return format_credentials(token, pair.seed)


def delete_users(
    workspace: Workspace, names: tuple[str, ...], removal: UserRemoval = TOKEN_ONLY, *, account: str = ""
) -> DeletedUsers:
    """Delete users of an account, by name or public key. Raises WorkspaceError before anything is deleted."""
    if not names:
        raise WorkspaceError("please specify an user to delete")
    with workspace.locked():
        account_name = workspace.account_name(account)
        store = workspace.store()
        claims = store.account(account_name)
        found = dict.fromkeys(workspace.user_name(account_name, name) for name in names)
        users = {name: store.user(account_name, name).sub for name in found}
        report, before = OperationReport("delete users"), dict(claims.nats.revocations)
        fresh = [key for key in users.values() if removal.revoke and not before.get(key)]
        synced = OperationReport()
        if fresh:
            signer = account_signer(workspace, claims)
            for key in fresh:
                claims.revoke(key, workspace.now() // SECOND)
            synced = workspace.write_account(claims, signer)
        for name, key in users.items():
            known = bool(before.get(key))
            report.add(remove_user(workspace, account_name, name, key, removal, revoked_before=known))
        report.add(synced)
        if fresh:
            report.ok(f"edited account {quote(account_name)}")
    top = OperationReport()
    top.add(report)
    return DeletedUsers(top, account_name, users)


def remove_user(
    workspace: Workspace, account: str, name: str, key: str, removal: UserRemoval, *, revoked_before: bool
) -> OperationReport:
    """Remove one user's token, and its secrets if asked to; report it under the user's name.

    What cannot be removed is reported as an error; the rest is removed.
    """
    report = OperationReport(f"user {name} [{key}]", Grade.OK)
    store, keystore = workspace.store(), workspace.keystore
    if removal.revoke:
        report.ok("user is already revoked" if revoked_before else "revoked user")
    attempt(report, lambda: store.remove_user(account, name), "user deleted", "user deleted")
    if removal.keys:
        attempt(report, lambda: keystore.remove(key), "deleted private key", "private key is not stored")
    if removal.credentials:
        attempt(
            report,
            lambda: keystore.remove_credentials(store.name, account, name),
            "removed creds file",
            "creds file is not stored",
        )
    return report


def attempt(report: OperationReport, remove: Callable[[], bool], gone: str, absent: str) -> None:
    """Remove something; report that it was removed or did not exist, or why it could not be removed."""
    try:
        report.ok(gone if remove() else absent)
    except FolderError as error:
        report.error(str(error))


def _permission_lines(edits: UserEdits, claims: UserClaims) -> OperationReport:
    """Apply the edits of a new user; only those of permissions are reported."""
    edits.apply(claims.nats)
    outcome = OperationReport()
    outcome.add(edits.permissions.apply(UserClaims.new(claims.sub).nats))
    return outcome


def _must_be_new(workspace: Workspace, account: str, key: str) -> None:
    store = workspace.store()
    for name in store.users(account):
        if store.user(account, name).sub == key:
            raise WorkspaceError(f"user {quote(name)} of account {quote(account)} has the key {key} already")


def _check_scope(owner: AccountClaims, signer: str, claims: UserClaims, outcome: OperationReport) -> None:
    """Raise WorkspaceError if a scoped signing key would sign a user with permissions of its own."""
    if owner.scope(signer) is None or claims.nats.empty:
        return
    report = OperationReport()
    report.add(outcome)
    text = "scoped users require no permissions or limits set"
    report.error(text)
    report.warn("user was NOT edited as the edits conflict with signing key scope")
    raise WorkspaceError(text, report)
