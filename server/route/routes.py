"""All routes of a server: the listener, whom it dials, who its peers are, and what they announce of others.

Promises one route to each peer: of two that were dialled at the same time from both ends, the one stays that
the server with the smaller id dialled. `stop` leaves no socket, task or timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ...protocol.identifier import new_id
from ...protocol.wire import encode
from ..accounts.permissions import Permissions
from ..clock import SECOND
from ..connection import Listener, connect_info
from ..connection.addresses import EVERYWHERE, bracketed, reachable
from ..slices import Shared
from .remote import RouteAddress, RouteRemote
from .socket_protocol import RouteProtocol

if TYPE_CHECKING:
    from ..accounts import Account
    from ..client import Clients
    from ..config.options import ClusterOptions, Options, PermissionsOptions
    from .connect_info import RouteInfo
    from .connection import RouteConnection

PROTOCOL = 3
SHUTDOWN = "Server Shutdown"
_NAME = 22  # characters of a generated name
_SLOWEST_PING = 30 * SECOND


class RouteEvents(Protocol):
    """Who is told of servers coming and going."""

    def route_joined(self) -> None:
        """There is a route to one more server."""

    def route_left(self, server_id: str) -> None:
        """There is no route to that server any more."""


class Routes:
    """The part of a server that joins it to its cluster.

    peers: routes by the server id of the peer. remotes: whom this server dials. name: of the cluster.
    listener: its sockets, those that were dialled as well. slow_consumers: peers closed for not reading.
    leaf_urls: of this server's listener for leafs. tell_leafs: is told those of the others.
    observers: are told of peers. wanted: is told the name of an account that is not here, when a peer tells
    what it subscribes to.
    """

    def __init__(self, clients: Clients, *, jetstream: bool = False) -> None:
        self._clients = clients
        self.registry = clients.registry
        self.identity = clients.identity
        self.clock = clients.clock
        self.flusher = clients.flusher
        self.buffer_budget = clients.buffer_budget
        self.passwords = clients.passwords
        self.log = clients.log
        self.random_bytes = clients.random_bytes
        self.next_id = clients.next_id
        self.turns = Shared(partial(clients.clock.call_later, 0))
        self.jetstream = jetstream
        self.peers: dict[str, RouteConnection] = {}
        self.remotes: list[RouteRemote] = []
        self.listener = Listener(self.log)
        self.leaf_urls: list[str] = []
        self.tell_leafs: Callable[[list[str]], None] = lambda urls: None
        self.observers: list[RouteEvents] = []
        self.wanted: Callable[[str], None] = lambda name: None
        self.slow_consumers = 0
        self._stopping = False
        self._change = asyncio.Event()
        self._take(clients.options)
        self.dynamic = not self.cluster.name
        if self.dynamic:
            self.cluster.name = new_id(self.random_bytes, _NAME)

    def _take(self, options: Options) -> None:
        assert options.cluster is not None
        self.cluster: ClusterOptions = options.cluster
        interval = min(self.cluster.ping_interval or _SLOWEST_PING, options.ping_interval)
        self.options = replace(
            options, ping_interval=interval, ping_max=self.cluster.ping_max or options.ping_max
        )
        given = self.cluster.permissions
        self._permissions = None if given is None else Permissions(given)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.cluster.name

    # --- start and end

    async def start(self) -> None:
        """Listen if there is a port, and dial the others.

        Raises OSError when the address is taken, TLSConfigError for certificates that cannot be used.
        """
        cluster = self.cluster
        self.log.info(f"Cluster name is {self.name}")
        if self.dynamic:
            self.log.warning("Cluster name was dynamically generated, consider setting one")
        if cluster.port is not None:
            if cluster.tls is not None:
                self.listener.tls_context(cluster.tls)
            await self.listener.listen(lambda: RouteProtocol(self), cluster.host, cluster.port)
            self.log.info(f"Listening for route connections on {cluster.host}:{self.port}")
        for url in cluster.routes:
            self._dial(RouteAddress.parse(url), explicit=True)
        self._tell_others()

    async def stop(self) -> None:
        """Close every route and the listener. Clients and leafs keep the addresses of the others."""
        self._stopping = True
        await self.listener.stop_accepting()
        tasks = [task for remote in self.remotes if (task := remote.stop()) is not None]
        self.listener.close_all(SHUTDOWN)
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.listener.closed()

    async def wait(self, count: int) -> None:
        """Return when there are routes to at least so many peers."""
        while len(self.peers) < count:
            self._change.clear()
            await self._change.wait()

    def reload(self, options: Options) -> None:
        """Apply new options: dial who is new, leave who is gone; permissions hold from now on."""
        name, permissions = self.name, self.cluster.permissions
        self._take(options)
        if self.dynamic and not self.cluster.name:
            self.cluster.name = name
        wanted = [RouteAddress.parse(url) for url in self.cluster.routes]
        for remote in [r for r in self.remotes if r.explicit and r.target not in wanted]:
            remote.stop()
            self.remotes.remove(remote)
            if (peer := self.peers.get(remote.server_id)) is not None:
                peer.close("Route Removed")
        known = {remote.target for remote in self.remotes}
        for target in wanted:
            if target not in known:
                self._dial(target, explicit=True)
        for account in list(self.registry.accounts.values()):
            account.forget_plans()
            self.account_made(account)
        for peer in list(self.peers.values()):
            for account_route in peer.account_routes.values():
                if (
                    account_route.account is not None
                    and self.registry.get(account_route.account.name) is not account_route.account
                ):
                    account_route.unbind()
                else:
                    account_route.advertiser.sync()
                    account_route.permit()
        if self.cluster.permissions != permissions:
            self.tell_peers()
        self.flusher.flush()

    def account_made(self, account: Account) -> None:
        """An account is here now: share it with every peer."""
        for peer in self.peers.values():
            peer.share(account.name.encode()).bind(account)

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
        return f"nats-route://{'127.0.0.1' if host in EVERYWHERE else host}:{self.port}"

    @property
    def auth_timeout(self) -> int:
        """ns that a peer has to introduce itself."""
        given = self.cluster.authorization
        if given is not None and given.timeout is not None:
            return given.timeout
        return self.options.auth_timeout

    # --- the INFO of this server

    def info(self) -> bytes:
        """INFO for a peer."""
        cluster = self.cluster
        document = connect_info.of_server(
            self.identity, PROTOCOL, cluster.host, self.port, headers=not self.options.no_header_support
        )
        optional: dict[str, Any] = {
            "auth_required": cluster.authorization is not None and bool(cluster.authorization.user),
            "tls_required": cluster.tls is not None,
            "tls_verify": cluster.tls is not None,
            "max_payload": self.options.max_payload,
            "jetstream": self.jetstream,
            "ip": f"nats-route://{cluster.advertise}/" if cluster.advertise else "",
            "cluster": self.name,
            "cluster_dynamic": self.dynamic,
            "domain": self.options.jetstream.domain if self.jetstream else "",
            "connect_urls": [] if cluster.no_advertise else self._own_urls(),
            "ldm": self._clients.info.lame_duck,
            "lnoc": True,
            "lnocu": True,
            "leafnode_urls": self.leaf_urls,
            **_permissions(cluster.permissions),
        }
        document.update((key, value) for key, value in optional.items() if value)
        return encode.info(document)

    def connect(self, remote: RouteRemote) -> bytes:
        """CONNECT to a peer."""
        given = self.cluster.authorization
        user = remote.target.user or (given.user if given is not None else "")
        password = remote.target.password or (given.password if given is not None else "")
        optional = {"user": user, "pass": password}
        return encode.connect(
            {
                "echo": True,
                "verbose": False,
                "pedantic": False,
                **{key: value for key, value in optional.items() if value},
                "tls_required": self.cluster.tls is not None,
                "headers": not self.options.no_header_support,
                "name": self.identity.id,
                "cluster": self.name,
                **({"cluster_dynamic": True} if self.dynamic else {}),
                "lnoc": True,
                "lnocu": True,
            }
        )

    def _own_urls(self) -> list[str]:
        if self.options.client_advertise:
            return [self.options.client_advertise]
        port = self._clients.info.port
        return [f"{host}:{port}" for host in reachable(self.options.host)] if port else []

    def server_fields(self) -> dict[str, Any]:
        """See Host."""
        return self._clients.server_fields()

    # --- peers

    def has(self, server_id: str) -> bool:
        """Whether there is a route to that server."""
        return server_id in self.peers

    def agrees(self, name: str, *, dynamic: bool) -> bool:
        """Whether a server of the cluster so called is one of ours.

        A generated name gives way to a given one, and of two generated ones the smaller to the greater.
        """
        if name == self.name:
            return True
        if not self.dynamic:
            return dynamic  # the peer takes our name
        if not dynamic or self.name < name:
            self.log.info(f"Cluster name updated to {name}")
            self.cluster.name = name
            self.dynamic = dynamic
        return True

    def introduced(self, connection: RouteConnection, info: RouteInfo) -> None:
        """A peer has sent its INFO: take it, or close."""
        remote = connection.remote
        if info.server_id == self.identity.id:
            if remote is not None:
                self.forget(remote)
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
        old = self.peers.get(info.server_id)
        if old is not None and not self._supersedes(connection, info.server_id):
            connection.close("Duplicate Route")
            return
        self.peers[info.server_id] = connection
        if old is not None:
            old.close("Duplicate Route")
        self._joined(connection, info)

    def _supersedes(self, connection: RouteConnection, server_id: str) -> bool:
        """Whether a second route to a peer takes the place of the first."""
        dialler = self.identity.id if connection.remote is not None else server_id
        return dialler == min(self.identity.id, server_id)

    def _joined(self, connection: RouteConnection, info: RouteInfo) -> None:
        connection.join()
        self._pass_on(connection, info)
        self._tell_others()
        self.log.info(f"{connection} - Registering route to server {info.server_name!r}")
        self._change.set()
        for observer in self.observers:
            observer.route_joined()
        self.flusher.flush()

    def _pass_on(self, connection: RouteConnection, info: RouteInfo) -> None:
        """Announce a new peer to the others, and where to find it."""
        url = info.ip or f"nats-route://{_host(info.host, connection.peer[0])}:{info.port}/"
        document = {key: value for key, value in info.given.items() if key != "nonce"} | {"ip": url}
        if not info.port and not info.ip:
            return
        for server_id, peer in self.peers.items():
            if server_id != info.server_id:
                peer.send_line(encode.info(document))

    def learnt(self, info: RouteInfo) -> None:
        """A peer announces a server: dial it unless it is known."""
        if info.server_id == self.identity.id or self.has(info.server_id) or not info.ip:
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

    def lame_duck(self) -> None:
        """This server goes away: the others need not send clients here any more."""
        self.tell_peers()
        self.flusher.flush()

    def tell_peers(self) -> None:
        """The INFO of this server has changed."""
        info = self.info()
        for peer in self.peers.values():
            peer.send_line(info)

    def renewed(self, connection: RouteConnection, before: RouteInfo) -> None:
        """A peer's INFO has changed."""
        self._tell_others()
        assert connection.info is not None
        if connection.info.given.get("export") != before.given.get("export"):
            for account_route in connection.account_routes.values():
                account_route.advertiser.sync(repeats=True)

    def closed(self, connection: RouteConnection, reason: str) -> None:
        """A route is closed."""
        del reason
        info = connection.info
        if info is None or self.peers.get(info.server_id) is not connection:
            return
        del self.peers[info.server_id]
        for observer in self.observers:
            observer.route_left(info.server_id)
        self._tell_others()
        for remote in list(self.remotes):
            remote.peer_gone(info.server_id)

    def forget(self, remote: RouteRemote) -> None:
        """Dial an address no more."""
        remote.stop()
        if remote in self.remotes:
            self.remotes.remove(remote)

    def _dial(self, target: RouteAddress, *, explicit: bool) -> None:
        remote = RouteRemote(self, target, explicit=explicit)
        self.remotes.append(remote)
        remote.start()

    def _tell_others(self) -> None:
        """Clients and leafs may connect to any server of the cluster."""
        if self._stopping:
            return
        known = [peer.info for peer in self.peers.values() if peer.info is not None]
        self.tell_leafs([url for info in known for url in info.leafnode_urls])
        if self.cluster.no_advertise:
            return
        others = self.other_urls()
        if not others and not self._clients.info.connect_urls:
            return
        own = [] if self._clients.info.lame_duck else self._own_urls()
        self._clients.set_connect_urls([*own, *(url for url in others if url not in own)])

    def other_urls(self) -> list[str]:
        """Where clients may connect to that are not here; [] when they are not announced."""
        if self.cluster.no_advertise:
            return []
        infos = [peer.info for peer in self.peers.values() if peer.info is not None and not peer.info.ldm]
        return list(dict.fromkeys(url for info in infos for url in info.connect_urls))

    # --- permissions

    def imports(self, subject: str) -> bool:
        """Whether this server may receive `subject` from its peers."""
        return self._permissions is None or self._permissions.may_publish(subject)

    def exports(self, subject: str) -> bool:
        """Whether peers may receive `subject` from this server."""
        return self._permissions is None or self._permissions.may_subscribe(subject)


def _permissions(given: PermissionsOptions | None) -> dict[str, dict[str, list[str]]]:
    """As in INFO: import is what they may send here, export what they may receive."""
    if given is None:
        return {}
    sides = (("import", given.publish), ("export", given.subscribe))
    return {
        name: {kind: list(entries) for kind in ("allow", "deny") if (entries := getattr(side, kind))}
        for name, side in sides
        if side is not None
    }


def _host(told: str, seen: str) -> str:
    return bracketed(seen if told in EVERYWHERE else told)
