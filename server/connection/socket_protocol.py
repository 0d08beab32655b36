"""SocketProtocol: the asyncio shell of one socket, between the transport and a `Connection`.

It is thin: it decides only how the bytes travel, with or without TLS, and leaves everything about the
protocol to the connection. Each kind of connection decides in `_begin` and `_decide` when TLS begins, and in
`_secured` what happens then.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from ..config.ocsp_peer import PeerRules
from .kernel_queue import kernel_queue
from .wire import GONE

if TYPE_CHECKING:
    import ssl

    from ..clock import Timer
    from ..config.options import TLSOptions
    from .connection import Connection
    from .context import ConnectionContext
    from .secure import SecureWire
    from .wire import ConnectionTransport

TLS_FAILED = "TLS Handshake Failure"


class Sockets(Protocol):
    """All sockets of one kind (a `Listener`)."""

    def tls_context(self, options: TLSOptions) -> ssl.SSLContext:
        """Return the server's TLS context for `options`. Raises TLSConfigError."""

    def opened(self, protocol: SocketProtocol) -> None:
        """Take note that a socket was accepted or dialled."""

    def gone(self, protocol: SocketProtocol) -> None:
        """Take note that a socket is closed."""


class SocketProtocol(asyncio.Protocol):
    """One socket, accepted or dialled.

    connection: None until the transport exists.
    failure: what a failed TLS handshake is called in the log.
    """

    failure: ClassVar[str] = "TLS handshake error"

    def __init__(self, context: ConnectionContext, sockets: Sockets) -> None:
        self._context = context
        self._sockets = sockets
        self._transport: asyncio.Transport | None = None
        self._secure: SecureWire | None = None
        self._undecided = False  # the next bytes show whether the peer uses TLS
        self._timer: Timer | None = None
        self._peer_rules: PeerRules | None = None  # how the peer's certificate is checked after the handshake
        self.connection: Connection | None = None

    @property
    def taken(self) -> bool:
        """Whether there is a socket, or was one."""
        return self._transport is not None

    # --- what each kind defines

    def _make(self, wire: ConnectionTransport, peer: tuple[str, int]) -> Connection:
        """Return the connection for this socket."""
        raise NotImplementedError

    def _begin(self, connection: Connection) -> None:
        """Open the connection, or begin TLS first."""
        raise NotImplementedError

    def _decide(self, connection: Connection, data: bytes) -> bytes:
        """Find out from the first bytes whether the peer uses TLS, while undecided. Return what to serve."""
        raise NotImplementedError

    def _secured(self, connection: Connection) -> None:
        """Go on after the TLS handshake."""
        raise NotImplementedError

    def _insecure(self, connection: Connection) -> None:
        """Close, because TLS failed. The failure has been logged."""
        raise NotImplementedError

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make the connection and let it begin."""
        wire, peer = self._take(transport)
        connection = self._make(wire, peer)
        self.connection = connection
        self._watch_writes(connection)
        self._begin(connection)

    def _watch_writes(self, connection: Connection) -> None:
        """Let the connection know how much its peer has not read."""
        assert self._transport is not None
        self._transport.set_write_buffer_limits(high=connection.stall_at)
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            connection.kernel_queue = kernel_queue(sock)

    def _take(self, transport: asyncio.BaseTransport) -> tuple[ConnectionTransport, tuple[str, int]]:
        """Take the socket. Return its wire, and its peer as (host, port)."""
        # Not earlier: some loops make the protocol of a dial that fails, and never call `connection_lost`.
        self._sockets.opened(self)
        self._transport = cast("asyncio.Transport", transport)
        sock = self._transport.get_extra_info("socket")
        if sock is not None and sock.family in {socket.AF_INET, socket.AF_INET6}:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        peer = self._transport.get_extra_info("peername") or ("", 0)
        return cast("ConnectionTransport", transport), (str(peer[0]), int(peer[1]))

    def data_received(self, data: bytes) -> None:
        """Serve one read, then hold the producer back if others cannot keep up with it."""
        connection = self.connection
        assert connection is not None
        if self._undecided:
            data = self._decide(connection, data)
        secure = self._secure
        if secure is not None:
            data = self._decrypt(connection, secure, data)
        if data:
            connection.receive(data)
        if secure is not None and secure.ended:
            connection.ended()
        if self._context.flusher.stalled:
            connection.stall_behind_slow_peers()

    def resume_writing(self) -> None:
        """Let those who wait for this peer go on: it has read what was pending."""
        if self.connection is not None:
            self.connection.writable()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection, whose socket is gone."""
        self._stop_timer()
        if self.connection is not None:
            self.connection.lost("Client Closed" if exc is None else "Read Error")
            self._context.flusher.flush()
            # Closed connections are kept for monitoring, without their sockets and TLS.
            self.connection.wire = GONE
            self._secure = None
        self._sockets.gone(self)

    def close(self, reason: str) -> None:
        """Close after sending what is queued."""
        if self.connection is not None:
            self.connection.close(reason)

    def abort(self) -> None:
        """Close now, without sending what is queued."""
        if self._transport is not None:
            self._transport.abort()

    # --- TLS

    def _encrypt(
        self,
        connection: Connection,
        secure: SecureWire,
        timeout: int,
        ocsp_peer: dict[str, Any] | None = None,
    ) -> None:
        """Send everything through `secure` from now on. Its handshake may take `timeout` ns.

        ocsp_peer: the block that says how the peer's certificate is checked afterwards.
        """
        self._secure = secure
        self._peer_rules = PeerRules.of(ocsp_peer)
        connection.wire = secure
        self._expect(timeout)

    def _expect(self, timeout: int) -> None:
        """Give the peer `timeout` ns for the handshake."""
        self._stop_timer()
        self._timer = self._context.clock.call_later(timeout, self._too_late)

    def _decrypt(self, connection: Connection, secure: SecureWire, data: bytes) -> bytes:
        from .secure import TLSHandshakeError

        before = secure.ready
        try:
            plain = secure.feed(data)
        except TLSHandshakeError as error:
            self._fail(connection, str(error))
            return b""
        if secure.ready and not before:
            self._stop_timer()
            connection.secure = secure.agreed
            self._check_peer(connection, secure)
            self._secured(connection)
        return plain

    def _check_peer(self, connection: Connection, secure: SecureWire) -> None:
        """Let nothing be served that the peer sends before its authorities have called it good."""
        if self._peer_rules is None:
            return

        def decided(why: str) -> None:
            if connection.closed_reason:
                return
            if why:
                self._context.log.error(f"{connection} - {self.failure}: {why}")
                connection.close(TLS_FAILED)
            else:
                connection.resume()

        connection.pause()
        self._context.peer_checks.check(secure.verified_chain(), self._peer_rules, decided)

    def _fail(self, connection: Connection, text: str) -> None:
        self._context.log.error(f"{connection} - {self.failure}: {text}")
        self._insecure(connection)

    def _too_late(self) -> None:
        self._timer = None
        if self.connection is not None and (self._secure is None or not self._secure.ready):
            self._fail(self.connection, "TLS handshake timeout")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
