"""The authorization callout of an account: users that bypass it, accounts it may use, its curve key."""

from __future__ import annotations

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, ExternalAuthorization
from ..claims.issues import quote
from ..errors import WorkspaceError
from ..nkey import KeyPair, KeyRole
from .account_update import AccountUpdate, editing
from .report import OperationReport
from .resolve import account_key, user_key
from .signing import GENERATE, given_key
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class CalloutChanges:
    """The changes of `edit_callout`. Users and accounts are names or public keys, `*` is any account.

    curve: a curve key (public key, seed or path), or `generate`; a secret that is given is stored.
    disable: end the callout; it excludes all other changes.
    """

    users: tuple[str, ...] = ()
    rm_users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    rm_accounts: tuple[str, ...] = ()
    curve: str = ""
    rm_curve: bool = False
    disable: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to change."""
        return self == CalloutChanges()


@dataclass(frozen=True, slots=True)
class CalloutResult:
    """The result of a change.

    authorization: the callout after it.
    """

    report: OperationReport
    account: str
    claims: AccountClaims
    authorization: ExternalAuthorization


def edit_callout(workspace: Workspace, changes: CalloutChanges, *, account: str = "") -> CalloutResult:
    """Change an account's authorization callout.

    Raises WorkspaceError for no changes, contradicting ones, or accounts without users. Raises NkeyError for
    keys of another role, or for secrets where public keys are expected.
    """
    if changes.empty:
        raise WorkspaceError("please specify some options")
    if changes.disable and changes != CalloutChanges(disable=True):
        raise WorkspaceError("--disable is exclusive of all other options")
    if changes.curve and changes.rm_curve:
        raise WorkspaceError("a curve key can be set or removed, not both")
    with editing(workspace, account) as update:
        if changes.disable:
            return _disable(update)
        callout = update.claims.nats.authorization or ExternalAuthorization()
        update.claims.nats.authorization = callout
        lines = OperationReport()
        _users(update, callout, changes, lines)
        _accounts(update, callout, changes, lines)
        pair = _curve(callout, changes, lines)
        report = update.store(*([] if pair is None else [pair]))
        report.add(lines)
        return CalloutResult(report, update.name, update.claims, callout)


def _disable(update: AccountUpdate) -> CalloutResult:
    callout = update.claims.nats.authorization = ExternalAuthorization()
    report = update.store()
    report.ok("removed external authorization configuration")
    return CalloutResult(report, update.name, update.claims, callout)


def _users(
    update: AccountUpdate, callout: ExternalAuthorization, changes: CalloutChanges, lines: OperationReport
) -> None:
    _add(
        callout.auth_users, [user_key(update.workspace, update.name, u) for u in changes.users], "user", lines
    )
    _remove(
        callout.auth_users,
        [user_key(update.workspace, update.name, u) for u in changes.rm_users],
        "user",
        lines,
    )


def _accounts(
    update: AccountUpdate, callout: ExternalAuthorization, changes: CalloutChanges, lines: OperationReport
) -> None:
    def key(name: str) -> str:
        return account_key(update.workspace, name, anyone=True)

    _add(callout.allowed_accounts, [key(a) for a in changes.accounts], "account", lines)
    _remove(callout.allowed_accounts, [key(a) for a in changes.rm_accounts], "account", lines)


def _add(listed: list[str], keys: list[str], what: str, lines: OperationReport) -> None:
    for key in keys:
        if key in listed:
            lines.ok(f"skipped adding {what} {quote(key)} - as it's already set")
        else:
            listed.append(key)
            lines.ok(f"added {what} {quote(key)}")


def _remove(listed: list[str], keys: list[str], what: str, lines: OperationReport) -> None:
    for key in keys:
        if key in listed:
            listed.remove(key)
            lines.ok(f"deleted {what} {quote(key)}")
        else:
            lines.ok(f"skipping {what} {quote(key)} - as it's not currently set")


def _curve(callout: ExternalAuthorization, changes: CalloutChanges, lines: OperationReport) -> KeyPair | None:
    """Set or remove the curve key; return the key pair that must be stored."""
    if changes.rm_curve and callout.xkey:
        lines.ok(f"removed {callout.xkey} curve key")
        callout.xkey = ""
    elif changes.rm_curve:
        lines.ok("remove curve key didn't do anything as the curve key was not set")
    if not changes.curve:
        return None
    if changes.curve == GENERATE:
        pair: KeyPair | None = KeyPair.create(KeyRole.CURVE)
    else:
        given = given_key(changes.curve, KeyRole.CURVE)
        pair = given.pair
        callout.xkey = given.public_key
    if pair is not None:
        callout.xkey = pair.public_key
    lines.ok(f"set curve key {callout.xkey}")
    return pair
