"""Users: an authenticated user, and the session of a login by token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Protocol

from ...protocol.lazy_dataclass import dataclass

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


# What `LoginSession.describe` returns where the token is not the client's own.
NOT_SHOWN: Mapping[str, Any] = {"jwt": "", "issuer_key": "", "name_tag": "", "tags": []}
EXPIRED = "Authentication Expired"  # why a connection was closed, as connz shows it


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


@dataclass(slots=True, eq=False, repr=False)
class User:
    """A user of an account. It is compared by identity, not by its fields.

    name: "" for a user that is known by its nkey.
    permissions: None means no restriction.
    connection_types: the types of connection that the user may make; None means any.
    subscriptions: the user's own limit of subscriptions; -1 is unlimited.
    payload: the user's own limit of a message's size in bytes; -1 is unlimited.
    proxy_required: the user may only come through a trusted proxy.
    session: set if the user logged in by a token.
    """

    account: Account
    _: KW_ONLY
    name: str = ""
    password: str = ""
    nkey: str = ""
    permissions: Permissions | None = None
    connection_types: frozenset[str] | None = None
    subscriptions: int = -1
    payload: int = -1
    proxy_required: bool = False
    session: LoginSession | None = None

    @property
    def label(self) -> str:
        """The name shown to operators."""
        return self.name or self.nkey
