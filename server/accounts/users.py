"""Users: an authenticated user, and the session of a login by token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .account import Account
    from .permissions import Permissions


class AuthenticatedConnection(Protocol):
    """The connection that logged in, as its login session sees it."""

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer why, and close."""

    def close(self, reason: str) -> None:
        """Close without telling the peer why."""

    def refuse(self) -> None:
        """Tell the peer that its login no longer holds, and close."""

    def apply(self, user: User) -> None:
        """Go on as the same user with other permissions or limits."""


class LoginSession(Protocol):
    """What remains of a login by a token: it watches over the connection.

    expires: when the login ends, in ns; 0 means never.
    """

    expires: int

    def begin(self, holder: AuthenticatedConnection) -> None:
        """Begin to watch over `holder`, whose login is done."""

    def end(self) -> None:
        """Stop watching: the connection is gone, or logs in again. Harmless when called twice."""

    def recheck(self) -> None:
        """Authenticate again, to find out whether the holder may stay and as what."""

    def describe(self) -> dict[str, Any]:
        """Return jwt, issuer_key, name_tag and tags, as client info shows them."""


class User:
    """A user of an account.

    name: "" for a user that is known by its nkey.
    permissions: None means no restriction.
    connection_types: the types of connection that the user may make; None means any.
    subscriptions: the user's own limit of subscriptions; -1 is unlimited.
    payload: the user's own limit of a message's size in bytes; -1 is unlimited.
    session: set if the user logged in by a token.
    """

    __slots__ = (
        "account",
        "connection_types",
        "name",
        "nkey",
        "password",
        "payload",
        "permissions",
        "session",
        "subscriptions",
    )

    def __init__(
        self,
        account: Account,
        *,
        name: str = "",
        password: str = "",
        nkey: str = "",
        permissions: Permissions | None = None,
        connection_types: frozenset[str] | None = None,
        subscriptions: int = -1,
        payload: int = -1,
        session: LoginSession | None = None,
    ) -> None:
        self.account = account
        self.name = name
        self.password = password
        self.nkey = nkey
        self.permissions = permissions
        self.connection_types = connection_types
        self.subscriptions = subscriptions
        self.payload = payload
        self.session = session

    @property
    def label(self) -> str:
        """The name shown to operators."""
        return self.name or self.nkey
