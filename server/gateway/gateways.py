"""Gateways: all gateway connections of a server, the listener, and the other clusters that are known.

Promises one outbound connection to each other cluster, whoever announced it. `stop` leaves no socket, task or
timer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cluster.bootstrap_peers import OtherCluster, among_clusters
from ..connection import Listener
from ..slices import Slices, paced
from .connect_info import announced
from .inbound import InboundGateway
from .outbound import OutboundGateway
from .peer import GatewayContext
from .recent_interest import RecentInterests
from .remotes import GatewayRemotes
from .socket_protocol import GatewayProtocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..accounts import Account
    from ..client import Clients
    from ..cluster.bootstrap import BootstrapExpect
    from ..config.options import Options
    from ..connection import Connection, ConnectionTransport
    from ..route import Routes
    from ..slices import Steps
    from .connect_info import GatewayInfo
    from .recent_interest import RecentInterest
    from .remote import GatewayRemote

SHUTDOWN = "Server Shutdown"


class Gateways(GatewayContext):
    """The part of a server that joins its cluster to others.

    outbound: the connections to other clusters, by their names.
    inbound: the connections from servers of other clusters, by their ids.
    remotes: the other clusters that are known.
    listener: all sockets of gateways, accepted or dialled.
    tell_routes: sends a line to the other servers of this cluster.
    observers: are called when there is a new connection.
    """

    def __init__(self, clients: Clients) -> None:
        super().__init__(clients)
        self.outbound: dict[str, OutboundGateway] = {}
        self.inbound: dict[int, InboundGateway] = {}
        self.remotes = GatewayRemotes(self, self._protocol, self.inbound)
        self.listener = Listener(self.log)
        self.tell_routes: Callable[[bytes], None] = lambda line: None
        self.observers: list[Callable[[], None]] = []
        self._recent = RecentInterests(self.clock)
        self._other_jetstream: set[str] = set()  # clusters that have JetStream of nats-server
        self._stopping = False

    def connection(
        self, wire: ConnectionTransport, peer: tuple[str, int], remote: GatewayRemote | None = None
    ) -> Connection:
        """Return a connection for a socket that was accepted from `peer` or dialled by `remote`.

        peer: (host, port).
        """
        if remote is None:
            return InboundGateway(self, self, wire, peer)
        return OutboundGateway(self, self, wire, peer, remote)

    def _protocol(self, remote: GatewayRemote | None = None) -> GatewayProtocol:
        return GatewayProtocol(self, self.listener, self.connection, remote)

    # --- start and end

    async def start(self) -> None:
        """Listen, and dial the configured clusters.

        Raises OSError if the address is in use, and TLSConfigError if certificates cannot be used.
        """
        gateway = self.gateway
        for account in list(self.registry.accounts.values()):
            self._recent.of(account)
        self.log.info(f"Gateway name is {self.name}")
        if gateway.tls is not None:
            self.listener.tls_context(gateway.tls)
        await self.listener.listen(self._protocol, gateway.host, gateway.port or 0)
        self.documents.listens(self.port)
        self.log.info(f"Listening for gateways connections on {gateway.host}:{self.port}")
        self.log.info(f'Address for gateway "{self.name}" is {self.documents.url}')
        self.remotes.start()

    async def stop(self) -> None:
        """Close every connection and the listener."""
        self._stopping = True
        await self.listener.stop_accepting()
        await self.remotes.stop()
        self.listener.close_all(SHUTDOWN)
        await self.listener.closed()
        self._recent.stop()

    @property
    def port(self) -> int:
        """The listener's port; 0 before it listens."""
        return self.listener.port

    def reloading(self, options: Options) -> Steps[None]:
        """Apply new options in steps: TLS, and what has become of accounts."""
        self.take(options)
        self.remotes.take_tls()
        for connection in [*self.inbound.values(), *self.outbound.values()]:
            connection.follow_authorization()
        for account in list(self.registry.accounts.values()):
            self.account_made(account)
            yield
        for name in self._recent.forget_ended(self.registry):
            self._ended(name)
            yield
        self.flusher.flush()

    # --- accounts

    def account_made(self, account: Account) -> None:
        """Share a new account with every other cluster."""
        recent = self._recent.of(account)
        for inbound in self.inbound.values():
            inbound.share(account)
        for outbound in self.outbound.values():
            outbound.share(account.name.encode()).bind(account, recent)

    def account(self, name: bytes) -> tuple[Account, RecentInterest] | None:
        """See OutboundObserver."""
        account = self.registry.get(name.decode("utf-8", "surrogateescape"))
        return None if account is None else (account, self._recent.of(account))

    def _ended(self, name: str) -> None:
        for inbound in self.inbound.values():
            inbound.forget(name)
        for outbound in self.outbound.values():
            part = outbound.accounts.get(name.encode())
            if part is not None:
                part.unbind()
                outbound.forget_unused(part)

    # --- inbound connections

    def admits(self, cluster: str) -> bool:
        """See InboundObserver."""
        return not self.gateway.reject_unknown_cluster or cluster in self.remotes.known

    def joined(self, connection: InboundGateway) -> None:
        """See InboundObserver."""
        info = connection.info
        assert info is not None
        if self._is_duplicate(connection, info):
            return
        self.inbound[connection.id] = connection
        connection.hide_api(hidden=connection.name in self._other_jetstream)
        peer = f'"{connection.name}" ({info.server_id})'
        self.log.info(f"{connection} - Inbound gateway connection from {peer} registered")
        self.remotes.learn(connection.name, info.gateway_urls)
        for name, remote in self.remotes.known.items():
            if name != connection.name and remote.urls:
                connection.send_line(self.documents.gossip(name, remote.urls))
        Slices(self.turns, paced(connection.sharing()), lambda _: None)
        self._came()

    def left(self, connection: InboundGateway) -> None:
        """See InboundObserver."""
        self.inbound.pop(connection.id, None)

    # --- outbound connections

    def reached(self, connection: OutboundGateway, info: GatewayInfo) -> bool:
        """See OutboundObserver."""
        if self._is_duplicate(connection, info):
            return False
        if connection.name in self.outbound:
            connection.close("Duplicate Gateway")
            return False
        connection.remote.succeeded()
        self.outbound[connection.name] = connection
        self.renewed(connection, info)
        Slices(self.turns, paced(self._sharing(connection)), lambda _: None)
        self._came()
        return True

    def _sharing(self, connection: OutboundGateway) -> Steps[None]:
        for account in list(self.registry.accounts.values()):
            if connection.closed_reason:
                return
            if self.registry.get(account.name) is account:
                connection.share(account.name.encode()).bind(account, self._recent.of(account))
            yield

    def renewed(self, connection: OutboundGateway, info: GatewayInfo) -> None:
        """See OutboundObserver."""
        if info.gateway_urls:
            connection.remote.replace_learnt(info.gateway_urls)
        self.tell_routes(self.documents.gossip(connection.name, info.gateway_urls, over_route=True))

    def learnt(self, name: str, urls: list[str]) -> None:
        """See OutboundObserver."""
        if self.admits(name):
            self.remotes.learn(name, urls)

    def lost(self, connection: OutboundGateway) -> None:
        """See OutboundObserver."""
        if self.outbound.get(connection.name) is connection:
            del self.outbound[connection.name]
            self._hide_api(connection.name, hidden=False)

    # --- JetStream

    def has_jetstream(self, name: str) -> None:
        """See OutboundObserver. Servers of both kinds cannot be one JetStream: each keeps to its own."""
        if name not in self._other_jetstream:
            if self.documents.jetstream:
                self.log.error(
                    f'Gateway "{name}" has JetStream of nats-server, which servers of pyjs cannot join: '
                    "requests of its clients are not answered by this cluster"
                )
            self._hide_api(name, hidden=True)

    def _hide_api(self, name: str, *, hidden: bool) -> None:
        (self._other_jetstream.add if hidden else self._other_jetstream.discard)(name)
        for connection in self.inbound.values():
            if connection.name == name:
                connection.hide_api(hidden=hidden)

    def nearest(self) -> list[str]:
        """Return the names of the other clusters, the nearest one first."""
        return sorted(self.outbound, key=lambda name: self.outbound[name].ping_timer.rtt)

    def bootstrap_with(self, own: BootstrapExpect) -> BootstrapExpect:
        """Return what the bootstrap of the meta group must wait for. own: the same within this cluster."""
        others = []
        for name, remote in self.remotes.known.items():
            if remote.explicit:
                link = self.outbound.get(name)
                info = None if link is None else link.info
                server_id, jetstream = ("", False) if info is None else (info.server_id, info.jetstream)
                others.append(OtherCluster(name, tuple(remote.urls), server_id, jetstream))
        return among_clusters(own, self.name, others)

    # --- the servers of this cluster

    def join(self, routes: Routes) -> None:
        """Have the routes carry what the servers of this cluster must know of gateways."""
        routes.documents.gateway_url = self.documents.url
        routes.gateway_hash = self.cluster_hash
        routes.gateways = self
        self.tell_routes = routes.tell_all
        self.towards = routes.towards

    def routed(self, given: dict[str, Any]) -> None:
        """Take note of a cluster that another server of this one has announced."""
        name, urls = announced(given)
        if name:
            self.remotes.learn(name, urls)

    def known_clusters(self) -> list[bytes]:
        """Return what a new server of this cluster must know: the clusters that this one is connected to."""
        return [
            self.documents.gossip(name, connection.remote.urls, over_route=True)
            for name, connection in self.outbound.items()
        ]

    def url_added(self, url: str) -> None:
        """Take note of where another server of this cluster accepts gateways."""
        if self.documents.add_url(url):
            self._tell_peers()

    def url_removed(self, url: str) -> None:
        """Take note that another server of this cluster is gone."""
        if not self._stopping and self.documents.remove_url(url):
            self._tell_peers()

    def _tell_peers(self) -> None:
        info = self.documents.info()
        for connection in self.inbound.values():
            connection.send_line(info)
        self.flusher.schedule()

    def _is_duplicate(self, connection: InboundGateway | OutboundGateway, info: GatewayInfo) -> bool:
        """Return whether a peer has the name of this server, and close its connection."""
        if info.server_name != self.identity.name:
            return False
        self.log.error(f'{connection} - Remote server has a duplicate name: "{info.server_name}"')
        connection.close("Duplicate Server Name")
        return True

    def _came(self) -> None:
        for observer in self.observers:
            observer()
        self.flusher.schedule()
