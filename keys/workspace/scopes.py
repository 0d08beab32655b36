"""Scoped signing keys: the role of a signing key, and the permissions and limits of the users it signs."""

from __future__ import annotations

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, UserScope
from ..claims.issues import Issues, quote
from ..errors import FolderError, WorkspaceError
from ..nkey import KeyPair, KeyRole
from .account_update import AccountUpdate, editing
from .permissions import UserEdits
from .report import OperationReport
from .signing import GENERATE, GivenKey, given_key
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class ScopeResult:
    """The result of a change.

    scope: the signing key after it.
    """

    report: OperationReport
    account: str
    claims: AccountClaims
    scope: UserScope


def edit_signing_key(
    workspace: Workspace,
    key: str = "",
    *,
    role: str | None = None,
    description: str | None = None,
    edits: UserEdits | None = None,
    account: str = "",
) -> ScopeResult:
    """Change a scoped signing key; a plain one becomes scoped, and a new one is added.

    key: a public key, a role, a seed, a path or `generate`; "" is the key that has `role` already.

    A seed that is given is not stored, a generated one is. Raises WorkspaceError, NkeyError.
    """
    edits = edits or UserEdits()
    edits.check()
    with editing(workspace, account) as update:
        given = _chosen(update, key, role or "")
        if given.public_key == update.claims.sub:
            raise WorkspaceError("the identity key of an account is no signing key: it cannot have a scope")
        keys = update.claims.nats.signing_keys
        promoted = keys.get(given.public_key, UserScope()) is None
        scope = keys.get(given.public_key) or UserScope(key=given.public_key)
        if role is not None:
            scope.role = role
        if description is not None:
            scope.description = description
        before = _errors(scope)
        lines = edits.apply(scope.template)
        if new := [error for error in _errors(scope) if error not in before]:
            raise WorkspaceError(new[0])
        keys[given.public_key] = scope
        report = update.store(*([given.pair] if key == GENERATE and given.pair is not None else []))
        report.children[:0] = lines.children
        report.ok(f"edited signing key {quote(given.public_key)}")
        if promoted:
            _warn_users(update, given.public_key, report)
        return ScopeResult(report, update.name, update.claims, scope)


def _chosen(update: AccountUpdate, key: str, role: str) -> GivenKey:
    """Return the signing key to change."""
    if not key:
        if found := _with_role(update.claims, role):
            return GivenKey(found)
        advice = f": no signing key has the role {quote(role)} yet" if role else ""
        raise WorkspaceError(f"signing key is required{advice}")
    if key == GENERATE:
        pair = KeyPair.create(KeyRole.ACCOUNT)
        return GivenKey(pair.public_key, pair)
    if key in update.claims.nats.signing_keys:
        return GivenKey(key)
    if found := _with_role(update.claims, key):
        return GivenKey(found)
    return given_key(key, KeyRole.ACCOUNT)


def _with_role(claims: AccountClaims, role: str) -> str:
    """Return the signing key of a role, "" if none has it. Raises WorkspaceError if several have it."""
    if not role:
        return ""
    found = [
        key for key in claims.nats.signing_keys if (s := claims.scope(key)) is not None and s.role == role
    ]
    if len(found) > 1:
        raise WorkspaceError(
            f"several signing keys have the role {quote(role)}: name one of {', '.join(found)}"
        )
    return found[0] if found else ""


def _errors(scope: UserScope) -> list[str]:
    """Return the errors in a template; the rules for a user's permissions and limits apply to it too."""
    issues = Issues()
    scope.template.check_permissions(issues)
    scope.template.check_limits(issues)
    return [issue.text for issue in issues]


def _warn_users(update: AccountUpdate, key: str, report: OperationReport) -> None:
    """Warn of users of a scoped key with permissions or limits of their own, because servers refuse them."""
    store = update.workspace.store()
    for name in store.users(update.name):
        try:
            user = store.user(update.name, name)
        except FolderError:
            continue
        if user.iss == key and not user.nats.empty:
            report.warn(
                f"user {quote(name)} is issued by this key and has permissions or limits of its own: "
                "servers will refuse it until it is issued again"
            )
