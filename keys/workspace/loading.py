"""Setup from an account server: its operator, the account of a seed, and a user with credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qs, urlsplit

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims
from ..decorated import undecorate_jwt
from ..errors import ForeignError, WorkspaceError
from ..nkey import KeyPair, KeyRole
from ..token import decode
from . import accountserver
from .operators import known_operators, load_operator, well_known_name
from .report import OperationReport, place, quote
from .users import add_user
from .workspace import Workspace

DEFAULT_USER = "default"


@dataclass(frozen=True, slots=True)
class SetupSource:
    """What to fetch and from where.

    url: the URL of the operator's token.
    seed: the account's seed.
    name: the operator's name.
    """

    url: str
    seed: str
    user: str = DEFAULT_USER
    name: str = ""

    def __repr__(self) -> str:
        return f"Source({self.url})"


@dataclass(frozen=True, slots=True)
class SetupResult:
    """The names of what is current now, and the path of the user's credentials."""

    report: OperationReport
    operator: str
    account: str
    user: str
    path: Path | None


def source_of(
    profile: str, user: str = DEFAULT_USER, *, environment: Mapping[str, str] = MappingProxyType({})
) -> SetupSource:
    """Parse `nsc://operator?secret=<seed>&user=<name>`; the operator is a well-known one.

    environment: the variables NSC_…_OPERATOR, which define more operators.

    Raises WorkspaceError, whose text never contains the secret.
    """
    try:
        parts = urlsplit(profile)
        name, query = parts.netloc, parse_qs(parts.query)
    except ValueError:
        raise WorkspaceError("the profile is no URL as nsc://operator?secret=<account seed>") from None
    if parts.scheme.lower() != "nsc" or not name:
        raise WorkspaceError("the profile must be nsc://operator?secret=<account seed>&user=<name>")
    known = {other.lower(): (other, url) for other, url in known_operators(environment).items()}
    if name.lower() not in known:
        raise WorkspaceError(
            f"unable to find operator {quote(name)}: name its URL with NSC_{name.upper()}_OPERATOR or --url"
        )
    seed = (query.get("secret") or [""])[0]
    return SetupSource(known[name.lower()][1], seed, (query.get("user") or [user])[0], known[name.lower()][0])


def load(
    workspace: Workspace, source: SetupSource, *, environment: Mapping[str, str] = MappingProxyType({})
) -> SetupResult:
    """Fetch operator and account, store them with the seed, make the user, and make all of them current.

    Everything is fetched before the first write. Raises WorkspaceError, NkeyError, or ForeignError if another
    operator has the name.
    """
    pair = KeyPair(source.seed, KeyRole.ACCOUNT) if source.seed else None
    if pair is None:
        raise WorkspaceError("expected account seed to initialize: give it with --seed, or in --profile")
    if not accountserver.is_http(source.url):
        raise WorkspaceError("missing account server URL: give it with --url")
    token, operator = load_operator(source.url)
    server = operator.nats.account_server_url
    if not server:
        raise WorkspaceError(
            f"error importing operator {quote(operator.name)} - it doesn't define an account server url"
        )
    name = source.name or well_known_name(source.url, known_operators(environment)) or operator.name
    jwt = undecorate_jwt(accountserver.load(accountserver.account_url(server, pair.public_key)))
    account = decode(jwt, AccountClaims)
    if account.sub != pair.public_key:
        raise ForeignError(f"the account server answers with account {account.sub}, not {pair.public_key}")
    if name in workspace.stores.names():
        stored = workspace.stores.open(name).operator()
        if stored.sub != operator.sub:
            raise ForeignError(f"a different operator named {quote(name)} already exists")
        workspace.stores.open(name).write_operator(token)
    else:
        workspace.stores.create(name, managed=True, token=token)
    return _finished(workspace.with_operator(name), jwt, account, pair, source.user)


def _finished(
    workspace: Workspace, token: str, account: AccountClaims, pair: KeyPair, user: str
) -> SetupResult:
    report = OperationReport(summary=True)
    store = workspace.store()
    store.write_account(token)
    workspace.keystore.add(pair)
    workspace = workspace.with_account(account.name).save()
    path: Path | None = workspace.keystore.credentials_path(store.name, account.name, user)
    if user in store.users(account.name):
        report.warn(f"the user {quote(user)} already exists")
        if path is not None and not path.is_file():
            report.error(f"user {quote(user)} credentials not found at {place(path)}")
    else:
        made = add_user(replace(workspace, private_key=""), user, account=account.name)
        report.add(*made.report.children)
        path = made.credentials
    return SetupResult(report, store.name, account.name, user, path)
