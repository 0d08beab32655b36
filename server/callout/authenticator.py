"""CalloutAuthenticator: asks a service about everyone but those whom the configuration alone decides about.

These are the `auth_users` of `auth_callout`, which run the service, and if it has `allowed_accounts`, the
users of any other account, except `$G`. Nobody may publish to the services' subject in their account, but
the server. Source: nats-server's server/auth.go: processClientOrLeafAuthentication.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...keys import ConnectInfo, Reason, Refusal, assigned_deadline
from ...protocol.reserved import AUTH_CALLOUT
from ..accounts.auth import NO_DETAILS, STANDARD, AuthResult, ClientCredentials, LoginDetails
from ..accounts.permissions import without_publish
from ..accounts.proxies import REQUIRED
from ..accounts.registry import GLOBAL
from ..accounts.token_permissions import limit, permissions
from ..accounts.users import User
from ..clock import SECOND
from .callouts import CalloutTarget
from .request import Login
from .session import AssignedSession

if TYPE_CHECKING:
    from ...keys import UserClaims
    from ..accounts import Account, AccountRegistry
    from ..accounts.auth import Authenticator
    from ..accounts.passwords import PasswordChecks
    from ..clock import Clock
    from ..config.options import AuthCallout
    from .callouts import Callouts
    from .response import Assigned

Decided = Callable[[AuthResult], None]


class CalloutAuthenticator:
    """Decides about the clients of a configuration that has an auth callout."""

    required = asks = True

    def __init__(
        self,
        inner: Authenticator,
        callout: AuthCallout,
        registry: AccountRegistry,
        callouts: Callouts,
        passwords: PasswordChecks,
        clock: Clock,
    ) -> None:
        self._inner = inner
        self._callout = callout
        self._registry = registry
        self._callouts = callouts
        self._passwords = passwords
        self._clock = clock
        self._exempt = frozenset(callout.auth_users)
        self._delegated = frozenset(callout.allowed_accounts)

    @property
    def uses_nkeys(self) -> bool:
        """Whether INFO needs a nonce: a service may want to see a signature of it."""
        return True

    @property
    def no_auth_user(self) -> User | None:
        """The user that clients without CONNECT become; None where a service would have to be asked."""
        return self._alone(self._inner.no_auth_user)

    def find(self, name: str) -> User | None:
        """Return a user whom the configuration alone decides about."""
        return self._alone(self._inner.find(name))

    def _alone(self, user: User | None) -> User | None:
        return None if user is None or self._asks_about(user) else self._confined(user)

    def _asks_about(self, user: User) -> bool:
        if user.label in self._exempt:
            return False
        account = user.account.name
        return account == GLOBAL or not self._delegated or account in self._delegated

    def authenticate(
        self,
        given: ClientCredentials,
        nonce: bytes,
        connection_type: str = STANDARD,
        host: str = "",
        details: LoginDetails = NO_DETAILS,
    ) -> AuthResult:
        """Decide about one CONNECT. The result has a `lookup` if a service must be asked."""
        result = self._inner.authenticate(given, nonce, connection_type, host, details)
        user = result.user
        claimed = given.claimed or ("" if user is None else user.label)
        login = Login(given, nonce, connection_type, host, details, user=claimed)

        def ask(decided: Decided) -> None:
            self._ask(login, decided)

        named = self._inner.find(given.nkey or given.user)
        if named is not None and named.proxy_required and not details.proxied:
            return AuthResult(None, why=REQUIRED)
        if user is None:
            # One of the service itself with a wrong password: it can hardly be asked about itself.
            return result if given.claimed in self._exempt else AuthResult(None, lookup=ask, timed=True)
        if self._is_leaf(connection_type) and user.label not in self._exempt:
            return AuthResult(None, lookup=ask, timed=True)
        if self._asks_about(user):
            return AuthResult(None, lookup=ask, timed=True)
        if result.check is None or user.label in self._exempt:
            return result._replace(user=self._confined(user))
        check = result.check

        def check_first(decided: Decided) -> None:
            def checked(passed: bool) -> None:
                if passed:
                    decided(AuthResult(self._confined(user)))
                else:
                    ask(decided)

            self._passwords(check, checked, host)

        return AuthResult(None, lookup=check_first, timed=True)

    def _is_leaf(self, connection_type: str) -> bool:
        return connection_type.startswith("LEAFNODE")

    def _ask(self, login: Login, decided: Decided) -> None:
        account = self._registry.get(self._callout.account)
        if account is None:
            name = self._callout.account
            decided(AuthResult(None, why=f'No valid account "{name}" for auth callout request'))
            return
        service = CalloutTarget(account, self._callout.issuer, self._callout.xkey)
        self._callouts.ask(service, login, lambda assigned: decided(self._admit(login, account, assigned)))

    def _admit(self, login: Login, asked: Account, assigned: Assigned) -> AuthResult:
        claims = assigned.user
        if claims is None:
            return AuthResult(None, why=assigned.why, refused_by=asked)
        callout = self._callout
        account = self._registry.get(claims.aud)
        why = ""
        if claims.nats.issuer_account:
            why = f'Error non operator mode account "{asked.name}": attempted to use issuer_account'
        elif claims.iss != callout.issuer:
            why = (
                f'Wrong issuer for auth callout response on account "{asked.name}", '
                f'expected "{callout.issuer}" got "{claims.iss}"'
            )
        elif account is None:
            why = (
                f'No valid account "{claims.aud}" for auth callout response on account "{asked.name}": '
                "account missing"
            )
        if why or account is None:
            return AuthResult(None, why=why, refused_by=asked)
        now = self._clock.now()
        zone = datetime.fromtimestamp(now // SECOND, UTC).astimezone().tzinfo or UTC
        details = login.details
        info = ConnectInfo(
            b"", "", kind=login.connection_type, host=login.host, proxied=details.proxied, zone=zone
        )
        deadline = assigned_deadline(claims, claims.nats, now, info)
        if isinstance(deadline, Refusal):
            missing = deadline.reason is Reason.PROXY_REQUIRED
            return AuthResult(None, why=REQUIRED if missing else str(deadline), refused_by=asked)
        return AuthResult(self._user(claims, login, account, deadline))

    def _user(self, claims: UserClaims, login: Login, account: Account, deadline: int) -> User:
        def still_good() -> bool:
            options = self._callouts.options.authorization
            return options.auth_callout == self._callout and self._registry.get(account.name) is account

        limits = claims.nats
        return self._confined(
            User(
                account,
                name=claims.name or login.user,
                permissions=permissions(limits),
                subscriptions=limit(limits.subs),
                payload=limit(limits.payload),
                session=AssignedSession(deadline, self._clock, still_good),
            )
        )

    def _confined(self, user: User) -> User:
        """Return a user without the right to ask the service in the server's place."""
        if user.account.name != self._callout.account:
            return user
        return User(
            user.account,
            name=user.name,
            password=user.password,
            nkey=user.nkey,
            permissions=without_publish(user.permissions, AUTH_CALLOUT),
            connection_types=user.connection_types,
            subscriptions=user.subscriptions,
            payload=user.payload,
            proxy_required=user.proxy_required,
            session=user.session,
        )
