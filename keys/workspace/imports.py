"""Imports of an account: adding them from a public export or with an activation, editing and deleting one."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocol.lazy_dataclass import dataclass
from ..chain import Reason, Refusal
from ..claims import AccountClaims, ActivationClaims, Import
from ..claims.export import Kind
from ..claims.issues import quote
from ..claims.subjects import plain, stars
from ..errors import FolderError, NotFoundError, WorkspaceError
from ..grants import find_export, import_cycles, validate_import
from ..token import decode
from .account_update import AccountUpdate, editing
from .report import Grade, OperationReport
from .resolve import account_key, account_label
from .workspace import Workspace

# What a server would refuse today and may grant tomorrow is a warning, not an error.
_WARNED = {Reason.NO_EXPORT, Reason.NO_ACTIVATION, Reason.ACCOUNT_POSITION}


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of a change.

    claims: the account as it was stored.
    item: the import that was changed.
    """

    report: OperationReport
    account: str
    claims: AccountClaims
    item: Import


def add_import(workspace: Workspace, item: Import, *, account: str = "") -> ImportResult:
    """Add an import; without a name it is named after its subject.

    item: its `account` may be the exporter's name.

    Raises WorkspaceError for an import from the account itself or one that exists, an unsuitable local
    subject, a cycle of imports, or an activation that has expired, is revoked or belongs to another account.
    """
    return add_imports(workspace, [item], account=account)[0]


def add_imports(workspace: Workspace, items: Sequence[Import], *, account: str = "") -> list[ImportResult]:
    """Add several imports, all or none; otherwise as `add_import`."""
    items = [_completed(workspace, item) for item in items]
    with editing(workspace, account) as update:
        others = _others(update)
        before = _circles(others, update.claims)
        for item in items:
            _check(update, item, update.claims.nats.imports)
            update.claims.nats.imports.append(item)
        update.check()
        _check_circles(workspace, before, _circles(others, update.claims))
        refused = [_check_import(others, update, item) for item in items]
        report = update.store()
        for item, refusal in zip(items, refused, strict=True):
            report.ok(f"added {item.type} import {quote(item.subject)}")
            _warn(workspace, item, refusal, report)
        return [ImportResult(report, update.name, update.claims, item) for item in items]


@dataclass(frozen=True, slots=True)
class ImportChanges:
    """The changes of `edit_import`; None changes nothing."""

    local_subject: str | None = None
    share: bool | None = None
    allow_trace: bool | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to change."""
        return self == ImportChanges()


def edit_import(
    workspace: Workspace,
    changes: ImportChanges,
    *,
    subject: str,
    exporter: str = "",
    kind: Kind = "",
    account: str = "",
) -> ImportResult:
    """Change an import, chosen as by `delete_import`. Raises WorkspaceError as `add_import` does."""
    if changes.empty:
        raise WorkspaceError("please specify some options")
    with editing(workspace, account) as update:
        imports = update.claims.nats.imports
        at = _find(update, subject, exporter, kind)
        others = _others(update)
        before = _circles(others, update.claims)
        changed = {
            name: value
            for name in ("local_subject", "share", "allow_trace")
            if (value := getattr(changes, name)) is not None
        }
        item = imports[at].model_copy(update=changed, deep=True)
        _check(update, item, [*imports[:at], *imports[at + 1 :]])
        imports[at] = item
        update.check()
        _check_circles(workspace, before, _circles(others, update.claims))
        refused = _check_import(others, update, item)
        report = update.store()
        report.ok(f"edited {item.type} import {quote(item.subject)}")
        _warn(workspace, item, refused, report)
        return ImportResult(report, update.name, update.claims, item)


def find_local(account: AccountClaims, subject: str, kind: Kind = "") -> Import:
    """Return the import that an account sees under a local subject, whose `$1` may be written as `*`.

    kind: chooses between a stream and a service of that subject.

    Raises WorkspaceError if there is none, or more than one.
    """
    found = [
        item
        for item in account.nats.imports
        if subject in (item.local_subject, item.local) and kind in ("", item.type)
    ]
    if not found:
        raise NotFoundError(f"account {quote(account.name)} imports nothing as {quote(subject)}")
    if len(found) > 1:
        kinds = {item.type for item in found}
        ways = "a stream and a service" if len(kinds) > 1 else f"{len(found)} {found[0].type}s"
        raise WorkspaceError(f"account {quote(account.name)} imports {ways} as {quote(subject)}")
    return found[0]


def _completed(workspace: Workspace, item: Import) -> Import:
    """Return a copy of an import with everything that a token needs."""
    item = item.model_copy(deep=True)
    if not item.subject:
        raise WorkspaceError("a remote subject is required")
    if not item.account:
        raise WorkspaceError("an account to import from is required")
    item.account = account_key(workspace, item.account)
    item.name = item.name or item.subject
    item.type = item.type or "stream"
    return item


def _warn(workspace: Workspace, item: Import, refused: Refusal | None, report: OperationReport) -> None:
    """Report why servers would not serve an import yet, if that is so."""
    if refused is not None:
        why = refused.detail.replace(item.account, account_label(workspace, item.account))
        report.warn(f"servers will not serve it yet: {why}")


def add_activated_import(
    workspace: Workspace,
    token: str,
    *,
    name: str = "",
    local_subject: str = "",
    share: bool = False,
    allow_trace: bool = False,
    account: str = "",
) -> ImportResult:
    """Add the import that an activation token allows.

    Raises as `add_import` does, and TokenError for an invalid token.
    """
    activation = decode(token, ActivationClaims)
    kind = activation.nats.kind or "stream"
    if kind == "service":
        local_subject = local_subject or activation.nats.subject
    item = Import(
        name=name or activation.name,
        subject=activation.nats.subject,
        account=activation.nats.issuer_account or activation.iss,
        token=token,
        local_subject=local_subject,
        type=kind,
        share=share,
        allow_trace=allow_trace and kind == "stream",
    )
    return add_import(workspace, item, account=account)


def delete_import(
    workspace: Workspace, *, subject: str = "", exporter: str = "", kind: Kind = "", account: str = ""
) -> ImportResult:
    """Delete an import, chosen by the exporter's subject; with only one no subject is needed.

    If several have that subject, `exporter` (name or public key) and `kind` choose. Raises WorkspaceError.
    """
    with editing(workspace, account) as update:
        gone = update.claims.nats.imports.pop(_find(update, subject, exporter, kind))
        report = update.store()
        report.summary = True
        report.children.insert(
            0, OperationReport(f"deleted {gone.type} import {quote(gone.subject)}", Grade.OK)
        )
        return ImportResult(report, update.name, update.claims, gone)


def _find(update: AccountUpdate, subject: str, exporter: str, kind: Kind) -> int:
    imports = update.claims.nats.imports
    if not imports:
        raise WorkspaceError(f"account {quote(update.name)} doesn't have imports")
    if not subject and len(imports) > 1:
        raise WorkspaceError(f"subject is required: one of {', '.join(i.subject for i in imports)}")
    key = account_key(update.workspace, exporter) if exporter else ""
    found = [
        place
        for place, item in enumerate(imports)
        if subject in ("", item.subject) and key in ("", item.account) and kind in ("", item.type)
    ]
    if not found:
        where = f" from account {exporter}" if exporter else ""
        raise WorkspaceError(f"no import matching {quote(subject)} found{where}")
    if len(found) == 1:
        return found[0]
    accounts = list(dict.fromkeys(imports[place].account for place in found))
    if len(accounts) > 1:
        raise WorkspaceError(
            f"more than one import {quote(subject)} found - specify --src-account with one of "
            f"{', '.join(accounts)}"
        )
    raise WorkspaceError(f"{quote(subject)} is imported as stream and as service: say which one is meant")


def _check(update: AccountUpdate, item: Import, others: Sequence[Import]) -> None:
    """Check an import before its account is examined as a whole; `others` are the account's other imports."""
    if item.token:
        _check_activation(update, item)
    if item.account == update.claims.sub:
        raise WorkspaceError(f"export issuer is this account: {quote(update.name)} cannot import from itself")
    for other in others:
        if (other.type, other.account, other.subject) == (item.type, item.account, item.subject):
            raise WorkspaceError(
                f"account already imports {item.type} {quote(item.subject)} from {item.account}"
            )
    if item.share and item.type != "service":
        raise WorkspaceError("only services can set the share property")
    if item.allow_trace and item.type == "service":
        raise WorkspaceError("only streams can allow traces on import, the export of a service does")
    wanted, used = stars(item.subject), stars(plain(item.local_subject))
    if item.local_subject and wanted != used:
        raise WorkspaceError(
            f"local subject {quote(item.local_subject)} must use each wildcard of {quote(item.subject)}, "
            f"as * or as $1, $2, …: there are {wanted}, it uses {used}"
        )


def _check_activation(update: AccountUpdate, item: Import) -> None:
    activation = item.activation()
    if activation.sub != update.claims.sub:
        name = account_label(update.workspace, activation.sub)
        whose = f"{quote(activation.sub)} ({name})" if name else quote(activation.sub)
        raise WorkspaceError(f"activation is not intended for this account - it is for {whose}")
    if activation.exp and activation.exp <= update.seconds:
        raise WorkspaceError(f"the activation for {quote(activation.nats.subject)} is expired")


def _others(update: AccountUpdate) -> dict[str, AccountClaims]:
    """Return the other accounts of the store by public key; one with a damaged token is left out."""
    store = update.workspace.store()
    found: dict[str, AccountClaims] = {}
    for name in store.accounts():
        if name == update.name:
            continue
        try:
            claims = store.account(name)
        except FolderError:
            continue
        found[claims.sub] = claims
    return found


def _circles(others: dict[str, AccountClaims], claims: AccountClaims) -> list[list[str]]:
    return import_cycles({claims.sub: claims, **others})


def _check_circles(workspace: Workspace, before: list[list[str]], after: list[list[str]]) -> None:
    known = [set(circle) for circle in before]
    for circle in after:
        if set(circle) not in known:
            names = [account_label(workspace, key) or key for key in [*circle, circle[0]]]
            raise WorkspaceError(f"this import would close a circle: {' imports from '.join(names)}")


def _check_import(others: dict[str, AccountClaims], update: AccountUpdate, item: Import) -> Refusal | None:
    """Check what a server would say, if the exporter is known. Raises for what can never be granted."""
    exporter = others.get(item.account)
    if exporter is None:
        return None
    refused = validate_import(item, update.claims, exporter, update.workspace.now())
    if refused is None or refused.reason in _WARNED:
        return refused
    export = find_export(exporter, item)
    named = quote(export.subject) if export is not None else quote(item.subject)
    raise WorkspaceError(
        f"account {quote(exporter.name)} does not grant its export {named}: {refused.detail}"
    )
