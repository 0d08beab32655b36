"""The errors of a connection. Their texts name servers without user or password, and never hold a secret."""

from __future__ import annotations

from collections.abc import Sequence


class ClientError(Exception):
    """The connection, or a request on it, failed."""


class NoServers(ClientError):  # noqa: N818 - the clients' word for it
    """No server of the list could be connected to; the text gives the reason for each.

    reasons: the errors, in the order of the servers.
    """

    def __init__(self, text: str, reasons: Sequence[Exception] = ()) -> None:
        super().__init__(text)
        self.reasons = list(reasons)


class AuthorizationError(ClientError):
    """A server answered and refused the login, or a credential cannot be read.

    said: the server's own words, "" if it was not asked. missing: whether a file that was named is not there.
    """

    def __init__(self, text: str, said: str = "", *, missing: bool = False) -> None:
        super().__init__(text)
        self.said = said
        self.missing = missing


class SecretError(ClientError):
    """A secret is not where its reference says, or cannot be read there."""


class SecretNotFoundError(SecretError):
    """The file that a reference names does not exist."""


class ConnectionLost(ClientError):  # noqa: N818 - what happened
    """The connection ended, or the server closed it. `BlockingConnection.reopen` makes a new one."""


class NotPermitted(ClientError):  # noqa: N818 - what happened
    """The server refused a subject; the connection stays open."""


class TooLarge(ClientError):  # noqa: N818 - what happened
    """The message is larger than the server accepts; nothing was sent."""


class TimedOut(ClientError):  # noqa: N818 - what happened
    """Nothing arrived in time."""


class NoResponders(ClientError):  # noqa: N818 - the protocol's word
    """Nobody listens on the subject of a request."""
