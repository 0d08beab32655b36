"""The asyncio shell of one leaf socket: bytes between the transport and `LeafConnection`, through TLS when
asked.

TLS begins after INFO, which is sent in the clear, or first of all with `handshake_first`. Thin: every
decision about the protocol is the connection's.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, cast

from ...protocol.errors import PeerError
from .connect import HubInfo
from .connection import LeafConnection

if TYPE_CHECKING:
    from ..client.outbound import Wire
    from ..client.secure import SecureWire
    from ..clock import Timer
    from .leafs import Leafs
    from .remote import Remote

_TLS_FAILED = "TLS Handshake Failure"
_LONGEST_INFO = 1 << 16


class LeafProtocol(asyncio.Protocol):
    """One socket, accepted, or dialled by `remote`."""

    def __init__(self, leafs: Leafs, remote: Remote | None = None) -> None:
        self._leafs = leafs
        self._remote = remote
        self._transport: asyncio.Transport | None = None
        self._secure: SecureWire | None = None
        self._timer: Timer | None = None
        self._greeted = False
        self._early = b""
        self.connection: LeafConnection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, with TLS if that is to come before anything else."""
        self._transport = cast("asyncio.Transport", transport)
        sock = self._transport.get_extra_info("socket")
        if sock is not None and sock.family in {socket.AF_INET, socket.AF_INET6}:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._leafs.socket_opened(self)
        peer = self._transport.get_extra_info("peername") or ("", 0)
        wire = cast("Wire", transport)
        connection = LeafConnection(self._leafs, wire, (str(peer[0]), int(peer[1])), self._remote)
        self.connection = connection
        self._transport.set_write_buffer_limits(high=connection.stall_at)
        if self._first():
            self._begin_tls()
        else:
            self._open()

    def data_received(self, data: bytes) -> None:
        """Serve a read, then hold back who outruns the others."""
        connection = self.connection
        assert connection is not None
        if self._secure is None and self._remote is not None and not self._greeted:
            data = self._upgrade(connection, data)
        if self._secure is not None:
            data = self._decrypt(self._secure, data)
        if not data:
            return
        connection.receive(data)
        flusher = self._leafs.flusher
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
            self._leafs.flusher.flush()
        self._leafs.socket_closed(self)
        if self._remote is not None:
            self._remote.lost(self)

    def close(self, reason: str) -> None:
        """Close after what is queued was sent."""
        if self.connection is not None:
            self.connection.close(reason)

    def abort(self) -> None:
        """Close now, whatever was not sent."""
        if self._transport is not None:
            self._transport.abort()

    # --- TLS

    def _first(self) -> bool:
        """Whether TLS comes before INFO."""
        tls = self._leafs.options.leafnodes.tls if self._remote is None else self._remote.options.tls
        return tls is not None and bool(tls.handshake_first)

    def _open(self) -> None:
        assert self.connection is not None
        self.connection.open()
        if self._remote is None:
            self._greeted = True
            if self._leafs.options.leafnodes.tls is not None and self._secure is None:
                self._begin_tls()

    def _upgrade(self, connection: LeafConnection, data: bytes) -> bytes:
        """Look at the hub's first line: does it want TLS? Gives what is to be served."""
        data = self._early + data
        line, newline, rest = data.partition(b"\r\n")
        if not newline and len(data) < _LONGEST_INFO:
            self._early = data
            return b""
        self._early = b""
        self._greeted = True
        assert self._remote is not None
        if not (self._remote.wants_tls or _asks_for_tls(line)):
            return data
        # CONNECT, the answer to INFO, is written to the secure wire and waits there for the handshake.
        self._begin_tls()
        connection.receive(line + newline)
        return rest

    def _begin_tls(self) -> None:
        from ..client.secure import SecureWire

        connection = self.connection
        assert connection is not None
        if self._remote is None:
            tls = self._leafs.options.leafnodes.tls
            assert tls is not None
            self._secure = SecureWire(connection.wire, self._leafs.server_context(tls), tls.pinned_certs)
            timeout = tls.timeout
        else:
            self._secure, timeout = self._remote.secure_wire(connection.wire)
        connection.wire = self._secure
        self._timer = self._leafs.clock.call_later(timeout, self._too_late)
        if self._remote is not None:
            self._decrypt(self._secure, b"")

    def _decrypt(self, secure: SecureWire, data: bytes) -> bytes:
        from ..client.secure import HandshakeError

        before = secure.ready
        try:
            plain = secure.feed(data)
        except HandshakeError as error:
            self._fail(str(error))
            return b""
        if secure.ready and not before:
            self._stop_timer()
            if self._first():
                self._greeted = True
                self._open()
        return plain

    def _fail(self, text: str) -> None:
        assert self.connection is not None
        self._leafs.log.error(f"{self.connection} - TLS leafnode handshake error: {text}")
        self.connection.close(_TLS_FAILED)
        self.abort()

    def _too_late(self) -> None:
        self._timer = None
        self._fail("timeout")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _asks_for_tls(line: bytes) -> bool:
    try:
        return line[:5].upper() == b"INFO " and HubInfo.parse(line[5:]).tls_required
    except PeerError:
        return False
