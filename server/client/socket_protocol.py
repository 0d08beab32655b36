"""ClientProtocol: the shell of one client socket, which decides when TLS begins.

The client's first byte shows whether it uses TLS, which it must unless `allow_non_tls` is set. INFO is sent
before that in the clear, or with `handshake_first` after the TLS handshake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..clock import SECOND
from ..connection import SocketProtocol
from ..connection.handshake_rate import THROTTLED
from ..connection.socket_protocol import TLS_FAILED

if TYPE_CHECKING:
    from ..clock import Timer
    from ..connection import Connection, ConnectionTransport
    from ..connection.handshake_rate import HandshakeRate
    from ..connection.socket_protocol import Sockets
    from .clients import Clients
    from .connection import ClientConnection
    from .proxy_header import ProxyHeader

_HEADER_TIME = 5 * SECOND


class ClientProtocol(SocketProtocol):
    """One accepted socket."""

    def __init__(self, clients: Clients, sockets: Sockets, handshakes: HandshakeRate) -> None:
        super().__init__(clients, sockets)
        self._clients = clients
        self._handshakes = handshakes
        self._greeted = False
        self._counted = False  # among the handshakes that begin
        self._header: ProxyHeader | None = None
        self._header_timer: Timer | None = None
        if clients.options.proxy_protocol:
            from .proxy_header import ProxyHeader

            self._header = ProxyHeader()

    def _make(self, wire: ConnectionTransport, peer: tuple[str, int]) -> ClientConnection:
        return self._clients.accept(wire, peer)

    def _unwrap(self, connection: Connection, header: ProxyHeader, data: bytes) -> bytes:
        """Read the header of a proxy, which stands before TLS. Return what came after it."""
        from .proxy_header import ProxyHeaderError

        try:
            found = header.feed(data)
        except ProxyHeaderError as error:
            self._bad_header(str(error))
            return b""
        if found is None:
            if self._header_timer is None:
                late = "it is not complete in time"
                self._header_timer = self._clients.clock.call_later(
                    _HEADER_TIME, lambda: self._bad_header(late)
                )
            return b""
        self._header = None
        self._stop_header_timer()
        if found.peer is not None:
            connection.peer = found.peer
        return found.rest

    def _bad_header(self, why: str) -> None:
        self._header_timer = None
        connection = self.connection
        if connection is not None and self._header is not None:
            self._clients.log.warning(f"{connection} - Error reading PROXY protocol header: {why}")
            connection.close("Protocol Violation")

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection, whose socket is gone."""
        self._stop_header_timer()
        super().connection_lost(exc)

    def _begin(self, connection: Connection) -> None:
        """Greet the client, unless TLS must come first.

        If `handshake_first` is a time, the client is greeted in the clear when it has not begun TLS by then.
        """
        tls = self._clients.options.tls
        self._undecided = tls is not None or self._header is not None
        if tls is not None and tls.handshake_first:
            if tls.handshake_first is True and not self._may_shake_hands(connection):
                return
            if tls.handshake_first is True:
                self._expect(tls.timeout)
            else:
                self._timer = self._clients.clock.call_later(
                    tls.handshake_first, lambda: self._greet(connection)
                )
        else:
            self._greet(connection)

    def _greet(self, connection: Connection) -> None:
        self._stop_timer()
        self._greeted = True
        connection.open()
        tls = self._clients.options.tls
        wanted = tls is not None and self._secure is None and not self._clients.options.allow_non_tls
        if tls is not None and wanted and self._may_shake_hands(connection):
            self._expect(tls.timeout)

    def _may_shake_hands(self, connection: Connection) -> bool:
        """Return whether TLS may begin now. If it may not, the client is told so, and closed."""
        tls = self._clients.options.tls
        assert tls is not None
        self._counted = True
        if self._handshakes.allows(tls.connection_rate_limit):
            return True
        connection.fail(THROTTLED, "Maximum Connections Exceeded")
        return False

    def _decide(self, connection: Connection, data: bytes) -> bytes:
        if self._header is not None:
            data = self._unwrap(connection, self._header, data)
        options = self._clients.options
        if options.tls is None:
            self._undecided = self._header is not None
            return data
        if not data:
            return data
        from ..connection.secure import FIRST_BYTE, SecureWire

        self._undecided = False
        if data[0] != FIRST_BYTE:
            if options.allow_non_tls and self._greeted:
                self._stop_timer()
                return data
            self._fail(connection, "first record does not look like a TLS handshake")
            return b""
        if not self._counted and not self._may_shake_hands(connection):
            return b""
        context = self._sockets.tls_context(options.tls)
        secure = SecureWire(connection.wire, context, options.tls.pinned_certs)
        self._encrypt(connection, secure, options.tls.timeout, options.tls.ocsp_peer)
        return data

    def _secured(self, connection: Connection) -> None:
        if not self._greeted:
            self._greet(connection)

    def _insecure(self, connection: Connection) -> None:
        if self._greeted and not connection.closed_reason:
            connection.close(TLS_FAILED)
        else:
            self.abort()
