"""The asyncio shell of one client socket: bytes between the transport and `ClientConnection`, through TLS
when asked.

Thin: every decision about the protocol is the connection's. What is decided here is only how the bytes
travel.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, cast

from .connection import ClientConnection

if TYPE_CHECKING:
    from ..clock import Timer
    from .clients import Clients
    from .listener import ClientListener
    from .outbound import Wire
    from .secure import SecureWire

_TLS_FAILED = "TLS Handshake Failure"


class ClientProtocol(asyncio.Protocol):
    """One accepted socket."""

    def __init__(self, listener: ClientListener) -> None:
        self._listener = listener
        self._clients: Clients = listener.accepted(self)
        self._wire: asyncio.Transport | None = None
        self._secure: SecureWire | None = None
        self._undecided = False
        self._timer: Timer | None = None
        self.connection: ClientConnection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet the client, unless TLS is to come before anything else."""
        wire = self._wire = cast("asyncio.Transport", transport)
        sock = wire.get_extra_info("socket")
        if sock is not None and sock.family in {socket.AF_INET, socket.AF_INET6}:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = wire.get_extra_info("peername") or ("", 0)
        connection = ClientConnection(self._clients, cast("Wire", wire), (str(peer[0]), int(peer[1])))
        self.connection = connection
        wire.set_write_buffer_limits(high=connection.stall_at)
        tls = self._clients.options.tls
        self._undecided = tls is not None
        if tls is not None and tls.handshake_first:
            wait = tls.timeout if tls.handshake_first is True else tls.handshake_first
            action = self._too_late if tls.handshake_first is True else self._greet
            self._timer = self._clients.clock.call_later(wait, action)
        else:
            self._greet()

    def data_received(self, data: bytes) -> None:
        """Serve a read, then hold back who outruns the others."""
        connection = self.connection
        assert connection is not None
        if self._undecided and not self._decide(data):
            return
        secure = self._secure
        if secure is not None:
            data = self._decrypt(secure, data)
        if data:
            connection.receive(data)
        if secure is not None and secure.ended:
            connection.close("Client Closed")
        flusher = self._clients.flusher
        if flusher.behind:
            connection.stall(flusher.take_behind())

    def resume_writing(self) -> None:
        """The peer has read what it was behind with."""
        if self.connection is not None:
            self.connection.writable()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self._stop_timer()
        if self.connection is not None:
            self.connection.lost("Client Closed" if exc is None else "Read Error")
            self._clients.flusher.flush()
        self._listener.gone(self)

    def abort(self) -> None:
        """Close now, whatever was not sent."""
        if self._wire is not None:
            self._wire.abort()

    # --- TLS

    def _greet(self) -> None:
        self._stop_timer()
        assert self.connection is not None
        self.connection.open()
        tls = self._clients.options.tls
        if tls is not None and self._secure is None and not self._clients.options.allow_non_tls:
            self._timer = self._clients.clock.call_later(tls.timeout, self._too_late)

    def _decide(self, data: bytes) -> bool:
        """See from the first byte whether the client speaks TLS; False when it must and does not."""
        from .secure import FIRST_BYTE, SecureWire

        self._undecided = False
        connection, options = self.connection, self._clients.options
        assert connection is not None
        assert options.tls is not None
        if data[0] != FIRST_BYTE:
            if options.allow_non_tls and self._greeted:
                self._stop_timer()
                return True
            self._fail("first record does not look like a TLS handshake")
            return False
        context = self._listener.tls_context(options.tls)
        self._secure = SecureWire(connection.wire, context, options.tls.pinned_certs)
        connection.wire = self._secure
        connection.secure = self._secure
        self._stop_timer()
        self._timer = self._clients.clock.call_later(options.tls.timeout, self._too_late)
        return True

    @property
    def _greeted(self) -> bool:
        return self.connection is not None and self.connection.id in self._clients.connections

    def _decrypt(self, secure: SecureWire, data: bytes) -> bytes:
        from .secure import HandshakeError

        before = secure.ready
        try:
            plain = secure.feed(data)
        except HandshakeError as error:
            self._fail(str(error))
            return b""
        if secure.ready and not before:
            self._stop_timer()
            if not self._greeted:
                self._greet()
        return plain

    def _fail(self, text: str) -> None:
        assert self.connection is not None
        self._clients.log.error(f"{self.connection} - TLS handshake error: {text}")
        if self._greeted:
            self.connection.close(_TLS_FAILED)
        else:
            self.abort()

    def _too_late(self) -> None:
        self._timer = None
        if self._secure is None or not self._secure.ready:
            self._fail("TLS handshake timeout")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
