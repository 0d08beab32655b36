"""MQTTProtocol: the shell of one socket of the MQTT port. TLS, if any, comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..connection import SocketProtocol
from ..connection.socket_protocol import TLS_FAILED

if TYPE_CHECKING:
    from ..config.options import TLSOptions
    from ..connection import Connection, ConnectionContext, ConnectionTransport
    from ..connection.socket_protocol import Sockets

Accept = Callable[["ConnectionTransport", tuple[str, int]], "Connection"]


class MQTTProtocol(SocketProtocol):
    """One accepted socket. `accept` makes its connection."""

    def __init__(self, context: ConnectionContext, sockets: Sockets, accept: Accept) -> None:
        super().__init__(context, sockets)
        self._accept = accept

    @property
    def _tls(self) -> TLSOptions | None:
        block = self._context.options.mqtt
        return None if block is None else block.tls

    def _make(self, wire: ConnectionTransport, peer: tuple[str, int]) -> Connection:
        return self._accept(wire, peer)

    def _begin(self, connection: Connection) -> None:
        tls = self._tls
        if tls is None:
            connection.open()
            return
        if self._context.options.allow_non_tls:
            self._undecided = True
            self._expect(tls.timeout)
        else:
            self._begin_tls(connection, tls)

    def _begin_tls(self, connection: Connection, tls: TLSOptions) -> None:
        from ..connection.secure import SecureWire

        context = self._sockets.tls_context(tls)
        secure = SecureWire(connection.wire, context, tls.pinned_certs)
        self._encrypt(connection, secure, tls.timeout, tls.ocsp_peer)

    def _decide(self, connection: Connection, data: bytes) -> bytes:
        from ..connection.secure import FIRST_BYTE

        self._undecided = False
        tls = self._tls
        if tls is not None and data[0] == FIRST_BYTE:
            self._begin_tls(connection, tls)
        else:
            self._stop_timer()
            connection.open()
        return data

    def _secured(self, connection: Connection) -> None:
        connection.open()

    def _insecure(self, connection: Connection) -> None:
        if connection.account is not None and not connection.closed_reason:
            connection.close(TLS_FAILED)
        else:
            self.abort()
