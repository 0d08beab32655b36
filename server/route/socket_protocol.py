"""RouteProtocol: the shell of one route's socket.

TLS, if there is any, comes before everything else, and each side shows its certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..connection import SocketProtocol
from ..connection.socket_protocol import TLS_FAILED

if TYPE_CHECKING:
    from ..connection import Connection, ConnectionTransport
    from ..connection.socket_protocol import Sockets
    from .peer import RouteContext
    from .remote import RouteRemote

Connect = Callable[["ConnectionTransport", tuple[str, int], "RouteRemote | None"], "Connection"]


class RouteProtocol(SocketProtocol):
    """One socket, accepted, or dialled by `remote`. `connect` makes its connection."""

    failure = "TLS route handshake error"

    def __init__(
        self, context: RouteContext, sockets: Sockets, connect: Connect, remote: RouteRemote | None
    ) -> None:
        super().__init__(context, sockets)
        self._cluster = context.cluster
        self._connect = connect
        self._remote = remote

    def _make(self, wire: ConnectionTransport, peer: tuple[str, int]) -> Connection:
        return self._connect(wire, peer, self._remote)

    def _begin(self, connection: Connection) -> None:
        from ..config.tls import client_context
        from ..connection.secure import SecureWire

        tls = self._cluster.tls
        if tls is None:
            connection.open()
            return
        if self._remote is None:
            secure = SecureWire(connection.wire, self._sockets.tls_context(tls), tls.pinned_certs)
        else:
            context = client_context(tls)
            host = self._remote.target.host
            secure = SecureWire(connection.wire, context, tls.pinned_certs, server_hostname=host)
        self._encrypt(connection, secure, tls.timeout)
        if self._remote is not None:
            self._decrypt(connection, secure, b"")

    def _secured(self, connection: Connection) -> None:
        connection.open()

    def _insecure(self, connection: Connection) -> None:
        connection.close(TLS_FAILED)
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection, whose socket is gone. A remote that dialled it may dial again."""
        super().connection_lost(exc)
        if self._remote is not None:
            self._remote.lost()
