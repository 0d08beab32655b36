"""Operators: making them with or without a system account, importing and editing them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import AccountClaims, Export, OperatorClaims, UserClaims, service_url_error
from ..claims.urls import UrlError, parse
from ..decorated import undecorate_jwt
from ..errors import ForeignError, IdentityError, NotFoundError, TokenError, TokenFault, WorkspaceError
from ..nkey import KeyPair, KeyRole, is_public
from ..token import decode, encode
from . import accountserver
from .edits import NO_DATES, Dates, SigningKeys, Tags, kept, refuse_new_errors
from .naming import chosen
from .report import OperationReport, place, quote
from .signing import given_key, operator_signer
from .workspace import Workspace

WELL_KNOWN = {"synadia": "https://api.synadia.io/jwt/v1/operator"}
SYSTEM_ACCOUNT, SYSTEM_USER = "SYS", "sys"
_VERSION_LINE = "When running your own nats-server, make sure they run at least version 2.2.0"
_SERVICES = "Request account specific monitoring services for: SUBSZ, CONNZ, LEAFZ, JSZ and INFO"
_MONITORING = "https://docs.nats.io/nats-server/configuration/sys_accounts"


@dataclass(frozen=True, slots=True)
class OperatorResult:
    """The result for an operator that was made, imported or edited.

    workspace: the workspace in which it is current.
    """

    report: OperationReport
    name: str
    public_key: str
    claims: OperatorClaims
    workspace: Workspace = field(repr=False)


@dataclass(frozen=True, slots=True)
class SystemAccount:
    """A system account that is not stored yet: its token, its user's token, and all their keys."""

    account: KeyPair
    signing: KeyPair
    user: KeyPair
    account_token: str
    user_token: str

    @classmethod
    def create(cls, signer: KeyPair, *, now: int) -> SystemAccount:
        """Create the account SYS, with its exports for monitoring, and its user sys."""
        account, signing, user = (KeyPair.create(r) for r in (KeyRole.ACCOUNT, KeyRole.ACCOUNT, KeyRole.USER))
        claims = AccountClaims.new(account.public_key, SYSTEM_ACCOUNT)
        claims.nats.signing_keys[signing.public_key] = None
        claims.nats.exports = [
            Export(
                name="account-monitoring-services",
                subject="$SYS.REQ.ACCOUNT.*.*",
                type="service",
                response_type="Stream",
                account_token_position=4,
                description=_SERVICES,
                info_url=_MONITORING,
            ),
            Export(
                name="account-monitoring-streams",
                subject="$SYS.ACCOUNT.*.>",
                type="stream",
                account_token_position=3,
                description="Account specific monitoring stream",
                info_url=_MONITORING,
            ),
        ]
        person = UserClaims.new(user.public_key, SYSTEM_USER, issuer_account=account.public_key)
        return cls(
            account,
            signing,
            user,
            encode(claims, signer, now=now),
            encode(person, signing, now=now),
        )

    def write(self, workspace: Workspace, report: OperationReport) -> None:
        """Store keys, tokens and credentials in the current operator's store, and report them."""
        store = workspace.store()
        with kept(workspace.keystore, (self.account, self.signing, self.user)):
            store.write_account(self.account_token)
            store.write_user(self.user_token)
            path = workspace.keystore.write_credentials(
                store.name, SYSTEM_ACCOUNT, SYSTEM_USER, self.user_token, self.user.seed
            )
        report.ok(f"created system_account: name:{SYSTEM_ACCOUNT} id:{self.account.public_key}")
        report.ok(f"created system account user: name:{SYSTEM_USER} id:{self.user.public_key}")
        report.ok(f"system account user creds file stored in {place(path)}")


@dataclass(frozen=True, slots=True)
class OperatorEdits:
    """The changes of an operator; None and empty values change nothing.

    system_account: name or public key.
    account_server_url: "" removes it.
    service_urls: kept in lower case.
    strict: whether accounts and users must be signed with signing keys.
    """

    dates: Dates = field(default_factory=Dates)
    tags: Tags = field(default_factory=Tags)
    signing_keys: SigningKeys = field(default_factory=SigningKeys)
    account_server_url: str | None = None
    system_account: str | None = None
    service_urls: tuple[str, ...] = ()
    rm_service_urls: tuple[str, ...] = ()
    strict: bool | None = None

    @property
    def given(self) -> bool:
        """Whether anything should be changed."""
        lists = self.service_urls or self.rm_service_urls
        chosen = (self.account_server_url, self.system_account, self.strict)
        return (
            self.dates.given
            or self.tags.given
            or self.signing_keys.given
            or bool(lists)
            or any(value is not None for value in chosen)
        )


NO_EDITS = OperatorEdits()


class StoreContent(Protocol):
    """What a new store gets in addition to its operator."""

    def write(self, workspace: Workspace, report: OperationReport) -> None:
        """Store it in the current operator's store, and report it. Raises IdentityError."""


@dataclass(frozen=True, slots=True)
class PlainSystemAccount:
    """A system account that is nothing but an account: its key and its token."""

    account: KeyPair
    token: str

    @classmethod
    def create(cls, name: str, signer: KeyPair, *, now: int) -> PlainSystemAccount:
        """Create the account `name`. Raises WorkspaceError, FolderError for a name that is none."""
        account = KeyPair.create(KeyRole.ACCOUNT)
        claims = AccountClaims.new(account.public_key, chosen(name, "account"))
        return cls(account, encode(claims, signer, now=now))

    def write(self, workspace: Workspace, report: OperationReport) -> None:
        """Store key and token in the current operator's store, and report them."""
        with kept(workspace.keystore, (self.account,)):
            claims = workspace.store().write_account(self.token)
        report.ok(f"created system_account: name:{claims.name} id:{self.account.public_key}")


def add_operator(
    workspace: Workspace,
    name: str,
    *,
    system: bool = False,
    signing_key: bool = False,
    dates: Dates = NO_DATES,
    plain_system: str = "",
    edits: OperatorEdits = NO_EDITS,
) -> OperatorResult:
    """Make an operator and make it the current one.

    With `-K` it gets that identity, whose seed is not stored.

    system: whether it gets a system account.
    signing_key: whether it gets a signing key, which then signs that account.
    plain_system: the name of a system account without exports, signing key or user, in place of `system`'s.
    edits: tags and URLs.

    Raises WorkspaceError if that operator exists, or for invalid edits; then nothing is changed.
    """
    name = chosen(name, "operator")
    _must_be_new(workspace, name)
    pair, generated = _identity(workspace)
    claims = OperatorClaims.new(pair.public_key, name)
    dates.apply(claims, workspace.now())
    extra = KeyPair.create(KeyRole.OPERATOR) if signing_key else None
    if extra is not None:
        claims.nats.signing_keys.append(extra.public_key)
    changed = OperationReport()
    changed.add(edits.tags.apply(claims.nats))
    _apply_account_server(edits, claims, changed)
    _apply_service_urls(edits, claims, changed)
    refuse_new_errors(None, claims, workspace.now())
    sys: SystemAccount | PlainSystemAccount | None = None
    if plain_system:
        sys = PlainSystemAccount.create(plain_system, pair, now=workspace.now())
    elif system:
        sys = SystemAccount.create(extra or pair, now=workspace.now())
    if sys is not None:
        claims.nats.system_account = sys.account.public_key
    token = encode(claims, pair, now=workspace.now())

    report = OperationReport()
    if generated:
        report.ok(f"generated and stored operator key {quote(pair.public_key)}")
    report.ok(f"added operator {quote(name)}")
    report.ok(_VERSION_LINE)
    if extra is not None:
        report.ok(f"created operator signing key: {extra.public_key}")
    report.add(changed)
    made = [key for key in (pair if generated else None, extra) if key is not None]
    workspace = found(workspace, name, token, made, sys, report).save()
    return OperatorResult(report, name, pair.public_key, workspace.operator(), workspace)


def found(
    workspace: Workspace,
    name: str,
    token: str,
    keys: Iterable[KeyPair],
    content: StoreContent | None,
    report: OperationReport,
    *,
    managed: bool = False,
) -> Workspace:
    """Make the store of a new operator with its content, completely or not at all.

    managed: whether another party has the operator's keys.

    Return the workspace in which it is current.
    """
    with kept(workspace.keystore, keys):
        workspace.stores.create(name, managed=managed, token=token)
        try:
            workspace = workspace.with_operator(name)
            if content is not None:
                content.write(workspace, report)
        except IdentityError:
            with contextlib.suppress(IdentityError):
                workspace.stores.remove(name)
            raise
    return workspace.with_operator(name)


def import_operator(
    workspace: Workspace,
    source: str,
    *,
    name: str = "",
    force: bool = False,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> OperatorResult:
    """Import an operator's token from a file, an HTTP URL or a well-known name; its store is managed.

    force: whether to overwrite a store of that name, even that of another operator.
    environment: the variables NSC_…_OPERATOR, which define more operators.

    Raises WorkspaceError.
    """
    known = known_operators(environment)
    source = source.strip()
    path = Path(source).expanduser()
    if not path.exists():
        source = next((url for other, url in known.items() if other.lower() == source.lower()), source)
    token, claims = load_operator(source)
    name = chosen(name or well_known_name(source, known) or claims.name, "operator")
    report = OperationReport()
    if name in workspace.stores.names():
        if not force:
            raise WorkspaceError(f"operator named {name} exists already: --force overwrites it")
        store = workspace.stores.open(name)
        if _stored_identity(store_name=name, workspace=workspace) not in {"", claims.sub}:
            report.warn("existing and new operator represent different entities, forced to continue")
        store.write_operator(token, reissued=True)
    else:
        workspace.stores.create(name, managed=True, token=token)
    report.ok(f"imported operator {quote(name)}")
    report.ok(_VERSION_LINE)
    return OperatorResult(report, name, claims.sub, claims, workspace.with_operator(name).save())


def known_operators(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the well-known operators, name to URL: the built-in ones and those of NSC_<NAME>_OPERATOR."""
    result = dict(WELL_KNOWN)
    for variable, url in environment.items():
        upper = variable.upper()
        if upper.startswith("NSC_") and upper.endswith("_OPERATOR") and len(variable) > len("NSC__OPERATOR"):
            result[variable[len("NSC_") : -len("_OPERATOR")]] = url
    return result


def well_known_name(source: str, known: dict[str, str]) -> str:
    """Return the name of the well-known operator whose host a URL has, or ""."""
    host = _host(source)
    return next((name for name, url in known.items() if host and _host(url) == host), "")


def load_operator(source: str) -> tuple[str, OperatorClaims]:
    """Read an operator's token from a file or HTTP URL. Raises WorkspaceError, TokenError, FolderError."""
    if accountserver.is_http(source):
        text = accountserver.load(source)
    else:
        path = Path(source).expanduser()
        if not path.is_file():
            raise WorkspaceError(f"{source!r} is no file, no http URL and no well-known operator")
        text = files.read(path)
    token = undecorate_jwt(text)
    try:
        return token, decode(token, OperatorClaims)
    except TokenError as error:
        if error.fault is TokenFault.ALGORITHM:
            raise WorkspaceError(
                f"{source} is no operator's token of version 2: an older one must be upgraded by its owner"
            ) from None
        raise TokenError(error.fault, f"{source} is no operator's token: {error}") from None


def edit_operator(workspace: Workspace, edits: OperatorEdits) -> OperatorResult:
    """Change the current operator. Raises WorkspaceError; then nothing is changed."""
    if not edits.given:
        raise WorkspaceError("specify an edit option")
    with workspace.locked():
        old = workspace.operator()
        claims = old.model_copy(deep=True)
        body, report = claims.nats, OperationReport()
        report.add(edits.dates.apply(claims, workspace.now()), edits.tags.apply(body))
        keys, made = edits.signing_keys.read(KeyRole.OPERATOR, body.signing_keys, f"operator {old.name}")
        both = dict.fromkeys([*body.signing_keys, *keys])
        body.signing_keys = [key for key in both if key not in edits.signing_keys.remove]
        report.add(edits.signing_keys.tell(keys))
        _apply_strict(workspace, edits.strict, claims, report)
        _apply_account_server(edits, claims, report)
        if edits.system_account is not None:
            key = _system_account(workspace, edits.system_account)
            if key != body.system_account:
                body.system_account = key
                report.ok(f"set system account {quote(key)}")
        _apply_service_urls(edits, claims, report)
        refuse_new_errors(old, claims, workspace.now())
        signer = operator_signer(workspace)
        if signer.public_key != claims.sub and signer.public_key not in body.signing_keys:
            raise WorkspaceError(f"{signer.public_key} signs, so it cannot be removed")
        token = encode(claims, signer, now=workspace.now())
        with kept(workspace.keystore, made):
            workspace.store().write_operator(token)
    edits.signing_keys.forget_removed(workspace.keystore, report)
    report.ok(f"edited operator {quote(claims.name)}")
    return OperatorResult(report, claims.name, claims.sub, workspace.operator(), workspace)


def _apply_strict(
    workspace: Workspace, strict: bool | None, claims: OperatorClaims, report: OperationReport
) -> None:
    body = claims.nats
    if strict is not None and strict != body.strict_signing_key_usage:
        body.strict_signing_key_usage = strict
        report.ok(f"strict signing key usage set to: {str(strict).lower()}")
    if body.strict_signing_key_usage and not body.signing_keys:
        raise WorkspaceError("operator requires at least one signing key")
    if not strict:
        return
    store = workspace.store()
    for name in store.accounts():
        account = store.account(name)
        if account.iss == claims.sub:
            raise WorkspaceError(f"account {quote(name)} needs to be issued with a signing key first")
        for user in store.users(name):
            if store.user(name, user).iss == account.sub:
                raise WorkspaceError(
                    f"user {quote(user)} in account {quote(name)} needs to be issued with a signing key first"
                )


def _system_account(workspace: Workspace, given: str) -> str:
    """Return the public key of the new system account."""
    if not given:
        raise WorkspaceError("the system account needs a name or a public key")
    try:
        account = workspace.account(given)
    except NotFoundError:
        if is_public(given, KeyRole.ACCOUNT):
            return given  # it may be stored elsewhere
        raise
    limits = account.nats.limits
    if limits.tiered_limits or limits.jetstream != type(limits.jetstream)():
        raise WorkspaceError(
            "system accounts cannot have JetStream limits - run "
            f"`nsc edit account {account.name} --js-disable` first"
        )
    return account.sub


def _apply_account_server(edits: OperatorEdits, claims: OperatorClaims, report: OperationReport) -> None:
    if edits.account_server_url is not None:
        url = edits.account_server_url.strip()
        claims.nats.account_server_url = url
        report.ok(f"set account jwt server url to {quote(url)}" if url else "removed account server url")


def _apply_service_urls(edits: OperatorEdits, claims: OperatorClaims, report: OperationReport) -> None:
    urls = claims.nats.operator_service_urls
    for url in edits.service_urls:
        if problem := service_url_error(url):
            raise WorkspaceError(problem)
        if url.lower() not in urls:
            urls.append(url.lower())
        report.ok(f"added service url {quote(url)}")
    for url in edits.rm_service_urls:
        if url.lower() not in urls:
            raise WorkspaceError(f"operator {claims.name} has no service url {quote(url)}")
        urls.remove(url.lower())
        report.ok(f"removed service url {quote(url)}")


def _must_be_new(workspace: Workspace, name: str) -> None:
    if name in workspace.stores.names():
        raise WorkspaceError(f"operator named {name} exists already in {place(workspace.stores.root)}")


def _identity(workspace: Workspace) -> tuple[KeyPair, bool]:
    """Return (the key for the operator's identity, whether it was generated)."""
    if not workspace.private_key:
        return KeyPair.create(KeyRole.OPERATOR), True
    given = given_key(workspace.private_key, KeyRole.OPERATOR)
    return given.pair or workspace.keystore.get(given.public_key), False


def _stored_identity(*, store_name: str, workspace: Workspace) -> str:
    """Return the key of the operator that owns the store.

    It is "" if its token is missing, or if the store is of another kind or version.
    """
    try:
        return workspace.stores.open(store_name).operator().sub
    except (NotFoundError, ForeignError):
        return ""


def _host(url: str) -> str:
    try:
        return parse(url).host.lower()
    except UrlError:
        return ""
