"""MQTTHandshake: the login of an MQTT client, from CONNECT to its account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..accounts.users import EXPIRED
from ..client.connect import ConnectOptions
from ..client.handshake import ClientHandshake

if TYPE_CHECKING:
    from ..accounts.users import User
    from .packets import Connect


class MQTTHandshake(ClientHandshake):
    """The login of one client."""

    __slots__ = ()

    def greet(self) -> None:
        """Give the client time to send CONNECT, whether it must log in or not. Nothing is sent."""
        connection = self._connection
        context = connection.context
        self._timer = connection.clock.call_later(context.auth_timeout_of(connection), self._too_late)

    def log_in(self, packet: Connect, *, tokens: bool) -> None:
        """Serve CONNECT. tokens: whether a password may be a user's JWT.

        A password counts as a token of the configuration, too.
        """
        connection = self._connection
        password = packet.password or ""
        options = ConnectOptions(verbose=False, pedantic=False, headers=True)
        options.user, options.password, options.auth_token = packet.user or "", password, password
        if tokens:
            options.jwt = password
        connection.options = options
        self._credentials = options.credentials
        self._follow(self._authenticate(), self._decided)

    def _renew(self, user: User | None) -> None:
        """Go on after a reload. A session is kept in its account: in another one, the client starts over."""
        connection = self._connection
        if user is not None and user.account is not connection.account:
            connection.fail("Authorization Violation", EXPIRED)
            return
        super()._renew(user)
