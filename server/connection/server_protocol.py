"""ServerProtocol: the shell of a socket to another server, accepted or dialled.

`ClusterProtocol` is that of a route or gateway. There TLS, if there is any, comes before everything else, and
each side shows its certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from .socket_protocol import TLS_FAILED, SocketProtocol

if TYPE_CHECKING:
    from ..config.options import TLSOptions
    from .connection import Connection
    from .context import ConnectionContext
    from .socket_protocol import Sockets
    from .wire import ConnectionTransport


class Dialler(Protocol):
    """What dials, and dials again."""

    def lost(self, protocol: SocketProtocol) -> None:
        """Take note that the socket of `protocol` is closed."""


RemoteT = TypeVar("RemoteT", bound=Dialler)
Connect = Callable[["ConnectionTransport", tuple[str, int], Any], "Connection"]


class ServerProtocol(SocketProtocol, Generic[RemoteT]):
    """One socket, accepted, or dialled by `remote`. `connect` makes its connection."""

    def __init__(
        self, context: ConnectionContext, sockets: Sockets, connect: Connect, remote: RemoteT | None
    ) -> None:
        super().__init__(context, sockets)
        self._connect = connect
        self._remote = remote

    def _make(self, wire: ConnectionTransport, peer: tuple[str, int]) -> Connection:
        return self._connect(wire, peer, self._remote)

    def _insecure(self, connection: Connection) -> None:
        connection.close(TLS_FAILED)
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection, whose socket is gone. A remote that dialled it may dial again."""
        super().connection_lost(exc)
        if self._remote is not None:
            self._remote.lost(self)


class ClusterProtocol(ServerProtocol[RemoteT]):
    """One socket of a route or gateway."""

    def _tls(self) -> TLSOptions | None:
        """Return the TLS options for this socket; None for none."""
        raise NotImplementedError

    def _server_name(self, remote: RemoteT) -> str:
        """Return the name that the certificate of a dialled server must have."""
        raise NotImplementedError

    def _begin(self, connection: Connection) -> None:
        from ..config.tls import client_context
        from .secure import SecureWire

        tls, remote = self._tls(), self._remote
        if tls is None:
            connection.open()
            return
        context = self._sockets.tls_context(tls) if remote is None else client_context(tls)
        name = None if remote is None else self._server_name(remote)
        secure = SecureWire(connection.wire, context, tls.pinned_certs, server_hostname=name)
        self._encrypt(connection, secure, tls.timeout)
        if remote is not None:
            self._decrypt(connection, secure, b"")

    def _secured(self, connection: Connection) -> None:
        connection.open()
