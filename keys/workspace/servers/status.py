"""The JWTs that each server holds for each account, compared with the store.

All servers get three requests: which accounts they hold (LIST; the answer names the server), which token they
use for an account (ACCOUNTZ; names the server, only for accounts in use), and which token they hold for it
(LOOKUP; names no server). If all servers hold the same token, the three give one answer. If not, a server is
taken to hold the token that it uses, and the result says so; the rest is reported as not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from ....protocol import gojson
from ....protocol.lazy_dataclass import dataclass
from ...claims import AccountClaims
from ...claims.base import SECOND
from ...errors import IdentityError, WorkspaceError
from ...token import decode
from ..report import OperationReport
from ..workspace import Workspace
from . import access
from .access import THE_OPERATORS, ServersAccess
from .push import LIST, checked_url
from .session import ServersSession, session

ACCOUNTZ = "$SYS.REQ.SERVER.PING.ACCOUNTZ"
LOOKUP = "$SYS.REQ.ACCOUNT.{}.CLAIMS.LOOKUP"
SOON = 30 * 86400  # seconds


class StatusKind(StrEnum):
    """How the token that a server holds relates to the store's."""

    CURRENT = "current"
    MISSING = "missing"
    OLDER = "older"
    NEWER = "newer"
    DIFFERENT = "different"  # issued in the same second
    EXTRA = "only on server"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AccountStatus:
    """One account on one server. Times are in seconds since the epoch, 0 for never or unknown.

    id: the JWT's own id (jti).
    used: how the token in use relates to the store's; None if none is in use, or if it is the stored one.
    expiring: whether it expires soon or has expired.
    note: a further remark.
    """

    server: str
    account: str
    name: str
    state: StatusKind
    id: str = ""
    issued: int = 0
    expires: int = 0
    used: StatusKind | None = None
    expired: bool = False
    expiring: bool = False
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Return a JSON object; unknown values are left out."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in fields.items() if value or name in {"server", "account"}}


@dataclass(frozen=True, slots=True)
class StatusResult:
    """The result of `status`.

    servers: their names.
    accounts: by server, then by account.
    report: which servers did not answer.
    """

    report: OperationReport
    url: str
    servers: list[str] = field(default_factory=list)
    accounts: list[AccountStatus] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        """Whether some server lacks, for some account, a valid token that is the store's."""
        return any(row.state is not StatusKind.CURRENT or row.used or row.expired for row in self.accounts)


@dataclass(frozen=True, slots=True)
class _Found:
    """The answers of the servers.

    listed: the accounts by server's key.
    used: the token in use by (server's key, account).
    tokens: the stored tokens by account.
    """

    listed: Mapping[str, set[str]]
    used: Mapping[tuple[str, str], str]
    tokens: Mapping[str, list[str]]


async def status(
    workspace: Workspace, accounts: Iterable[str] = (), of: ServersAccess = THE_OPERATORS, *, soon: int = 0
) -> StatusResult:
    """Ask the servers about `accounts`, by name or key, or about all that the store or they have.

    soon: seconds since the epoch; a token that expires before it is reported as expiring (0: in 30 days).

    Raises WorkspaceError, FolderError.
    """
    store, url = workspace.store(), checked_url(workspace, of)
    if not access.is_nats(url):
        raise WorkspaceError("the status can be told of nats based account resolvers only")
    chosen = {store.account(name).sub for name in map(store.account_named, accounts)}
    mine = {store.account(name).sub: (name, store.account_token(name)) for name in store.accounts()}
    report = OperationReport()
    subjects = (LIST, ACCOUNTZ, LOOKUP.format("*"))
    async with session(workspace, of, url, subjects, "nsc_status") as (asking, _):
        found = await _ask(asking, chosen, chosen or set(mine), report)
        servers = sorted(asking.servers.items(), key=lambda item: item[1])
    now = workspace.now() // SECOND
    status_rows = _StatusRows(mine, now, soon or now + SOON)
    held = [
        row
        for key, name in servers
        for row in status_rows.rows(key, name, found, chosen, [s for s, keys in found.listed.items() if keys])
    ]
    return StatusResult(report, url, [name for _, name in servers], held)


async def _ask(
    asking: ServersSession, chosen: set[str], accounts: set[str], report: OperationReport
) -> _Found:
    answers = await asking.ask(LIST)
    listed = {a.id: {str(key) for key in a.data} for a in answers.good if isinstance(a.data, list)}
    for answer in answers.answers:
        if answer.error:
            report.error(answer.error)
    for name in [] if answers.error else answers.silent:
        report.warn(f"nats-server {name} does not list its accounts: it may have no NATS based resolver")
    if not listed:
        report.warn("no server lists its accounts: only what is in use can be told")
    keys = sorted(accounts if chosen else accounts.union(*listed.values()))
    uses = await asking.ask_all([(ACCOUNTZ, gojson.encode({"account": key})) for key in keys])
    used = {
        (answer.id, key): token
        for key, responses in zip(keys, uses, strict=True)
        for answer in responses.good
        if (token := _token_in_use(answer.data))
    }
    tokens: dict[str, list[str]] = {}
    if listed:
        asked = [(LOOKUP.format(key), b"") for key in keys]
        looked = await asking.ask_all(asked, plain=True, expected=len(listed))
        for key, responses in zip(keys, looked, strict=True):
            tokens[key] = [a.raw.decode("utf-8", "replace") for a in responses.answers if a.raw]
    return _Found(listed, used, tokens)


def _token_in_use(data: Any) -> str:
    detail = data.get("account_detail") if isinstance(data, dict) else None
    token = detail.get("jwt") if isinstance(detail, dict) else None
    return token if isinstance(token, str) else ""


class _StatusRows:
    """Compares the answers with the store.

    mine: by key, the name and token of the store's accounts.
    """

    def __init__(self, mine: Mapping[str, tuple[str, str]], now: int, soon: int) -> None:
        self._mine, self._now, self._soon = mine, now, soon
        self._claims: dict[str, AccountClaims | None] = {}

    def rows(
        self, server: str, name: str, found: _Found, chosen: set[str], holders: Sequence[str]
    ) -> list[AccountStatus]:
        """Return the accounts of one server, in the order of their names."""
        listed = found.listed.get(server)
        keys = chosen or set(self._mine) | (listed or set())
        rows = [self._row(server, name, key, found, holders) for key in keys]
        return sorted(rows, key=lambda row: (row.name.casefold(), row.account))

    def _row(self, server: str, name: str, key: str, found: _Found, holders: Sequence[str]) -> AccountStatus:
        listed, used = found.listed.get(server), found.used.get((server, key), "")
        if listed is None:
            if not used:
                return self._status(name, key, "", StatusKind.UNKNOWN, note="not in use there")
            return self._status(name, key, used, self._state(key, used))
        if key not in listed:
            state = StatusKind.MISSING if key in self._mine else StatusKind.UNKNOWN
            return self._status(name, key, used, state, note="still in use there" if used else "")
        having = [s for s in holders if key in found.listed[s]]
        may_be = _attributed(having, {s: found.used.get((s, key), "") for s in having}, found.tokens[key])
        tokens = may_be.get(server) or []
        if len(tokens) != 1:
            note = f"one of {len(tokens)} that servers hold" if tokens else "stored, but not shown"
            return self._status(name, key, "", StatusKind.UNKNOWN, note=note)
        state = self._state(key, tokens[0])
        differs = self._state(key, used) if used and used != tokens[0] else None
        note = f"in use is another one, {differs}" if differs else ""
        if len(set(found.tokens[key])) > 1:
            note = note or "told apart by what is in use"
        return self._status(name, key, tokens[0], state, used=differs, note=note)

    def _state(self, key: str, token: str) -> StatusKind:
        if key not in self._mine:
            return StatusKind.EXTRA
        own = self._mine[key][1]
        if token == own:
            return StatusKind.CURRENT
        mine, theirs = self._read(own), self._read(token)
        if mine is None or theirs is None or mine.iat == theirs.iat:
            return StatusKind.DIFFERENT
        return StatusKind.OLDER if theirs.iat < mine.iat else StatusKind.NEWER

    def _status(
        self,
        server: str,
        key: str,
        token: str,
        state: StatusKind,
        *,
        used: StatusKind | None = None,
        note: str = "",
    ) -> AccountStatus:
        claims = self._read(token) if token else None
        if token and claims is None:
            note = note or "its token cannot be verified"
        name = self._mine[key][0] if key in self._mine else claims.name if claims is not None else ""
        if claims is None:
            return AccountStatus(server, key, name, state, used=used, note=note)
        expired = claims.exp != 0 and claims.exp < self._now
        expiring = claims.exp != 0 and claims.exp <= self._soon
        return AccountStatus(
            server, key, name, state, claims.jti, claims.iat, claims.exp, used, expired, expiring, note
        )

    def _read(self, token: str) -> AccountClaims | None:
        if token not in self._claims:
            try:
                self._claims[token] = decode(token, AccountClaims)
            except IdentityError:
                self._claims[token] = None
        return self._claims[token]


def _attributed(
    holders: Sequence[str], used: Mapping[str, str], tokens: Sequence[str]
) -> dict[str, list[str]]:
    """Return for each server the tokens that it may hold; only one if that is known."""
    if len(set(tokens)) <= 1:
        return {server: list(set(tokens)) for server in holders}
    left, result = Counter(tokens), dict[str, list[str]]()
    for server in holders:
        if left[used[server]] > 0:
            left[used[server]] -= 1
            result[server] = [used[server]]
    rest = sorted(+left)
    return {server: result.get(server, rest) for server in holders}
