"""A client's pings, and what its own first PING sets off."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ...protocol.wire import encode
from ..clock import SECOND
from ..connection.ping_timer import PingTimer

if TYPE_CHECKING:
    from .connection import ClientConnection

_FIRST = 2 * SECOND


class ClientPingTimer(PingTimer):
    """greeted: the client's first PING was answered."""

    __slots__ = ("greeted",)

    def __init__(self, client: ClientConnection) -> None:
        super().__init__(client, _FIRST)
        self.greeted = False

    def pinged(self) -> None:
        """PING came: answer; after the first, send INFO with what is now known of the connection."""
        client = cast("ClientConnection", self._connection)
        client.send_line(encode.PONG)
        if not self.greeted:
            self.greeted = True
            if client.options.protocol >= 1:
                client.handshake.send_connect_info()

    def connected(self) -> None:
        """CONNECT came: a first estimate of the distance, and the pings begin anew."""
        self.estimate()
        self.start()
