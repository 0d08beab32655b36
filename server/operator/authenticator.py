"""OperatorAuthenticator: decides who may connect by a token, in place of accounts.auth.Authenticator.

Promises that nothing is decided before the account is known here: until then the result is a lookup. All
authorization is done by keys.chain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from ...keys import ConnectInfo, Reason, Refusal, authorize, authorize_assigned, open_user
from ..accounts.auth import NO_DETAILS, STANDARD, AuthResult
from ..accounts.proxies import REQUIRED
from ..clock import SECOND
from .session import TokenSessions
from .translate.account_spec import callout

if TYPE_CHECKING:
    from ...keys import AccountClaims, AuthorizationResponseClaims, UserClaims
    from ..accounts import Account
    from ..accounts.auth import ClientCredentials, LoginDetails
    from ..accounts.users import User
    from ..callout.callouts import Callouts
    from ..callout.request import Login as CalloutLogin
    from ..callout.response import Assigned
    from ..clock import Clock
    from ..config.options import Options
    from .accounts import OperatorAccounts

Decided = Callable[[AuthResult], None]
# Reasons for which a token counts as none at all, so that the default sentinel applies.
_NO_TOKEN = frozenset(
    {Reason.BAD_TOKEN, Reason.BAD_SIGNATURE, Reason.BAD_ALGORITHM, Reason.WRONG_KIND, Reason.WRONG_ROLE}
)


class OperatorAuthenticator:
    """Decides who may connect in operator mode.

    not_pinned: how often an account was refused because resolver_pinned_accounts does not name it.
    callouts: asks the services of accounts with an auth callout, if set.
    """

    required = asks = uses_nkeys = True
    no_auth_user: User | None = None

    def __init__(self, accounts: OperatorAccounts, clock: Clock, options: Options) -> None:
        self.sessions = TokenSessions(accounts, clock)
        self.not_pinned = 0
        self.callouts: Callouts | None = None
        self._accounts = accounts
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self.reload(options)

    def reload(self, options: Options) -> None:
        """Apply new options."""
        self._sentinel = options.default_sentinel
        pinned = options.resolver_pinned_accounts
        if self.callouts is not None:
            self.callouts.reload(options)
        self._pinned = frozenset({*pinned, options.system_account} if pinned else ())

    async def stop(self) -> None:
        """Stop all lookups."""
        for task in self._tasks:
            task.cancel()
        if self.callouts is not None:
            self.callouts.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def find(self, name: str) -> User | None:
        """Return None, as no configuration names users in operator mode."""
        del name
        return None

    def authenticate(
        self,
        given: ClientCredentials,
        nonce: bytes,
        connection_type: str = STANDARD,
        host: str = "",
        details: LoginDetails = NO_DETAILS,
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
        login = _Login(found, token, given, nonce, connection_type, host, details)
        account = self._accounts.ready(found.account)
        if account is not None:
            return self._decide(login, account)
        return AuthResult(None, lookup=lambda decided: self._look_up(login, decided))

    def _look_up(self, login: _Login, decided: Decided) -> None:
        def decide(account: Account | None, why: str = "") -> None:
            decided(AuthResult(None, why=why) if account is None else self._decide(login, account))

        self._with_account(login.user.account, decide)

    def _with_account(self, key: str, then: Callable[[Account | None, str], None]) -> None:
        """Call `then` with an account, or with None and the reason; now if the account is known."""
        known = self._accounts.ready(key)
        if known is not None:
            then(known, "")
            return

        async def find() -> None:
            try:
                found = await self._accounts.fetch(key)
            except Exception as error:  # a bug here must not keep the client waiting
                then(None, f"looking up account {key} failed: {type(error).__name__}: {error}")
                return
            if isinstance(found, Refusal):
                then(None, str(found))
            else:
                then(found, "")

        task = asyncio.get_running_loop().create_task(find())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _decide(self, login: _Login, account: Account) -> AuthResult:
        claims = self._accounts.claims(account.name)
        if claims is None:
            return AuthResult(None, why=f"account {account.name} has expired")
        now = self._clock.now()
        connection = login.connect_info(now)
        granted = authorize(login.user, claims, self._accounts.trust, now, connection)
        if isinstance(granted, Refusal):
            missing = granted.reason is Reason.PROXY_REQUIRED
            return AuthResult(None, why=REQUIRED if missing else str(granted))
        if callout(claims) and not _exempt(claims, login.user):
            return AuthResult(
                None, lookup=lambda decided: self._ask(login, account, claims, decided), timed=True
            )
        return AuthResult(self.sessions.user(account, login.token, granted))

    # --- auth callout

    def _ask(self, login: _Login, asked: Account, claims: AccountClaims, decided: Decided) -> None:
        """Ask the account's service who the client is. The token only led here."""
        if self.callouts is None:
            decided(AuthResult(None, why="this server asks no auth callout services"))
            return
        from ..callout.callouts import CalloutTarget

        authorization = claims.nats.authorization
        assert authorization is not None

        def may_sign(answer: AuthorizationResponseClaims) -> bool:
            return answer.iss == claims.sub or answer.iss in claims.nats.signing_keys

        service = CalloutTarget(asked, asked.name, authorization.xkey, may_sign)
        self.callouts.ask(
            service,
            login.question(),
            lambda assigned: self._assigned(login, asked, authorization.allowed_accounts, assigned, decided),
        )

    def _assigned(
        self, login: _Login, asked: Account, allowed: list[str], assigned: Assigned, decided: Decided
    ) -> None:
        user = assigned.user
        if user is None:
            decided(AuthResult(None, why=assigned.why, refused_by=asked))
        elif user.account != asked.name and user.account not in allowed and "*" not in allowed:
            why = (
                f'Account "{user.iss}" not permitted as valid account option for auth callout '
                f'for account "{asked.name}"'
            )
            decided(AuthResult(None, why=why, refused_by=asked))
        else:
            self._admit_later(login, asked, user, assigned.token, decided)

    def _admit_later(
        self, login: _Login, asked: Account, user: UserClaims, token: str, decided: Decided
    ) -> None:
        """Look up the assigned user's account, and decide."""

        def admit(account: Account | None, why: str = "") -> None:
            claims = None if account is None else self._accounts.claims(account.name)
            if account is None or claims is None:
                decided(AuthResult(None, why=why or f"account {user.account} has expired", refused_by=asked))
                return
            now = self._clock.now()
            granted = authorize_assigned(user, claims, self._accounts.trust, now, login.connect_info(now))
            if isinstance(granted, Refusal):
                decided(AuthResult(None, why=str(granted), refused_by=asked))
            else:
                name = user.name or login.question().user
                decided(AuthResult(self.sessions.user(account, token, granted, assigned=name)))

        self._with_account(user.account, admit)


class _Login:
    """What a client gave in CONNECT, until the decision."""

    __slots__ = ("details", "given", "host", "kind", "nonce", "token", "user")

    def __init__(
        self,
        user: UserClaims,
        token: str,
        given: ClientCredentials,
        nonce: bytes,
        kind: str,
        host: str,
        details: LoginDetails,
    ) -> None:
        self.user = user
        self.token = token
        self.given = given
        self.nonce = nonce
        self.kind = kind
        self.host = host
        self.details = details

    def connect_info(self, now: int) -> ConnectInfo:
        """Return what the trust chain wants to know of the connection."""
        return ConnectInfo(
            nonce=self.nonce,
            signature=self.given.signature,
            kind=self.kind,
            host=self.host,
            proxied=self.details.proxied,
            zone=_zone(now),
        )

    def question(self) -> CalloutLogin:
        """Return what a callout service is asked about."""
        from ..callout.request import Login

        given = self.given._replace(jwt=self.token)
        return Login(
            given,
            self.nonce,
            self.kind,
            self.host,
            self.details,
            user=given.claimed or self.user.sub,
            tags=tuple(self.user.nats.tags),
            name_tag=self.user.name,
        )


def _exempt(claims: AccountClaims, user: UserClaims) -> bool:
    """Whether the user is one of the account's auth users, whom the auth callout does not apply to."""
    authorization = claims.nats.authorization
    return authorization is not None and user.sub in authorization.auth_users


def _zone(now: int) -> tzinfo:
    """Return the server's time zone, for permitted hours that name none."""
    return datetime.fromtimestamp(now // SECOND, UTC).astimezone().tzinfo or UTC
