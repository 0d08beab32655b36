"""Activations: tokens with which an account allows another one to import a private export."""

from __future__ import annotations

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, ActivationClaims, Export, Issues, subjects
from ..claims.issues import quote
from ..claims.subjects import contained
from ..errors import WorkspaceError
from ..token import encode
from . import accountserver
from .account_update import AccountUpdate
from .flag_values import date, relative
from .report import OperationReport
from .resolve import account_key
from .signing import user_signer
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class ActivationResult:
    """The activation that was made.

    token: the activation, for the importing account.
    export: the export that it opens.
    """

    report: OperationReport
    account: str
    claims: ActivationClaims
    export: Export
    token: str


def generate_activation(
    workspace: Workspace,
    importer: str,
    *,
    subject: str = "",
    start: int = 0,
    expiry: int = 0,
    account: str = "",
) -> ActivationResult:
    """Make an activation for the account `importer` (name or public key); nothing is stored.

    subject: what may be imported, the whole private export or a part of it; not needed if there is only one
        private export.
    start, expiry: seconds, 0 for none.

    Raises WorkspaceError, NkeyError.
    """
    now = workspace.now()
    update = AccountUpdate.open(workspace, account)
    export = _private(update, subject)
    subject = subject or export.subject
    key = account_key(workspace, importer)
    if key == update.claims.sub:
        raise WorkspaceError(f"account {quote(update.name)} needs no activation for what it exports itself")
    if expiry and expiry <= max(start, now // 1_000_000_000):
        raise WorkspaceError(f"the activation would never be valid: it expires {date(expiry)}")
    signer = user_signer(workspace, update.claims)
    claims = ActivationClaims.new(key, subject, export.type, name=subject)
    claims.nbf, claims.exp = start, expiry
    if signer.public_key != update.claims.sub:
        claims.nats.issuer_account = update.claims.sub
    token = encode(claims, signer, now=now)
    claims.iss = signer.public_key
    report = OperationReport(summary=True)
    report.ok(f"generated {quote(export.name)} activation for account {quote(key)}")
    if start:
        report.ok(f"token valid {date(start)} - {_titled(relative(start, now))}")
    if expiry:
        report.ok(f"token expires {date(expiry)} - {_titled(relative(expiry, now))}")
    return ActivationResult(report, update.name, claims, export, token)


def activation_server(workspace: Workspace) -> str:
    """Return the URL of the operator's HTTP account server; only such a server takes activations.

    Raises WorkspaceError if there is none.
    """
    operator = workspace.operator()
    url = operator.nats.account_server_url
    if not url:
        raise WorkspaceError(f"operator {operator.name} doesn't have an account server url configured")
    if not accountserver.is_http(url):
        raise WorkspaceError(
            "activation push is only supported for http base account server, "
            "not for nats-servers with a resolver"
        )
    return url


def push_activation(workspace: Workspace, made: ActivationResult) -> None:
    """Send an activation to the operator's account server, and add the result to its report.

    Raises WorkspaceError if there is no HTTP account server.
    """
    base, mark, query = activation_server(workspace).partition("?")
    where = f"{base.rstrip('/')}/activations"
    sent = accountserver.push(f"{where}{mark}{query}", made.token)
    made.report.add(sent)
    if not sent.failed:
        made.report.ok(f"activation accessible at {quote(f'{where}/{made.claims.hash_id}{mark}{query}')}")


def private_exports(claims: AccountClaims) -> list[Export]:
    """Return the exports that need an activation."""
    return [export for export in claims.nats.exports if export.token_req]


def _private(update: AccountUpdate, subject: str) -> Export:
    if not update.claims.nats.exports:
        raise WorkspaceError(f"account {quote(update.name)} doesn't have exports")
    private = private_exports(update.claims)
    if not private:
        raise WorkspaceError(
            f"account {quote(update.name)} doesn't have exports that require an activation token"
        )
    if not subject and len(private) > 1:
        raise WorkspaceError(f"a subject is required: one of {', '.join(e.subject for e in private)}")
    if subject:
        issues = Issues()
        subjects.check(subject, issues)
        for issue in issues:
            raise WorkspaceError(issue.text)
    exact = [export for export in private if subject in ("", export.subject)]
    for export in exact or [e for e in private if contained(subject, e.subject)]:
        return export
    raise WorkspaceError(
        f"a private export for {quote(subject)} was not found in account {quote(update.name)}"
    )


def _titled(text: str) -> str:
    """Return a distance in time as nsc writes it: `In 2 Days`."""
    return text.title()
