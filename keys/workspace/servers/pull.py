"""Fetching accounts (and the operator) from the servers into the store.

Every token is verified before it is stored. One that is older than the store's is refused, unless the caller
asks for it.
"""

from __future__ import annotations

import asyncio
from dataclasses import field, replace

from ....protocol.lazy_dataclass import dataclass
from ...claims import AccountClaims, OperatorClaims
from ...claims.issues import quote
from ...decorated import undecorate_jwt
from ...errors import IdentityError, NotFoundError, TokenError, WorkspaceError
from ...token import decode
from .. import accountserver
from ..report import OperationReport, Show
from ..workspace import Workspace
from . import access
from .access import THE_OPERATORS, ServersAccess
from .session import session

PACK = "$SYS.REQ.CLAIMS.PACK"
NEXT_TOKEN_SECONDS = 5.0  # seconds between two tokens


@dataclass(frozen=True, slots=True)
class PullResult:
    """The result of a pull.

    url: the source.
    stored: the names of what was stored.
    """

    report: OperationReport
    url: str
    stored: list[str] = field(default_factory=list)


async def pull(
    workspace: Workspace,
    account: str = "",
    of: ServersAccess = THE_OPERATORS,
    *,
    everything: bool = False,
    overwrite: bool = False,
) -> PullResult:
    """Fetch one account, by name or key, or with `everything` the operator and all accounts.

    overwrite: whether to replace newer tokens too.

    Servers with a NATS resolver can only return all accounts, and not the operator. Raises WorkspaceError,
    FolderError.
    """
    operator = workspace.operator()
    url = of.url or operator.nats.account_server_url
    if not url:
        raise WorkspaceError(
            f"operator {quote(operator.name)} doesn't set account server url - unable to pull: set it with "
            "`nsc edit operator --account-jwt-server-url <url>`"
        )
    access.check_url(url)
    result = PullResult(OperationReport(summary=True), url)
    if access.is_nats(url):
        if not everything:
            raise WorkspaceError(
                f"operator {quote(operator.name)} can only pull all jwt - unable to pull by account: use -A"
            )
        await _from_resolver(workspace, of, result, overwrite=overwrite)
    else:
        await _from_account_server(workspace, account, result, everything=everything, overwrite=overwrite)
    return result


async def _from_resolver(
    workspace: Workspace, of: ServersAccess, result: PullResult, *, overwrite: bool
) -> None:
    outcome = OperationReport("pull from cluster using system account")
    patient = replace(of, timeout=max(of.timeout, NEXT_TOKEN_SECONDS))
    async with session(workspace, patient, result.url, (PACK,), "nsc_pull") as (asking, _):
        result.report.add(outcome)
        try:
            async for message in asking.many(PACK):
                for line in message.decode("utf-8", "replace").splitlines():
                    _take_line(workspace, line, outcome, result, overwrite=overwrite)
        except WorkspaceError as error:
            outcome.error(str(error))
    if not outcome.children:
        outcome.ok("the servers hold no accounts")
    elif not outcome.failed:
        outcome.text = f"pulled {quote(result.stored[-1])} from the account server"  # the last one, as in nsc


def _take_line(
    workspace: Workspace, line: str, outcome: OperationReport, result: PullResult, *, overwrite: bool
) -> None:
    key, bar, token = line.partition("|")
    if not bar or "|" in token:
        outcome.error("pull response bad")
        return
    try:
        claims = decode(token, AccountClaims)
    except TokenError as error:
        outcome.error(f"error decoding remote token of {key[:56]}: {error}")
        return
    if claims.sub != key:
        outcome.error(f"the server has the token of {claims.sub} under the name of {key[:56]}")
        return
    _store(workspace, token, outcome, result, overwrite=overwrite)


async def _from_account_server(
    workspace: Workspace, account: str, result: PullResult, *, everything: bool, overwrite: bool
) -> None:
    store = workspace.store()
    names = store.accounts() if everything else [workspace.account_name(account)]
    jobs = [(name, [accountserver.account_url(result.url, store.account(name).sub)]) for name in names]
    if everything:
        jobs.insert(0, (store.operator().name, _operator_urls(result.url)))
    fetched = await asyncio.gather(*(asyncio.to_thread(_fetch, urls) for _, urls in jobs))
    for (name, _), (got, token) in zip(jobs, fetched, strict=True):
        outcome = OperationReport(f"pull {quote(name)} from the account server", show=Show.WHEN_BAD)
        outcome.children = got.children or [got]
        result.report.add(outcome)
        if token:
            _store(workspace, token, outcome, result, overwrite=overwrite)
            if not outcome.failed:
                outcome.text = f"pulled {quote(name)} from the account server"


def _fetch(urls: list[str]) -> tuple[OperationReport, str]:
    """Return what the first URL with a result returns."""
    found, token = accountserver.pull(urls[0])
    if not token and len(urls) > 1:
        return _fetch(urls[1:])
    return found, token


def _operator_urls(url: str) -> list[str]:
    """Return where an account server has the operator.

    Servers of the first version may have a second place.
    """
    own = f"{url.partition('?')[0].rstrip('/')}/operator"
    newer = own.replace("/jwt/v1/operator", "/jwt/v2/operator")
    return [newer, own] if newer != own else [own]


def _store(
    workspace: Workspace, text: str, outcome: OperationReport, result: PullResult, *, overwrite: bool
) -> None:
    """Store a token unless the store's is newer; report the result."""
    try:
        token = undecorate_jwt(text)
        claims = decode(token)
        if not isinstance(claims, AccountClaims | OperatorClaims):
            outcome.error(f"unsupported token type: {quote(claims.KIND)}")
            return
        if not overwrite and _issued(workspace, claims) > claims.iat:
            outcome.error(
                f"local jwt for {quote(claims.name)} is newer than remote version - "
                "specify --overwrite-newer to overwrite"
            )
            return
        if isinstance(claims, OperatorClaims):
            workspace.store().write_operator(token)
        else:
            workspace.store().write_account(token)
    except IdentityError as error:
        outcome.error(f"error storing the remote jwt: {error}")
        return
    outcome.ok(f"stored {claims.KIND} {quote(claims.name)}")
    result.stored.append(claims.name)


def _issued(workspace: Workspace, claims: AccountClaims | OperatorClaims) -> int:
    """Return when the store's token of that name was issued, 0 if there is none. Raises FolderError."""
    store = workspace.store()
    try:
        return store.operator().iat if isinstance(claims, OperatorClaims) else store.account(claims.name).iat
    except NotFoundError:
        return 0
