"""Accounts: making, editing and deleting them."""

from __future__ import annotations

import functools
from dataclasses import field

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, MsgTrace
from ..claims.issues import Issues
from ..errors import WorkspaceError
from ..nkey import KeyPair, KeyRole
from .edits import NO_DATES, Dates, SigningKeys, Tags, kept, refuse_new_errors
from .flag_values import date
from .jetstream import JetStreamEdits
from .naming import chosen
from .permissions import NO_PERMISSIONS, PermissionEdits
from .report import OperationReport, quote
from .signing import account_signer, given_key
from .users import UserRemoval, attempt, remove_user
from .workspace import Workspace

# Limits of an account and what is reported when one is changed, in the order of the reports.
_LIMITS = {
    "conn": "changed max connections to {}",
    "leaf": "changed leaf node connections to {}",
    "data": "changed max data to {} bytes",
    "exports": "changed max exports to {}",
    "wildcards": "changed wild card exports to {}",
    "disallow_bearer": "changed disallow bearer to {}",
    "imports": "changed max imports to {}",
    "payload": "changed max payload size to {}",
    "subs": "changed max subscriptions to {}",
}


@dataclass(frozen=True, slots=True)
class AccountResult:
    """The result for an account that was made, edited or deleted.

    workspace: for a new account, the workspace in which it is current.
    """

    report: OperationReport
    name: str
    public_key: str
    claims: AccountClaims
    workspace: Workspace = field(repr=False)


@dataclass(frozen=True, slots=True)
class AccountEdits:
    """The changes of an account; None and empty values change nothing.

    limits: `conn`, `leaf`, `data` (bytes), `exports`, `imports`, `payload` (bytes), `subs` to numbers, -1 for
        unlimited; `wildcards`, `disallow_bearer` to bools.
    trace_subject: "" ends tracing.
    trace_sampling: percent.
    own_cluster_traffic: whether JetStream's traffic goes through this account.
    """

    dates: Dates = field(default_factory=Dates)
    tags: Tags = field(default_factory=Tags)
    signing_keys: SigningKeys = field(default_factory=SigningKeys)
    limits: dict[str, int | bool] = field(default_factory=dict)
    jetstream: JetStreamEdits = field(default_factory=JetStreamEdits)
    permissions: PermissionEdits = field(default_factory=PermissionEdits)
    description: str | None = None
    info_url: str | None = None
    trace_subject: str | None = None
    trace_sampling: int | None = None
    own_cluster_traffic: bool | None = None

    @property
    def given(self) -> bool:
        """Whether anything should be changed."""
        parts = (self.dates, self.tags, self.signing_keys, self.jetstream, self.permissions)
        others = (
            self.description,
            self.info_url,
            self.trace_subject,
            self.trace_sampling,
            self.own_cluster_traffic,
        )
        return bool(self.limits) or any(p.given for p in parts) or any(o is not None for o in others)


NO_EDITS = AccountEdits()


def add_account(
    workspace: Workspace,
    name: str,
    *,
    key: str = "",
    dates: Dates = NO_DATES,
    permissions: PermissionEdits = NO_PERMISSIONS,
    edits: AccountEdits = NO_EDITS,
) -> AccountResult:
    """Make an account and make it the current one.

    key: its public key, its seed or a file with one of them, instead of a new key. A secret given here is not
        stored.
    permissions: the defaults of its users.
    edits: everything else in which it differs from an unlimited account without JetStream.

    Raises WorkspaceError, NkeyError; then nothing is changed.
    """
    name = chosen(name, "account")
    report = OperationReport()
    with workspace.locked():
        for other in workspace.store().accounts():
            if other.lower() == name.lower():
                raise WorkspaceError(f"the account {quote(other)} already exists")
        given = given_key(key, KeyRole.ACCOUNT) if key else None
        pair = KeyPair.create(KeyRole.ACCOUNT) if given is None else given.pair
        public = given.public_key if given is not None else pair.public_key if pair is not None else ""
        _must_be_new(workspace, public)
        claims = AccountClaims.new(public, name)
        dates.apply(claims, workspace.now())
        report.add(permissions.apply(claims.nats.default_permissions))
        made = _apply(edits, workspace, claims, report)
        refuse_new_errors(None, claims, workspace.now())
        signer = account_signer(workspace, claims, new=pair)
        made += [pair] if given is None and pair is not None else []
        if given is None:
            report.ok(f"generated and stored account key {quote(public)}")
        with kept(workspace.keystore, made):
            report.add(workspace.write_account(claims, signer))
    workspace = workspace.with_account(name)
    if not report.failed:  # an account server may have refused it
        report.ok(f"added account {quote(name)}")
        workspace = workspace.save()
    return AccountResult(report, name, public, workspace.account(), workspace)


def edit_account(workspace: Workspace, account: str, edits: AccountEdits) -> AccountResult:
    """Change an account, by name or public key, or the current one. Raises WorkspaceError, NkeyError."""
    if not edits.given:
        raise WorkspaceError("specify an edit option")
    with workspace.locked():
        name = workspace.account_name(account)
        old = workspace.store().account(name)
        claims = old.model_copy(deep=True)
        report = OperationReport()
        made = _apply(edits, workspace, claims, report)
        if edits.limits.get("disallow_bearer"):
            _refuse_bearers(workspace, name)
        refuse_new_errors(old, claims, workspace.now())
        signer = account_signer(workspace, old)
        with kept(workspace.keystore, made):
            report.add(workspace.write_account(claims, signer))
    stored = workspace.store().account(name)
    if workspace.store().managed:
        report.add(_modifications(claims, stored))
    edits.signing_keys.forget_removed(workspace.keystore, report)
    report.ok(f"edited account {quote(name)}")
    return AccountResult(report, name, claims.sub, stored, workspace)


def delete_account(
    workspace: Workspace,
    account: str,
    *,
    revoke: bool = True,
    keys: bool = False,
    credentials: bool = False,
    force: bool = False,
) -> AccountResult:
    """Delete an account with its users; in the network it expires after a minute.

    keys, credentials: whether to remove the secrets too.
    force: required in a managed store.

    Raises WorkspaceError.
    """
    if workspace.store().managed and not force:
        raise WorkspaceError(
            "managed accounts may require the account JWT or nkeys to cancel a service, "
            "specify the --force to override"
        )
    with workspace.locked():
        store = workspace.store()
        name = workspace.account_name(account)
        claims = store.account(name)
        users = [(user, store.user(name, user).sub) for user in store.users(name)]
        signer = account_signer(workspace, claims)
        report = OperationReport()
        removal = UserRemoval(revoke=revoke, keys=keys, credentials=credentials)
        claims.exp = workspace.now() // 1_000_000_000 + 60
        before = dict(claims.nats.revocations)
        if revoke:
            for _, key in users:
                if not claims.nats.revocations.get(key):
                    claims.revoke(key, workspace.now() // 1_000_000_000)
        synced = workspace.write_account(claims, signer)
        for user, key in users:
            report.add(remove_user(workspace, name, user, key, removal, revoked_before=bool(before.get(key))))
        report.add(synced)
        report.ok(f"expired account {quote(name)}")
        if keys:
            _forget_keys(workspace, claims, report)
        attempt(report, lambda: store.remove_account(name), "deleted account", "deleted account")
    if not report.failed:
        report.ok("deleted account directory")
    return AccountResult(report, name, claims.sub, claims, workspace)


def _must_be_new(workspace: Workspace, key: str) -> None:
    store = workspace.store()
    for name in store.accounts():
        if store.account(name).sub == key:
            raise WorkspaceError(f"account {quote(name)} has the key {key} already")


def _apply(
    edits: AccountEdits, workspace: Workspace, claims: AccountClaims, report: OperationReport
) -> list[KeyPair]:
    """Make the changes in the claims and report them; return the key pairs made for signing keys."""
    body = claims.nats
    keys, made = edits.signing_keys.read(KeyRole.ACCOUNT, body.signing_keys, f"account {claims.name}")
    body.signing_keys |= {key: None for key in keys if key not in body.signing_keys}
    for key in edits.signing_keys.remove:
        del body.signing_keys[key]
    report.add(
        edits.signing_keys.tell(keys),
        edits.dates.apply(claims, workspace.now()),
        edits.tags.apply(body),
        _apply_limits(edits, claims),
    )
    system = workspace.operator().nats.system_account == claims.sub
    report.add(edits.jetstream.apply(body.limits, system=system))
    _apply_info(edits, claims, report)
    report.add(edits.permissions.apply(body.default_permissions))
    _apply_trace(edits, claims, report)
    return made


def _apply_limits(edits: AccountEdits, claims: AccountClaims) -> OperationReport:
    report = OperationReport()
    for name in edits.limits:
        if name not in _LIMITS:
            raise WorkspaceError(f"{name!r} is no limit of an account")
    for name, words in _LIMITS.items():
        value = edits.limits.get(name)
        if value is None:
            continue
        if value < -1:
            raise WorkspaceError(f"{value} is no limit: give a number, or -1 for none")
        setattr(claims.nats.limits, name, value)
        report.ok(words.format(str(value).lower()))
    return report


def _apply_info(edits: AccountEdits, claims: AccountClaims, report: OperationReport) -> None:
    if edits.description is not None:
        claims.nats.description = edits.description
        report.ok(f"changed description to {quote(edits.description)}")
    if edits.info_url is not None:
        claims.nats.info_url = edits.info_url
        report.ok(f"changed info url to {quote(edits.info_url)}")


def _apply_trace(edits: AccountEdits, claims: AccountClaims, report: OperationReport) -> None:
    body = claims.nats
    if edits.trace_subject is not None:
        if edits.trace_subject:
            body.trace = MsgTrace(dest=edits.trace_subject)  # then its sampling is new too
            found = Issues()
            body.trace.check(found)
            for issue in found:
                raise WorkspaceError(issue.text)
            report.ok(f"changed trace context subject to {quote(edits.trace_subject)}")
        else:
            body.trace = None
            report.ok("disabled trace context")
    if edits.trace_sampling is not None:
        if body.trace is None or not body.trace.dest:
            raise WorkspaceError("trace-context-sampling requires a subject")
        if not 0 <= edits.trace_sampling <= 100:
            raise WorkspaceError("tracing sampling rate must be between 1-100")
        body.trace.sampling = edits.trace_sampling
        report.ok(f"changed trace context sampling to {edits.trace_sampling}%")
    if edits.own_cluster_traffic is not None:
        body.cluster_traffic = "owner" if edits.own_cluster_traffic else ""
        word = "enabled" if edits.own_cluster_traffic else "disabled"
        report.ok(f"{word} routing of JetStream cluster traffic through this account")


def _refuse_bearers(workspace: Workspace, account: str) -> None:
    store = workspace.store()
    for user in store.users(account):
        if store.user(account, user).nats.bearer_token:
            raise WorkspaceError(
                f"user {quote(user)} in account {quote(account)} uses bearer token "
                "(needs to be deleted/changed first)"
            )


def _modifications(ours: AccountClaims, theirs: AccountClaims) -> OperationReport:
    """Return the limits that the account server changed."""
    report = OperationReport("account server modifications")
    words = {
        "subs": "max subscriptions",
        "conn": "max connections",
        "leaf": "max leaf node connections",
        "imports": "max imports",
        "exports": "max exports",
        "data": "max data",
        "payload": "max message payload",
        "wildcards": "allow wildcard exports",
    }
    for name in ("nbf", "exp"):
        had, has = getattr(ours, name), getattr(theirs, name)
        if had != has:
            what = "start" if name == "nbf" else "expiry"
            report.server(f"jwt {what} changed from {date(had) or 'always'} to {date(has) or 'always'}")
    for name, label in words.items():
        had, has = getattr(ours.nats.limits, name), getattr(theirs.nats.limits, name)
        if had != has:
            report.server(f"{label} changed from {_limit(had)} to {_limit(has)}")
    return report if report.children else OperationReport()


def _limit(value: int) -> str:
    return "unlimited" if value == -1 else str(value).lower()


def _forget_keys(workspace: Workspace, claims: AccountClaims, report: OperationReport) -> None:
    keys = dict.fromkeys(sorted(claims.nats.signing_keys), "signing key") | {claims.sub: "private key"}
    for key, what in keys.items():
        words = f"{what} {quote(key)}"
        attempt(
            report,
            functools.partial(workspace.keystore.remove, key),
            f"deleted {words}",
            f"{words} is not stored",
        )
