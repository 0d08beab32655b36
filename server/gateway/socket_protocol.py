"""GatewayProtocol: the shell of one gateway's socket.

TLS, if there is any, comes before everything else, and each side shows its certificate.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..connection import SocketProtocol
from ..connection.socket_protocol import TLS_FAILED

if TYPE_CHECKING:
    from ..connection import Connection, ConnectionTransport
    from ..connection.socket_protocol import Sockets
    from .peer import GatewayContext
    from .remote import GatewayRemote

Connect = Callable[["ConnectionTransport", tuple[str, int], "GatewayRemote | None"], "Connection"]


class GatewayProtocol(SocketProtocol):
    """One socket, accepted, or dialled by `remote`. `connect` makes its connection."""

    failure = "TLS gateway handshake error"

    def __init__(
        self, context: GatewayContext, sockets: Sockets, connect: Connect, remote: GatewayRemote | None
    ) -> None:
        super().__init__(context, sockets)
        self._gateway = context.gateway
        self._connect = connect
        self._remote = remote

    def _make(self, wire: ConnectionTransport, peer: tuple[str, int]) -> Connection:
        return self._connect(wire, peer, self._remote)

    def _begin(self, connection: Connection) -> None:
        from ..config.tls import client_context
        from ..connection.secure import SecureWire

        remote = self._remote
        tls = self._gateway.tls if remote is None else remote.tls
        if tls is None:
            connection.open()
            return
        if remote is None:
            secure = SecureWire(connection.wire, self._sockets.tls_context(tls), tls.pinned_certs)
        else:
            host = remote.target.host
            name = remote.host_name if _is_number(host) and remote.host_name else host
            secure = SecureWire(connection.wire, client_context(tls), tls.pinned_certs, server_hostname=name)
        self._encrypt(connection, secure, tls.timeout)
        if remote is not None:
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


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
