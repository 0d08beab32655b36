"""OperatorAuthenticator: decides who may connect by a token, in place of accounts.auth.Authenticator.

Promises that nothing is decided before the account is known here: until then the result is a lookup. All
authorization is done by keys.chain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from ...keys import ConnectInfo, Reason, Refusal, authorize, open_user
from ..accounts.auth import STANDARD, AuthResult
from ..clock import SECOND
from .session import TokenSessions
from .translate.account_spec import callout

if TYPE_CHECKING:
    from ...keys import AccountClaims, UserClaims
    from ..accounts import Account
    from ..accounts.auth import ClientCredentials
    from ..accounts.users import User
    from ..clock import Clock
    from ..config.options import Options
    from .accounts import OperatorAccounts

# Reasons for which a token counts as none at all, so that the default sentinel applies.
_NO_TOKEN = frozenset(
    {Reason.BAD_TOKEN, Reason.BAD_SIGNATURE, Reason.BAD_ALGORITHM, Reason.WRONG_KIND, Reason.WRONG_ROLE}
)


class OperatorAuthenticator:
    """Decides who may connect in operator mode.

    not_pinned: how often an account was refused because resolver_pinned_accounts does not name it.
    """

    required = asks = uses_nkeys = True
    no_auth_user: User | None = None

    def __init__(self, accounts: OperatorAccounts, clock: Clock, options: Options) -> None:
        self.sessions = TokenSessions(accounts, clock)
        self.not_pinned = 0
        self._accounts = accounts
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self.reload(options)

    def reload(self, options: Options) -> None:
        """Apply new options."""
        self._sentinel = options.default_sentinel
        pinned = options.resolver_pinned_accounts
        self._pinned = frozenset({*pinned, options.system_account} if pinned else ())

    async def stop(self) -> None:
        """Stop all lookups."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def find(self, name: str) -> User | None:
        """Return None, as no configuration names users in operator mode."""
        del name
        return None

    def authenticate(
        self, given: ClientCredentials, nonce: bytes, connection_type: str = STANDARD, host: str = ""
    ) -> AuthResult:
        """Decide about one CONNECT. The result has a `lookup` if the account must be looked up first."""
        now = self._clock.now()
        token = given.jwt
        found = open_user(token, now)
        if isinstance(found, Refusal) and found.reason in _NO_TOKEN and self._sentinel:
            token = self._sentinel
            found = open_user(token, now)
        if isinstance(found, Refusal):
            return AuthResult(None, why=str(found) if token else "authentication requires a user JWT")
        if self._pinned and found.account not in self._pinned:
            self.not_pinned += 1
            return AuthResult(None, why=f"account {found.account} is none of resolver_pinned_accounts")
        login = _Login(found, token, given.signature, nonce, connection_type, host)
        account = self._accounts.ready(found.account)
        if account is not None:
            return self._decide(login, account)
        return AuthResult(None, lookup=lambda decided: self._look_up(login, decided))

    def _look_up(self, login: _Login, decided: Callable[[AuthResult], None]) -> None:
        async def find() -> None:
            try:
                found = await self._accounts.fetch(login.user.account)
            except Exception as error:  # a bug here must not keep the client waiting
                why = f"looking up account {login.user.account} failed: {type(error).__name__}: {error}"
                decided(AuthResult(None, why=why))
                return
            if isinstance(found, Refusal):
                decided(AuthResult(None, why=str(found)))
            else:
                decided(self._decide(login, found))

        task = asyncio.get_running_loop().create_task(find())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _decide(self, login: _Login, account: Account) -> AuthResult:
        claims = self._accounts.claims(account.name)
        if claims is None:
            return AuthResult(None, why=f"account {account.name} has expired")
        now = self._clock.now()
        connection = ConnectInfo(
            nonce=login.nonce,
            signature=login.signature,
            kind=login.kind,
            host=login.host,
            zone=_zone(now),
        )
        granted = authorize(login.user, claims, self._accounts.trust, now, connection)
        if isinstance(granted, Refusal):
            return AuthResult(None, why=str(granted))
        if callout(claims) and not _exempt(claims, login.user):
            return AuthResult(None, why=f"auth callout of account {account.name} is not served yet")
        return AuthResult(self.sessions.user(account, login.token, granted))


class _Login:
    """What a client gave in CONNECT, until the decision."""

    __slots__ = ("host", "kind", "nonce", "signature", "token", "user")

    def __init__(
        self, user: UserClaims, token: str, signature: str, nonce: bytes, kind: str, host: str
    ) -> None:
        self.user = user
        self.token = token
        self.signature = signature
        self.nonce = nonce
        self.kind = kind
        self.host = host


def _exempt(claims: AccountClaims, user: UserClaims) -> bool:
    """Whether the user is one of the account's auth users, whom the auth callout does not apply to."""
    authorization = claims.nats.authorization
    return authorization is not None and user.sub in authorization.auth_users


def _zone(now: int) -> tzinfo:
    """Return the server's time zone, for permitted hours that name none."""
    return datetime.fromtimestamp(now // SECOND, UTC).astimezone().tzinfo or UTC
