"""RoutePools: which routes there are, which of them each account uses, and which are missing.

Promises that the interest of an account is advertised over one route to each peer. What is missing of a pool
is dialled by the server that dialled the route before, once the peer has answered there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ...protocol.wire import encode
from ..clock import SECOND
from .peer_routes import PeerRoutes
from .remote import RouteRemote

if TYPE_CHECKING:
    from ..accounts import Account
    from ..connection import SocketProtocol
    from .connect_info import RouteInfo
    from .connection import RouteConnection
    from .peer import RouteContext

_PINNED_TIMEOUT = 2 * SECOND  # ns that a pinned account waits for a route of its own


class RouteEvents(Protocol):
    """Is called when servers come and go."""

    def route_joined(self) -> None:
        """There is a route to one more server."""

    def route_left(self, server_id: str) -> None:
        """There is no longer a route to that server."""


class RoutePools:
    """The routes to all peers.

    peers: the routes to each peer, by its server id.
    remotes: the addresses that this server dials.
    lines: those of them that are dialled again, for further routes to the same server.
    observers: are called when peers come and go.
    """

    def __init__(self, context: RouteContext, make: Callable[[RouteRemote], SocketProtocol]) -> None:
        """`make` makes the protocol of a dialled socket."""
        self.peers: dict[str, PeerRoutes] = {}
        self.remotes: list[RouteRemote] = []
        self.lines: list[RouteRemote] = []
        self.observers: list[RouteEvents] = []
        self._context = context
        self._make = make
        self._stopped = False

    def stop(self) -> list[RouteRemote]:
        """Make no more routes. Return everything that dials."""
        self._stopped = True
        return [*self.remotes, *self.lines]

    def has(self, server_id: str) -> bool:
        """Return whether there is a route to that server."""
        peer = self.peers.get(server_id)
        return peer is not None and peer.main is not None

    def complete(self, server_id: str, account: str) -> bool:
        """Return whether there are all routes to that server, or that of a pinned account."""
        peer = self.peers.get(server_id)
        if peer is None:
            return False
        if account:
            return account in peer.pinned or account in peer.declined or account not in self._context.pinned
        return peer.free is None

    @property
    def connections(self) -> list[RouteConnection]:
        """All routes that are joined."""
        return [connection for peer in self.peers.values() for connection in peer]

    def serves(self, connection: RouteConnection, account: str) -> bool:
        """Return whether an account uses this route."""
        peer = None if connection.info is None else self.peers.get(connection.info.server_id)
        return peer is not None and peer.line(account, self._context.pinned) is connection

    def infos(self) -> list[RouteInfo]:
        """Return what the peers say of themselves."""
        mains = [peer.main for peer in self.peers.values()]
        return [main.info for main in mains if main is not None and main.info is not None]

    # --- routes come and go

    def joining(self, connection: RouteConnection, peer: PeerRoutes) -> None:
        """Let the account of a route that is about to be joined leave the pool."""
        name = connection.pinned.encode("utf-8", "surrogateescape")
        for other in peer:
            if other is not connection and name in other.account_routes:
                other.account_routes[name].review()

    def joined(self, connection: RouteConnection, peer: PeerRoutes) -> bool:
        """Let accounts use a route that is joined. Return whether it is the first to its peer."""
        first = not connection.pinned and not peer.known
        if connection.pinned:
            self._review(peer, connection.pinned)
        elif first:
            peer.known = True
            if peer.patient:
                self._context.clock.call_later(_PINNED_TIMEOUT, partial(self._wait_no_longer, peer))
        self._report(peer)
        return first

    def left(self, connection: RouteConnection, info: RouteInfo) -> bool:
        """Forget a route that is closed. Return whether it was one of those in use."""
        peer = self.peers.get(info.server_id)
        if peer is None or peer.find(connection) is not connection:
            return False
        peer.put(None, connection.place, connection.pinned)
        if connection.pinned and not self._stopped:
            self._review(peer, connection.pinned)
        if not any(True for _ in peer):
            del self.peers[info.server_id]
        if peer.main is None and not connection.pinned:
            peer.known = False
            if peer.reported:
                peer.reported = False
                for observer in self.observers:
                    observer.route_left(info.server_id)
        return True

    def close(self, peer: PeerRoutes) -> None:
        """Close all routes to a peer."""
        for line in [line for line in self.lines if line.server_id == peer.server_id]:
            self.forget(line)
        for connection in list(peer):
            connection.close("Route Removed")

    def forget(self, remote: RouteRemote) -> None:
        """Stop dialling an address."""
        remote.stop()
        for remotes in (self.remotes, self.lines):
            if remote in remotes:
                remotes.remove(remote)

    def account_made(self, account: Account) -> None:
        """Share a new account with every peer."""
        name = account.name.encode()
        for peer in self.peers.values():
            line = peer.line(account.name, self._context.pinned)
            for connection in peer:
                if connection is line or name in connection.account_routes:
                    connection.share(name).bind(account)

    def _report(self, peer: PeerRoutes) -> None:
        """Report a peer when there is the route that servers themselves use: that of the system account."""
        system = self._context.registry.system
        line = peer.main if system is None else peer.line(system.name, self._context.pinned)
        if line is not None and peer.known and not peer.reported:
            peer.reported = True
            for observer in self.observers:
                observer.route_joined()

    # --- pinned accounts

    def _review(self, peer: PeerRoutes, name: str) -> None:
        """Let an account use the route to a peer that is its own now."""
        account, key = self._context.registry.get(name), name.encode("utf-8", "surrogateescape")
        line = peer.line(name, self._context.pinned)
        for connection in peer:
            if connection is not line and key in connection.account_routes:
                connection.account_routes[key].review()
        if line is not None and account is not None:
            line.share(key).bind(account)
            line.share(key).review()

    def _wait_no_longer(self, peer: PeerRoutes) -> None:
        """Let pinned accounts use the pool that have no route of their own yet."""
        if self.peers.get(peer.server_id) is not peer or self._stopped:
            return
        peer.patient = False
        for name in peer.missing(self._context.pinned):
            if name:
                self._review(peer, name)
        self._report(peer)
        self._context.flusher.flush()

    def declined(self, connection: RouteConnection, account: str) -> None:
        """Let an account use the pool, because the peer does not pin it."""
        assert connection.remote is not None
        self.forget(connection.remote)
        peer = self.peers.get(connection.remote.server_id)
        if peer is not None:
            peer.declined.add(account)
            self._review(peer, account)
            self._report(peer)

    def pins(self, connection: RouteConnection, info: RouteInfo) -> None:
        """Answer a peer that pins one more account from now on. A connection for it is dialled.

        The account's interest that came over the pool has ended: it is told again there.
        """
        peer = self.peers.get(connection.info.server_id) if connection.info is not None else None
        name = info.route_account
        if peer is None or not name:
            return
        if self._context.registry.get(name) is None:
            self._context.log.error(f"{connection} - Error looking up account {name!r}")
            return
        peer.declined.discard(name)
        self._context.also_pinned.add(name)
        for each in peer:
            if not each.pinned and (account_route := each.account_routes.get(name.encode())) is not None:
                account_route.forget_interest()
        connection.send_line(encode.info({k: v for k, v in info.given.items() if k != "route_account"}))
        self.answered(connection)

    # --- more routes to the same server

    def answered(self, connection: RouteConnection) -> None:
        """Dial what is missing of a pool that this server began, since the peer has let it in."""
        if connection.remote is None or connection.info is None:
            return
        peer = self.peers.get(connection.info.server_id)
        if peer is None:
            return
        on_the_way = [
            line.account for line in self.lines if line.server_id == peer.server_id and not line.idle
        ]
        for account in peer.missing(self._context.pinned):
            if account in on_the_way:
                on_the_way.remove(account)
            else:
                self._line(connection.remote, peer.server_id, account)

    def _line(self, of: RouteRemote, server_id: str, account: str) -> None:
        line = RouteRemote(
            self._context,
            self,
            self._make,
            of.target,
            explicit=of.explicit,
            account=account,
            server_id=server_id,
        )
        self.lines.append(line)
        line.start()
