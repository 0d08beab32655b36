"""Sending accounts to the servers, and removing or listing those that are there.

The tokens are checked first: one that is damaged, has expired or is not this operator's is refused, and then
nothing is sent at all, unless `force` is set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field

from ....protocol.lazy_dataclass import dataclass
from ...claims import GenericClaims
from ...claims.issues import quote
from ...errors import FolderError, WorkspaceError
from ...nkey import KeyPair, KeyRole, is_public
from ...token import encode
from .. import accountserver, signing
from ..report import OperationReport, Show
from ..workspace import Workspace
from . import access
from .access import THE_OPERATORS, ServersAccess
from .answers import ServerResponse, ServerResponses
from .session import ServersSession, session

UPDATE, LIST, DELETE = (f"$SYS.REQ.CLAIMS.{word}" for word in ("UPDATE", "LIST", "DELETE"))


@dataclass(frozen=True, slots=True)
class PushResult:
    """The result of a push.

    url: the destination.
    accounts: the names of the accounts to send.
    removed: the keys to delete.
    servers: the names of the servers that answered.
    """

    report: OperationReport
    url: str
    accounts: list[str] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


async def push(
    workspace: Workspace,
    accounts: Sequence[str],
    to: ServersAccess = THE_OPERATORS,
    *,
    force: bool = False,
    prune: bool = False,
    diff: bool = False,
    remove: str = "",
) -> PushResult:
    """Send accounts, by name, to the operator's servers or those of `to`.

    force: whether to send them unchecked.

    Servers with a NATS resolver accept one further request: `prune` removes accounts there that are not in
    the store, `diff` only lists them, `remove` removes one account, by name or public key, which the store
    keeps. Raises WorkspaceError or FolderError if nothing was sent.
    """
    if sum([prune, diff, bool(remove)]) > 1:
        raise WorkspaceError("prune, diff and account removal are mutually exclusive")
    url = checked_url(workspace, to)
    tokens = {name: checked_token(workspace, name, force=force) for name in accounts}
    report = OperationReport(summary=True)
    if not access.is_nats(url):
        if prune or diff or remove:
            raise WorkspaceError(
                f"{'prune' if prune else 'diff' if diff else 'account removal'} only works for nats based "
                "account resolver"
            )
        for name, token in tokens.items():
            report.add(await _post(workspace, url, name, token))
        return PushResult(report, url, list(tokens))
    known = _names(workspace) if prune or diff else {}
    key = _removed_key(workspace, remove) if remove else ""
    signer = _request_signer(workspace) if prune or remove else None
    async with session(workspace, to, url, (UPDATE, LIST, DELETE), "nsc_push") as (asking, system):
        removed: list[str] = []
        if tokens:
            await _send(
                asking, tokens, report.ok(f'push to nats-server "{url}" using system account "{system}"')
            )
        if prune or diff:
            outcome = report.ok(f"{'prune' if prune else 'diff'} nats-server with nats account resolver")
            listed, extra = await _list(asking, known, outcome)
            if signer is not None and listed:
                removed = extra
                done = await _delete(workspace, asking, signer, extra, outcome)
                _compare(listed, done, outcome)
        elif signer is not None:
            removed = [key]
            outcome = report.ok("prune nats-server with nats account resolver")
            await _delete(workspace, asking, signer, removed, outcome)
        return PushResult(report, url, list(tokens), sorted(asking.answered.values()), removed)


def checked_url(workspace: Workspace, to: ServersAccess) -> str:
    """Return the URL to connect to: that of `to`, else the operator's. Raises WorkspaceError."""
    url = to.url or workspace.operator().nats.account_server_url
    access.check_url(url)
    return url


def checked_token(workspace: Workspace, name: str, *, force: bool = False) -> str:
    """Return an account's token that servers will accept; with `force` any token. Raises WorkspaceError."""
    store = workspace.store()
    if force:
        return store.account_token(name)
    try:
        claims = store.account(name)
    except FolderError as error:
        raise WorkspaceError(f"unable to push account {quote(name)}: {error}") from None
    for issue in claims.issues(workspace.now()).blocking():
        raise WorkspaceError(
            f"unable to push account {quote(name)} as it has validation issues: {issue.text}"
        )
    if not store.managed and not store.operator().did_sign(claims):
        raise WorkspaceError(
            f"unable to push account {quote(name)} as it is not signed by the operator {quote(store.name)}"
        )
    return store.account_token(name)


async def _post(workspace: Workspace, url: str, name: str, token: str) -> OperationReport:
    """Send an account to an HTTP account server."""
    where = accountserver.account_url(url, workspace.store().account(name).sub)
    sent = await asyncio.to_thread(accountserver.push, where, token)
    outcome = OperationReport(f"push {name} to account server", show=Show.WHEN_BAD)
    outcome.children = sent.children or [sent]
    if sent.grade.name == "OK":
        outcome.text = f"pushed {quote(name)} to account server"
    return outcome


async def _send(asking: ServersSession, tokens: Mapping[str, str], outcome: OperationReport) -> None:
    requests = [(UPDATE, token.encode()) for token in tokens.values()]
    for name, responses in zip(tokens, await asking.ask_all(requests), strict=True):
        under = outcome.ok(f"push {name} to nats-server with nats account resolver")
        count = 0
        for answer in _good(responses, under):
            under.ok(f"pushed {quote(name)} to nats-server {answer.server}: {answer.message}")
            count += 1
        _end(responses, "push account", under)
        under.ok(f"pushed to a total of {count} nats-server")


async def _list(
    asking: ServersSession, known: Mapping[str, str], outcome: OperationReport
) -> tuple[int, list[str]]:
    """Return (how many servers sent their list, the keys that are not in the store)."""
    responses, count, extra = await asking.ask(LIST), 0, list[str]()
    for answer in _good(responses, outcome):
        keys = [str(key) for key in answer.data] if isinstance(answer.data, list) else []
        under = outcome.ok(f"list {len(keys)} accounts from nats-server {answer.server}")
        for key in keys:
            if key in known:
                under.ok(f"account {key} named {known[key]} exists")
                continue
            under.ok(f"account {key} only exists in server")
            if key not in extra:
                extra.append(key)
        count += 1
    _end(responses, "list accounts", outcome)
    outcome.ok(f"listed accounts from a total of {count} nats-server")
    return count, extra


async def _delete(
    workspace: Workspace,
    asking: ServersSession,
    signer: KeyPair,
    keys: Sequence[str],
    outcome: OperationReport,
) -> int | None:
    """Ask for deletion; return how many servers did it, None if there was nothing to do."""
    if not keys:
        outcome.ok("nothing to prune")
        return None
    claims = GenericClaims(sub=signer.public_key, nats={"accounts": list(keys)})
    responses = await asking.ask(DELETE, encode(claims, signer, now=workspace.now()).encode())
    count = 0
    for answer in _good(responses, outcome):
        outcome.ok(f"pruned nats-server {answer.server}: {answer.message}")
        count += 1
    _end(responses, "prune", outcome)
    return count


def _compare(listed: int, pruned: int | None, outcome: OperationReport) -> None:
    if pruned is None or pruned == listed:
        return
    if pruned < listed:
        outcome.error(
            f"Fewer server responded to 'prune' ({pruned}) than to 'list' ({listed}). "
            "Accounts may not be completely pruned."
        )
    else:
        outcome.error(
            f"More servers responded to 'prune' ({pruned}) than to 'list' ({listed}). "
            "Not every Account may have been included for pruning."
        )


def _good(responses: ServerResponses, outcome: OperationReport) -> list[ServerResponse]:
    """Return the good answers in their order, and report the others."""
    for answer in responses.answers:
        if answer.error:
            outcome.error(answer.error)
    return responses.good


def _end(responses: ServerResponses, doing: str, outcome: OperationReport) -> None:
    """Report which servers did not answer."""
    if responses.error:
        outcome.error(f"failed to get response to {doing}: {responses.error}")
    for name in responses.silent:
        outcome.warn(
            f"no answer from nats-server {name}: it is slow (--timeout), or has no NATS based resolver"
        )
    if responses.unheard:
        word = (
            "server, of which others know, does"
            if responses.unheard == 1
            else "servers, of which others know, do"
        )
        outcome.warn(f"{responses.unheard} more {word} not answer")


def _names(workspace: Workspace) -> dict[str, str]:
    """Return the accounts of the store, by key.

    One that cannot be read raises, because it must not count as absent.
    """
    store = workspace.store()
    return {store.account(name).sub: name for name in store.accounts()}


def _removed_key(workspace: Workspace, given: str) -> str:
    return given if is_public(given, KeyRole.ACCOUNT) else workspace.account(given).sub


def _request_signer(workspace: Workspace) -> KeyPair:
    """Return the operator's key that signs requests to delete."""
    try:
        return signing.choose(workspace, signing.operator_signers(workspace.operator()), KeyRole.OPERATOR)
    except WorkspaceError as error:
        raise WorkspaceError(f"operator keys needed to prune: {error}") from None
