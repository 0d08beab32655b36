"""GatewayPeer is one gateway connection as its parts see it, GatewayContext what all of them share.

Neither knows the parts, or the clusters that this server dials: the connections make the parts, and
`Gateways` the connections.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ...protocol.errors import PeerError
from ...protocol.gateway_reply import hash_of, way_to
from ...protocol.wire import encode
from ...protocol.wire.gateway import GatewayParser
from ...protocol.wire.ops import ERR, INFO, PING, PONG, VIOLATION, Op
from ..accounts.subscription import ConnectionKind
from ..clock import SECOND
from ..config.options import CompressionOptions
from ..connection.cluster_connection import ClusterConnection, PeerContext
from ..connection.compression import NOT_SUPPORTED
from ..connection.ping_timer import PingTimer
from .connect_info import GatewayInfo
from .info import GatewayDocuments

if TYPE_CHECKING:
    from ..accounts.subscription import MessageEndpoint
    from ..client.peer import ClientContext
    from ..config.options import GatewayOptions, Options, PeerAuthorization, TLSOptions
    from ..connection import ConnectionTransport

_SLOWEST_PING = 15 * SECOND
_FIRST_PING = SECOND
_MOST_PAYLOAD = 64 << 20


class GatewayContext(PeerContext):
    """What gateway connections share: besides what any connections do, what a peer is told.

    options: with the ping interval of gateways in place of that of clients.
    gateway: the part of the options for gateways.
    documents: INFO and CONNECT of this server.
    way: what replies carry before them on their way back to this server.
    cluster_hash, server_hash: the parts of it.
    towards: returns this server's route to another server of the cluster, for an account; None if there is
        none. Its arguments are the hash of that server, and the account's name.
    """

    def __init__(self, clients: ClientContext) -> None:
        """`clients` is what the clients of this server share."""
        super().__init__(clients)
        self.documents = GatewayDocuments(self.options, self.identity, clients.info)
        self.towards: Callable[[bytes, bytes], MessageEndpoint | None] = lambda server, account: None
        self.take(clients.options)
        self.way = way_to(self.name, self.identity.id)
        self.cluster_hash = hash_of(self.name).encode()
        self.server_hash = hash_of(self.identity.id).encode()

    def take(self, options: Options) -> None:
        """Apply new options."""
        assert options.gateway is not None
        self.gateway: GatewayOptions = options.gateway
        self._verify_always()
        interval = min(_SLOWEST_PING, options.ping_interval)
        self.options = self.documents.options = replace(options, ping_interval=interval)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.gateway.name

    @property
    def authorization(self) -> PeerAuthorization | None:
        """See PeerContext."""
        return self.gateway.authorization

    @property
    def tls(self) -> TLSOptions | None:
        """See PeerContext."""
        return self.gateway.tls

    @property
    def known_urls(self) -> list[str]:
        """See PeerContext."""
        return [url for other in self.gateway.gateways for url in other.urls]


class GatewayPeer(ClusterConnection):
    """What is known of the server at the other end, and what both directions have in common.

    name: the name of its cluster; "" while unknown.
    info: its INFO; None until it has come.
    headers: whether it accepts headers.
    """

    kind = ConnectionKind.GATEWAY
    number = kind.value
    tag = "gid"
    description: ClassVar = {"kind": "Gateway"}
    context: GatewayContext
    parser: GatewayParser

    def __init__(self, context: GatewayContext, wire: ConnectionTransport, peer: tuple[str, int]) -> None:
        write_deadline = context.gateway.write_deadline or context.options.write_deadline
        super().__init__(context, wire, peer, write_deadline)
        self.retries = context.gateway.write_timeout != "close"
        self.name = ""
        self.info: GatewayInfo | None = None
        # The peer has checked its own max_payload, which may be as large as any server's.
        self.parser = GatewayParser(context.options.max_control_line, _MOST_PAYLOAD)
        self.ping_timer = PingTimer(self, context, _FIRST_PING, always=True)

    @property
    def compression_options(self) -> CompressionOptions:
        """See `ServerConnection`. Gateways are not compressed, nor are nats-server's."""
        return CompressionOptions(NOT_SUPPORTED)

    @property
    def cluster_hash(self) -> str:
        """The hash of the name of its cluster."""
        return hash_of(self.name)

    # --- what each direction defines

    def introduced(self, info: GatewayInfo) -> None:
        """Serve the first INFO."""
        raise NotImplementedError

    def informed(self, info: GatewayInfo) -> None:
        """Serve any later INFO."""
        raise NotImplementedError

    # --- both directions

    def serve_control(self, operation: Op) -> None:
        """Serve an operation that both ends may send."""
        code = operation[0]
        if code == PING:
            self.send_line(encode.PONG)
        elif code == PONG:
            self.ping_timer.answered()
        elif code == INFO:
            self._info(operation[1])
        elif code == VIOLATION:
            self._broken(operation[1])
        elif code == ERR:
            text = operation[1].decode("utf-8", "replace").strip("'")
            self.context.log.error(f"{self} - Gateway Error '{text}'")
            self.close("Protocol Violation")

    def _info(self, raw: bytes) -> None:
        try:
            info = GatewayInfo.parse(raw)
        except PeerError as peer_error:
            self.broke_protocol(peer_error.reason)
            return
        if self.info is not None:
            self.informed(info)
            return
        self.info = info
        self.introduced(info)
