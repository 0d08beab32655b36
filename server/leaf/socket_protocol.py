"""LeafProtocol: the shell of one leaf socket, which decides when TLS begins.

TLS begins after INFO, which is sent in the clear, or before everything else with `handshake_first`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.errors import PeerError
from ..connection.server_protocol import ServerProtocol
from .connect import HubInfo

if TYPE_CHECKING:
    from ..connection import Connection, ConnectionContext
    from ..connection.server_protocol import Connect
    from ..connection.socket_protocol import Sockets
    from .remote import LeafRemote

_LONGEST_INFO = 1 << 16


class LeafProtocol(ServerProtocol["LeafRemote"]):
    """One socket, accepted, or dialled by `remote`. `connect` makes its connection."""

    failure = "TLS leafnode handshake error"

    def __init__(
        self, context: ConnectionContext, sockets: Sockets, connect: Connect, remote: LeafRemote | None
    ) -> None:
        super().__init__(context, sockets, connect, remote)
        self._tls = context.options.leafnodes.tls if remote is None else remote.options.tls
        self._early = b""

    def _begin(self, connection: Connection) -> None:
        """Open the connection, after TLS if that comes first."""
        if self._first():
            self._begin_tls(connection)
            return
        self._undecided = self._remote is not None
        connection.open()
        if self._remote is None and self._tls is not None:
            self._begin_tls(connection)

    def _first(self) -> bool:
        """Return whether TLS comes before INFO."""
        return self._tls is not None and bool(self._tls.handshake_first)

    def _decide(self, connection: Connection, data: bytes) -> bytes:
        """Find out from the hub's first line whether it wants TLS. Return what to serve."""
        data = self._early + data
        line, newline, rest = data.partition(b"\r\n")
        if not newline and len(data) < _LONGEST_INFO:
            self._early = data
            return b""
        self._early = b""
        self._undecided = False
        assert self._remote is not None
        if _asks_for_tls(line):
            self._remote.hub_wants_tls()
        if not self._remote.wants_tls:
            return data
        # CONNECT, the answer to INFO, goes to the secure wire, which keeps it until the handshake is done.
        self._begin_tls(connection)
        connection.receive(line + newline)
        return rest

    def _begin_tls(self, connection: Connection) -> None:
        from ..connection.secure import SecureWire

        if self._remote is None:
            tls = self._tls
            assert tls is not None
            context = self._sockets.tls_context(tls)
            secure = SecureWire(connection.wire, context, tls.pinned_certs)
            self._encrypt(connection, secure, tls.timeout, tls.ocsp_peer)
        else:
            secure, timeout = self._remote.secure_wire(connection.wire)
            self._encrypt(connection, secure, timeout)
            self._decrypt(connection, secure, b"")

    def _secured(self, connection: Connection) -> None:
        if self._first():
            connection.open()


def _asks_for_tls(line: bytes) -> bool:
    try:
        return line[:5].upper() == b"INFO " and HubInfo.parse(line[5:]).tls_required
    except PeerError:
        return False
