"""GatewayProtocol: the shell of one gateway's socket."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from ..connection.server_protocol import ClusterProtocol

if TYPE_CHECKING:
    from ..config.options import TLSOptions
    from .peer import GatewayContext
    from .remote import GatewayRemote


class GatewayProtocol(ClusterProtocol["GatewayRemote"]):
    """One socket, accepted or dialled."""

    failure = "TLS gateway handshake error"
    _context: GatewayContext

    def _tls(self) -> TLSOptions | None:
        return self._context.gateway.tls if self._remote is None else self._remote.tls

    def _server_name(self, remote: GatewayRemote) -> str:
        host = remote.target.host
        return remote.host_name if _is_number(host) and remote.host_name else host


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
