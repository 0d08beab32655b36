"""What a remote wants of a hub over WebSocket, and of the proxy in between. Loaded for such remotes only."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..config.options import TLSOptions
from ..connection.addresses import bracketed
from ..websocket.request import LEAF_PATH
from ..websocket.solicited import Solicitation, SolicitedWebSocket
from .remote_urls import proxy_address

if TYPE_CHECKING:
    from ..config.options import ProxyOptions
    from ..connection import ConnectionContext, ConnectionTransport
    from ..connection.secure import SecureWire
    from ..connection.server_protocol import Connect
    from ..connection.socket_protocol import Sockets
    from .remote import LeafRemote


def solicited(
    context: ConnectionContext, sockets: Sockets, connect: Connect, remote: LeafRemote
) -> SolicitedWebSocket:
    """Return the protocol of a socket that `remote` dials. `connect` makes its connection."""
    options, target = remote.options, remote.target
    assert target is not None
    proxy = options.proxy
    timeout = options.first_info_timeout
    secure = remote.wants_tls
    if secure:
        timeout += (options.tls or TLSOptions()).timeout
    if proxy is not None:
        timeout += remote.dial_timeout
    wanted = Solicitation(
        f"{bracketed(target.host)}:{target.port}",
        f"{target.path.rstrip('/')}{LEAF_PATH}",
        compress=options.ws_compression,
        no_masking=options.ws_no_masking,
        timeout=timeout,
        secure=(lambda wire: remote.secure_wire(wire)[0]) if secure else None,
        proxied=proxy is not None,
        proxy_login=(proxy.username, proxy.password) if proxy is not None and proxy.username else None,
        proxy_secure=partial(_secure_proxy, proxy) if proxy and proxy.url.startswith("https:") else None,
    )
    return SolicitedWebSocket(
        context,
        sockets,
        wanted,
        lambda wire, peer: connect(wire, peer, remote),
        remote.refused,
        remote.lost,
    )


def _secure_proxy(proxy: ProxyOptions, wire: ConnectionTransport) -> SecureWire:
    from ..config.tls import client_context
    from ..connection.secure import SecureWire

    return SecureWire(wire, client_context(TLSOptions()), server_hostname=proxy_address(proxy.url)[0])
