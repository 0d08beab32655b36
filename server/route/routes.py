"""Routes: all routes of a server, the listener, the addresses to dial, and what peers announce.

Promises one route to each peer, or one in each place of the pool and one for each pinned account: if both
ends dial at the same time, the route remains that the server with the smaller id dialled. `stop` leaves no
socket, task or timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ...protocol.gateway_reply import hash_of
from ...protocol.identifier import new_id
from ...protocol.wire import encode
from ..connection import Listener
from ..connection.addresses import EVERYWHERE, bracketed, dialable
from .connection import RouteConnection
from .peer import RouteContext
from .peer_routes import PeerRoutes, objection, supersedes
from .pools import RoutePools
from .remote import RouteAddress, RouteRemote
from .socket_protocol import RouteProtocol

if TYPE_CHECKING:
    from ..client import Clients
    from ..config.options import ClusterOptions, Options
    from ..connection import ConnectionTransport
    from ..slices import Steps
    from .account_route import AccountRoute
    from .connect_info import RouteInfo

SHUTDOWN = "Server Shutdown"
_NAME = 22  # characters of a generated cluster name
_OWN = ("nonce", "route_pool_idx", "compression")  # fields of INFO that concern one connection
_MOST_LEARNT = 256  # servers that peers announce, and that have not answered yet


class RouteGateways(Protocol):
    """The gateways of this server, which the other servers of the cluster must know of."""

    def known_clusters(self) -> list[bytes]:
        """Return the lines that announce the other clusters to a new server of this one."""

    def routed(self, given: dict[str, Any]) -> None:
        """Take note of an INFO that announces another cluster."""

    def url_added(self, url: str) -> None:
        """Take note of where a server of this cluster accepts gateways."""

    def url_removed(self, url: str) -> None:
        """Take note that it no longer does."""


class Routes(RouteContext):
    """The part of a server that joins it to its cluster.

    peers: the routes to each peer, by its server id.
    remotes: the addresses that this server dials.
    listener: all sockets of routes, accepted or dialled.
    set_leaf_urls: is called with the addresses where other servers accept leafs, and those for WebSocket.
    observers: are called when peers come and go.
    pools: which routes there are, and who uses them.
    gateways: None if this server has none.
    """

    def __init__(self, clients: Clients) -> None:
        super().__init__(clients)
        self.pools = RoutePools(self, self._protocol)
        self.peers, self.remotes = self.pools.peers, self.pools.remotes
        self.observers = self.pools.observers
        self.listener = Listener(self.log)
        self.set_leaf_urls: Callable[[list[str], list[str]], None] = lambda urls, websocket_urls: None
        self.gateways: RouteGateways | None = None
        self._clients = clients
        self._stopping = False
        self._change = asyncio.Event()
        if not self.cluster.name:
            self.documents.dynamic = True
            self.cluster.name = new_id(self.random_bytes, _NAME)

    def connection(
        self, wire: ConnectionTransport, peer: tuple[str, int], remote: RouteRemote | None = None
    ) -> RouteConnection:
        """Return a connection for a socket that was accepted from `peer` or dialled by `remote`.

        peer: (host, port).
        """
        return RouteConnection(self, self, self.pools, wire, peer, remote)

    def _protocol(self, remote: RouteRemote | None = None) -> RouteProtocol:
        return RouteProtocol(self, self.listener, self.connection, remote)

    # --- start and end

    async def start(self) -> None:
        """Listen if there is a port, and dial the others.

        Raises OSError if the address is in use, and TLSConfigError if certificates cannot be used.
        """
        cluster = self.cluster
        self.log.info(f"Cluster name is {self.name}")
        if self.documents.dynamic:
            self.log.warning("Cluster name was dynamically generated, consider setting one")
        if cluster.port is not None:
            if cluster.tls is not None:
                self.listener.tls_context(cluster.tls)
            await self.listener.listen(self._protocol, cluster.host, cluster.port)
            self.documents.port = self.port
            self.log.info(f"Listening for route connections on {cluster.host}:{self.port}")
        for url in cluster.routes:
            self._dial(RouteAddress.parse(url), explicit=True)
        self._advertise_urls()

    async def stop(self) -> None:
        """Close every route and the listener. Clients and leafs keep the addresses of the other servers."""
        self._stopping = True
        await self.listener.stop_accepting()
        tasks = [task for remote in self.pools.stop() if (task := remote.stop()) is not None]
        self.listener.close_all(SHUTDOWN)
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.listener.closed()

    async def wait(self, count: int) -> None:
        """Return when there are all routes to at least `count` peers."""
        while sum(peer.whole(self.pinned) for peer in self.peers.values()) < count:
            self._change.clear()
            await self._change.wait()

    def reloading(self, options: Options) -> Steps[None]:
        """Apply new options in steps: dial new addresses, close routes to removed ones, apply permissions."""
        name, permissions, before = self.name, self.cluster.permissions, self.cluster
        self.take(options)
        self._reconnect(before)
        if self.documents.dynamic and not self.cluster.name:
            self.cluster.name = name
        wanted = [RouteAddress.parse(url) for url in self.cluster.routes]
        for remote in [r for r in self.remotes if r.explicit and r.target not in wanted]:
            remote.stop()
            self.remotes.remove(remote)
            if (peer := self.peers.get(remote.server_id)) is not None:
                self.pools.close(peer)
        known = {remote.target for remote in self.remotes}
        for target in wanted:
            if target not in known:
                self._dial(target, explicit=True)
        for account in list(self.registry.accounts.values()):
            account.forget_plans()
            self.pools.account_made(account)
            yield
        for connection in self.pools.connections:
            connection.follow_authorization()
            for account_route in list(connection.account_routes.values()):
                bound = account_route.account
                if bound is not None and self.registry.get(bound.name) is not bound:
                    account_route.unbind()
                    connection.forget_unused(account_route)
                else:
                    account_route.advertiser.sync()
                    account_route.permit()
                yield
        if self.cluster.permissions != permissions:
            self.send_info()
        self.flusher.flush()

    def _reconnect(self, before: ClusterOptions) -> None:
        """Close routes that are to be made otherwise than `before`: in other numbers, or compressed."""
        now = self.cluster
        if (now.pool_size, now.accounts) != (before.pool_size, before.accounts):
            for peer in list(self.peers.values()):
                self.pools.close(peer)
        elif now.compression != before.compression:
            for connection in self.pools.connections:
                if not connection.follow_compression():
                    connection.close("Client Closed")

    @property
    def port(self) -> int:
        """The listener's port; 0 without a listener."""
        return self.listener.port

    @property
    def url(self) -> str:
        """Where servers connect to, `nats-route://host:port`; "" without a listener."""
        if not self.port:
            return ""
        host = self.cluster.host
        return f"nats-route://{dialable(host)}:{self.port}"

    # --- peers

    def agrees(self, name: str, *, dynamic: bool) -> bool:
        """Return whether a server whose cluster has this name belongs to our cluster.

        A generated name gives way to a configured one, and of two generated ones the smaller to the greater.
        """
        if name == self.name:
            return True
        if not self.documents.dynamic:
            return dynamic  # the peer takes our name
        if not dynamic or self.name < name:
            self.log.info(f"Cluster name updated to {name}")
            self.cluster.name = name
            self.documents.dynamic = dynamic
        return True

    def introduced(self, connection: RouteConnection, info: RouteInfo) -> None:
        """Accept a peer that has sent its INFO, or close its route."""
        remote = connection.remote
        if info.server_id == self.identity.id:
            if remote is not None:
                self.pools.forget(remote)
            connection.close("Duplicate Route")
            return
        if not self.agrees(info.cluster, dynamic=info.cluster_dynamic):
            self.log.error(
                f"{connection} - Rejecting connection, cluster name {info.cluster!r} does not match "
                f"{self.name!r}"
            )
            connection.close("Cluster Name Conflict")
            return
        if remote is None and info.server_name and info.server_name == self.identity.name:
            connection.close("Duplicate Server Name")
            return
        if remote is not None:
            remote.introduced(info.server_id)
        pooled = self.pooled and info.route_pool_size > 0
        text = objection(connection, info, self.pool_size, self.pinned, pooled=pooled)
        if text:
            connection.fail(text, "Protocol Violation")
            return
        peer = self.peers.get(info.server_id)
        if peer is None or (peer.main is None and not connection.pinned and peer.pooled != pooled):
            peer = PeerRoutes(info.server_id, self.pool_size, info.route_pool_size, pooled=pooled)
            self.peers[info.server_id] = peer
        old = peer.find(connection) if peer.place(connection, info) else connection
        if old is not None and not supersedes(connection, old, self.identity.id, info.server_id):
            connection.close("Duplicate Route")
            return
        peer.put(connection, connection.place, connection.pinned)
        if old is not None:
            old.close("Duplicate Route")
        self._joined(connection, info, peer)

    def _joined(self, connection: RouteConnection, info: RouteInfo, peer: PeerRoutes) -> None:
        if connection.pinned:
            self.pools.joining(connection, peer)
        connection.join()
        first = self.pools.joined(connection, peer)
        if first or connection.pinned:
            self._pass_on(connection, info)
        if first:
            self._introduce_clusters(connection, info)
            self._advertise_urls()
            if self.documents.jetstream and info.has_other_jetstream:
                self.log.error(
                    f"Server {info.server_name!r} has JetStream of nats-server, which servers of pyjs cannot "
                    "join: turn JetStream off on one kind, or join two clusters by leaf nodes"
                )
        account = f" for account {connection.pinned!r}" if connection.pinned else ""
        self.log.info(f"{connection} - Registering route to server {info.server_name!r}{account}")
        self._change.set()
        self.flusher.flush()

    def _introduce_clusters(self, connection: RouteConnection, info: RouteInfo) -> None:
        """Tell a new server of the other clusters, and take note of where it accepts gateways."""
        if self.gateways is None:
            return
        if info.gateway_url:
            self.gateways.url_added(info.gateway_url)
        for line in self.gateways.known_clusters():
            connection.send_line(line)

    def _pass_on(self, connection: RouteConnection, info: RouteInfo) -> None:
        """Announce a new peer and its address to the others, and each of its routes for a pinned account."""
        url = info.ip or f"nats-route://{_host(info.host, connection.peer[0])}:{info.port}/"
        document = {key: value for key, value in info.given.items() if key not in _OWN} | {"ip": url}
        if not info.port and not info.ip:
            return
        if connection.pinned:
            document["route_account"] = connection.pinned
        for server_id, peer in self.peers.items():
            if server_id != info.server_id and (peer.pooled or not connection.pinned):
                peer.send_line(encode.info(document))

    def learnt(self, info: RouteInfo) -> None:
        """Dial a server that a peer announces, unless it is known; or take note of another cluster."""
        if info.gateway:
            self._cluster_learnt(info)
            return
        known = info.server_id == self.identity.id or self.pools.has(info.server_id)
        if known or not info.ip or info.route_account:
            return
        if sum(not (remote.explicit or remote.server_id) for remote in self.remotes) >= _MOST_LEARNT:
            return
        try:
            target = RouteAddress.parse(info.ip)
        except ValueError:
            return
        if any(
            remote.target.host == target.host and remote.target.port == target.port for remote in self.remotes
        ):
            return
        self._dial(target, explicit=False)

    def _cluster_learnt(self, info: RouteInfo) -> None:
        if self.gateways is not None:
            self.gateways.routed(info.given)
        else:
            self.log.error(
                f'Received information about gateway "{info.gateway}", but gateway is not configured'
            )

    def tell_all(self, line: bytes) -> None:
        """Send a line to every peer."""
        for peer in self.peers.values():
            peer.send_line(line)
        self.flusher.schedule()

    def towards(self, server: bytes, account: bytes) -> AccountRoute | None:
        """Return the route of an account to the server with that hash, None if there is none."""
        for server_id, peer in self.peers.items():
            if hash_of(server_id).encode() == server:
                line = peer.line(account.decode("utf-8", "surrogateescape"), self.pinned)
                return None if line is None else line.account_routes.get(account)
        return None

    def lame_duck(self) -> None:
        """Announce that this server is going away, so that others no longer send clients here."""
        self.send_info()
        self.flusher.flush()

    def send_info(self) -> None:
        """Send the INFO of this server to all peers, because it has changed."""
        info = self.documents.info()
        for peer in self.peers.values():
            peer.send_line(info)

    def renewed(self, connection: RouteConnection, before: RouteInfo) -> None:
        """Take note of a change in a peer's INFO."""
        assert connection.info is not None
        peer = self.peers.get(connection.info.server_id, ())
        for each in peer:
            each.info = connection.info
        self._advertise_urls()
        if connection.info.given.get("export") != before.given.get("export"):
            for each in peer:
                each.pause_during(each.advertising_again())

    def closed(self, connection: RouteConnection, reason: str) -> None:
        """Forget a route that is closed."""
        del reason
        info = connection.info
        if info is not None and self.pools.left(connection, info):
            if self.gateways is not None and info.gateway_url and not self.pools.has(info.server_id):
                self.gateways.url_removed(info.gateway_url)
            self._advertise_urls()
            for remote in list(self.remotes):
                remote.peer_gone(info.server_id)

    def _dial(self, target: RouteAddress, *, explicit: bool) -> None:
        remote = RouteRemote(self, self.pools, self._protocol, target, explicit=explicit)
        self.remotes.append(remote)
        remote.start()

    def _advertise_urls(self) -> None:
        """Advertise to clients and leafs the addresses of all servers of the cluster."""
        if self._stopping:
            return
        known = self.pools.infos()
        leaf_urls = [url for info in known for url in info.leafnode_urls]
        self.set_leaf_urls(leaf_urls, [url for info in known for url in info.ws_connect_urls])
        if self.cluster.no_advertise:
            return
        self._advertise_websocket(known)
        others = self.other_urls()
        if not others and not self._clients.info.connect_urls:
            return
        own = [] if self._clients.info.lame_duck else self.documents.client_urls()
        self._clients.set_connect_urls([*own, *(url for url in others if url not in own)])

    def _advertise_websocket(self, known: list[RouteInfo]) -> None:
        """Tell WebSocket clients where the servers of the cluster listen for them."""
        others = [url for info in known if not info.ldm for url in info.ws_connect_urls]
        clients = self._clients
        own = [] if clients.info.lame_duck else clients.info.own_websocket_urls
        clients.set_websocket_urls(list(dict.fromkeys([*own, *others])) if others else [])

    def other_urls(self) -> list[str]:
        """Return where clients may connect to other servers, [] if that is not announced."""
        if self.cluster.no_advertise:
            return []
        infos = [info for info in self.pools.infos() if not info.ldm]
        return list(dict.fromkeys(url for info in infos for url in info.connect_urls))


def _host(announced: str, seen: str) -> str:
    return bracketed(seen if announced in EVERYWHERE else announced)
