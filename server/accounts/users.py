"""A user: who someone is once authenticated, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .account import Account
    from .permissions import Permissions


class AuthenticatedConnection(Protocol):
    """Whoever logged in, as a session needs it."""

    def fail(self, text: str, reason: str) -> None:
        """Say why, and close."""

    def close(self, reason: str) -> None:
        """Close without a word."""

    def refuse(self) -> None:
        """Say that the login no longer holds, and close."""

    def apply(self, user: User) -> None:
        """The same user, with other permissions or limits from now on."""


class LoginSession(Protocol):
    """What remains of a login by a token: it watches over the connection. expires: ns, 0 never."""

    expires: int

    def begin(self, holder: AuthenticatedConnection) -> None:
        """The login is done."""

    def end(self) -> None:
        """The connection is gone, or logs in anew; harmless when done twice."""

    def recheck(self) -> None:
        """Authenticate anew: whether, and as what, the holder may stay."""

    def describe(self) -> dict[str, Any]:
        """jwt, issuer_key, name_tag and tags, as client info has them."""


class User:
    """name "" for an nkey user. permissions None: no restriction. connection_types None: any.

    subscriptions, payload (bytes): limits of the user's own, -1 unlimited. session: of a login by a token.
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
