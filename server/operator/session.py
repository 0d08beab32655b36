"""TokenSessions: connections that were accepted because of a token, for as long as it and its account allow.

Promises that a session ends when its token expires or its permitted hours end. With every change of its
account it is authorized again. It then continues with its new rights, or is closed with nats-server's words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...keys import Reason, Refusal, account_status
from ...protocol.reserved import AUTH_CALLOUT
from ..accounts.permissions import without_publish
from ..accounts.timed_session import TimedSession
from ..accounts.token_permissions import limit, permissions
from ..accounts.users import EXPIRED, NOT_SHOWN, User
from ..slices import Steps
from .translate.account_spec import callout

if TYPE_CHECKING:
    from ...keys import Admission
    from ..accounts import Account
    from ..accounts.users import AuthenticatedConnection
    from ..clock import Clock
    from .accounts import OperatorAccounts

REVOKED = "Credentials Revoked"
VIOLATION = "Authentication Failure"


class TokenSessions:
    """The open sessions, by account."""

    def __init__(self, accounts: OperatorAccounts, clock: Clock) -> None:
        self.accounts = accounts
        self.clock = clock
        self._sessions: dict[str, dict[TokenSession, None]] = {}
        accounts.observers.append(self._changed)

    def user(self, account: Account, token: str, granted: Admission, assigned: str | None = None) -> User:
        """Return the user of a connection that is accepted.

        assigned: the name of a user that a callout service assigned; None if the token is the client's own.
        """
        session = TokenSession(self, token, granted, assigned)
        return session.user(account, granted)

    def add(self, session: TokenSession) -> None:
        """Add a session that has begun."""
        self._sessions.setdefault(session.account, {})[session] = None

    def remove(self, session: TokenSession) -> None:
        """Remove a session that has ended."""
        of_account = self._sessions.get(session.account, {})
        of_account.pop(session, None)
        if not of_account:
            self._sessions.pop(session.account, None)

    def _changed(self, account: Account) -> Steps[None]:
        for session in list(self._sessions.get(account.name, ())):
            session.recheck()
            yield


class TokenSession(TimedSession):
    """One login; see accounts.users.LoginSession.

    account: the account's public key.
    """

    def __init__(self, sessions: TokenSessions, token: str, granted: Admission, assigned: str | None) -> None:
        super().__init__(granted.deadline, sessions.clock)
        self._sessions = sessions
        self._token = token
        self._assigned = assigned
        self._claims = granted.user
        self._scope = granted.account.scope(granted.user.iss)
        self._signing_key = granted.signing_key
        self.account = granted.account.sub

    def user(self, account: Account, granted: Admission) -> User:
        """Return the user with the rights granted now."""
        allowed = permissions(granted.permissions)
        if callout(granted.account):
            allowed = without_publish(allowed, AUTH_CALLOUT)  # only the server asks the service
        return User(
            account,
            name=self._assigned or "",
            nkey=self._claims.sub if self._assigned is None else "",
            permissions=allowed,
            subscriptions=limit(granted.limits.subs),
            payload=limit(granted.limits.payload),
            session=self,
        )

    def begin(self, holder: AuthenticatedConnection) -> None:
        """Begin the session. It lasts until the token expires or the permitted hours end."""
        super().begin(holder)
        self._sessions.add(self)

    def end(self) -> None:
        """End the session; see accounts.users.LoginSession."""
        super().end()
        self._sessions.remove(self)

    def recheck(self) -> None:
        """Authorize the session again; see accounts.users.LoginSession.

        If the account has expired, nothing is done: all of its connections are closed anyway.
        """
        accounts, holder = self._sessions.accounts, self._holder
        account, claims = accounts.account(self.account), accounts.claims(self.account)
        if holder is None or account is None or claims is None:
            return
        granted = account_status(self._claims, claims, accounts.trust, self._clock.now())
        if isinstance(granted, Refusal):
            self._refused(holder, granted)
        elif claims.scope(self._claims.iss) != self._scope:
            holder.close(VIOLATION)
        else:
            holder.apply(self.user(account, granted))

    def _refused(self, holder: AuthenticatedConnection, refusal: Refusal) -> None:
        match refusal.reason:
            case Reason.USER_REVOKED:
                holder.fail(refusal.reason.live_error, REVOKED)
            case Reason.USER_EXPIRED | Reason.ACCOUNT_EXPIRED:
                holder.fail(refusal.reason.live_error, EXPIRED)
            case Reason.BEARER_NOT_ALLOWED:
                holder.refuse()
            case _:  # the key that signed the token is no longer valid
                holder.close(VIOLATION)

    def describe(self) -> dict[str, Any]:
        """Return what monitoring shows of the login; see accounts.users.LoginSession.

        Of a user that a service assigned the token is not shown.
        """
        if self._assigned is not None:
            return dict(NOT_SHOWN)
        return {
            "jwt": self._token,
            "issuer_key": self._signing_key or self.account,
            "name_tag": self._claims.name,
            "tags": list(self._claims.nats.tags),
        }
