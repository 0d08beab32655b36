"""RoutePeer is one route as its parts see it, RouteContext what all routes share.

Neither knows the parts, or the addresses that this server dials: `RouteConnection` makes the parts, and
`Routes` the connections.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ...protocol.wire.route import RouteParser
from ..accounts.permissions import Permissions
from ..accounts.subscription import ConnectionKind
from ..clock import SECOND
from ..connection.cluster_connection import REFUSED, ClusterConnection, PeerContext
from ..slices import Slices, Steps, paced
from .info import RouteDocuments

if TYPE_CHECKING:
    from ..client.peer import ClientContext
    from ..config.options import ClusterOptions, CompressionOptions, Options, PeerAuthorization, TLSOptions
    from ..connection import ConnectionTransport
    from ..connection.secure import TLSState
    from .connect_info import RouteConnect, RouteInfo

_SLOWEST_PING = 30 * SECOND
_POOL_SIZE = 3  # if the option is 0
_MOST_PAYLOAD = 64 << 20


class RouteContext(PeerContext):
    """What routes share: besides what any connections do, what a peer is told and what it may send.

    options: with the ping options of routes in place of those of clients.
    cluster: the part of the options for clusters.
    documents: INFO and CONNECT of this server.
    also_pinned: accounts that a peer has pinned since, by a reload.
    wanted: is called with the name of an account that does not exist here, when a peer subscribes in it.
    gateway_hash: of the name of this cluster, if it has gateways; else b"".
    """

    def __init__(self, clients: ClientContext) -> None:
        """`clients` is what the clients of this server share."""
        super().__init__(clients)
        self.documents = RouteDocuments(self.options, self.identity, clients.info)
        self.also_pinned: set[str] = set()
        self.wanted: Callable[[str], None] = lambda name: None
        self.gateway_hash = b""
        self.take(clients.options)

    def take(self, options: Options) -> None:
        """Apply new options."""
        assert options.cluster is not None
        self.cluster: ClusterOptions = options.cluster
        self._verify_always()
        interval = min(self.cluster.ping_interval or _SLOWEST_PING, options.ping_interval)
        self.options = self.documents.options = replace(
            options, ping_interval=interval, ping_max=self.cluster.ping_max or options.ping_max
        )
        given = self.cluster.permissions
        self._permissions = None if given is None else Permissions(given)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.cluster.name

    @property
    def pooled(self) -> bool:
        """Whether this server has a pool of connections to each peer."""
        return self.cluster.pool_size >= 0

    @property
    def pool_size(self) -> int:
        """How many connections this server has to each peer, besides those of pinned accounts."""
        return max(1, self.cluster.pool_size or _POOL_SIZE)

    @property
    def pinned(self) -> list[str]:
        """The accounts that get connections of their own. The system account is always among them."""
        if not self.pooled:
            return []
        system = self.registry.system
        own = [*self.cluster.accounts, *([system.name] if system is not None else [])]
        return list(dict.fromkeys([*own, *self.also_pinned]))

    @property
    def authorization(self) -> PeerAuthorization | None:
        """See PeerContext."""
        return self.cluster.authorization

    @property
    def tls(self) -> TLSOptions | None:
        """See PeerContext."""
        return self.cluster.tls

    @property
    def known_urls(self) -> list[str]:
        """See PeerContext."""
        return self.cluster.routes

    def refusal(self, given: RouteConnect, secure: TLSState | None) -> tuple[str, str] | None:
        """Return why a peer that sends this CONNECT may not join, as text and reason; None if it may."""
        if given.lang:
            return "attempted to connect to route port", "Incorrect Port"
        if given.gateway:
            text = f'Rejecting connection from gateway "{given.gateway}" on the Route port'
            return text, "Wrong Gateway"
        if self.authorizes(given.user, given.password, secure):
            return None
        return "Authorization Violation", REFUSED

    def imports(self, subject: str) -> bool:
        """Return whether this server may receive `subject` from its peers."""
        return self._permissions is None or self._permissions.may_publish(subject)

    def exports(self, subject: str) -> bool:
        """Return whether peers may receive `subject` from this server."""
        return self._permissions is None or self._permissions.may_subscribe(subject)


class RoutePeer(ClusterConnection):
    """What is known of the server at the other end, and how to answer it.

    info: its INFO; None until it has come.
    headers: whether it accepts headers.
    peer_lnoc: whether it accepts the cluster of a leaf with the leaf's interest.
    peer_lnocu: whether it also accepts it with the end of that interest.
    """

    kind = ConnectionKind.ROUTER
    number = kind.value
    tag = "rid"
    description: ClassVar = {"kind": "Router"}
    context: RouteContext
    parser: RouteParser

    def __init__(self, context: RouteContext, wire: ConnectionTransport, peer: tuple[str, int]) -> None:
        write_deadline = context.cluster.write_deadline or context.options.write_deadline
        super().__init__(context, wire, peer, write_deadline)
        self.retries = context.cluster.write_timeout != "close"
        self.info: RouteInfo | None = None
        self.peer_lnoc = self.peer_lnocu = False
        # The peer has checked its own max_payload, which may be as large as any server's.
        self.parser = RouteParser(context.options.max_control_line, _MOST_PAYLOAD)

    @property
    def compression_options(self) -> CompressionOptions:
        """See `ServerConnection`."""
        return self.context.cluster.compression

    def serves(self, account: bytes) -> bool:
        """Return whether the account of this name uses this connection."""
        raise NotImplementedError

    def pause_during(self, steps: Steps[None]) -> None:
        """Do the steps in slices, the first now, and serve nothing that the peer sends before they are done.

        They must end when the connection is closed.
        """
        ended = paused = False

        def done(_: None) -> None:
            nonlocal ended
            ended = True
            if paused:
                self.resume()

        Slices(self.context.turns, paced(steps), done)
        if not ended:
            paused = True
            self.pause()

    # --- permissions: import is what we may receive from peers, export is what they may receive from us

    def may_subscribe(self, subject: str) -> bool:
        """Return whether interest in `subject` may be announced to the peer."""
        return self.context.imports(subject)

    def may_send(self, subject: str) -> bool:
        """Return whether a message on `subject` may go to the peer."""
        return self.context.exports(subject)

    def may_take(self, subject: str) -> bool:
        """Return whether the peer's interest in `subject` is accepted."""
        return self.context.exports(subject)
