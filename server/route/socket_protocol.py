"""RouteProtocol: the shell of one route's socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..connection.server_protocol import ClusterProtocol

if TYPE_CHECKING:
    from ..config.options import TLSOptions
    from .peer import RouteContext
    from .remote import RouteRemote


class RouteProtocol(ClusterProtocol["RouteRemote"]):
    """One socket, accepted or dialled."""

    failure = "TLS route handshake error"
    _context: RouteContext

    def _tls(self) -> TLSOptions | None:
        return self._context.cluster.tls

    def _server_name(self, remote: RouteRemote) -> str:
        return remote.target.host
