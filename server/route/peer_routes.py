"""PeerRoutes: all routes to one other server, and which of them an account uses. Pure.

Two servers share a pool of connections. Each account uses one of them: the place in the pool follows from its
name. A pinned account has a connection of its own. A peer without a pool has one connection for everything.

Source: nats-server's server/route.go: computeRoutePoolIdx, addRoute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..clock import SECOND

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator

    from .connect_info import RouteInfo
    from .connection import RouteConnection

_SETTLED = SECOND // 4  # ns after which both ends of a joined route know that it is
_LARGEST_POOL = 1000  # connections; a peer must not make us dial any number
_FNV_BASIS, _FNV_PRIME = 0x811C9DC5, 0x01000193


def pool_place(size: int, account: str) -> int:
    """Return the place of an account in a pool of `size` connections, the same on every server (FNV-1a)."""
    value = _FNV_BASIS
    for byte in account.encode("utf-8", "surrogateescape"):
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return value % max(1, size)


class PeerRoutes:
    """The routes to one peer.

    server_id: the peer's id.
    pooled: whether both have pools.
    pool: the connections of the pool, or the only one; None where there is none.
    own: how many connections this server's pool has; the peer may have more.
    pinned: the connections of single accounts, by name.
    patient: whether pinned accounts wait for a connection of their own; else they use the pool meanwhile.
    declined: pinned accounts that the peer does not pin, so that they use the pool.
    known: whether others were told of the peer.
    reported: whether those in this server were who wait for its routes.
    """

    def __init__(self, server_id: str, own: int, theirs: int, *, pooled: bool) -> None:
        self.server_id = server_id
        self.pooled = pooled
        self.own = own
        self.pool: list[RouteConnection | None] = [None] * (max(own, theirs) if pooled else 1)
        self.pinned: dict[str, RouteConnection] = {}
        self.patient = pooled
        self.declined: set[str] = set()
        self.known = self.reported = False

    def __iter__(self) -> Iterator[RouteConnection]:
        yield from (each for each in self.pool if each is not None)
        yield from self.pinned.values()

    @property
    def main(self) -> RouteConnection | None:
        """The first connection of the pool, over which servers say what concerns all accounts."""
        return next((each for each in self.pool if each is not None), None)

    @property
    def free(self) -> int | None:
        """The first place of the pool without a connection; None if there is none."""
        return next((place for place, each in enumerate(self.pool) if each is None), None)

    def line(self, account: str, pinned: Container[str]) -> RouteConnection | None:
        """Return the connection that an account uses, if it is there. pinned: the accounts with their own."""
        if not self.pooled:
            return self.pool[0]
        own = self.pinned.get(account)
        if own is not None:
            return own
        if self.patient and account in pinned and account not in self.declined:
            return None
        return self.pool[pool_place(self.own, account)]

    def find(self, connection: RouteConnection) -> RouteConnection | None:
        """Return the connection in the place of this one: itself, another, or None."""
        return self.pinned.get(connection.pinned) if connection.pinned else self.pool[connection.place]

    def place(self, connection: RouteConnection, info: RouteInfo) -> bool:
        """Give a route its place in the pool, which the dialler chooses. Return False if all are taken."""
        if connection.pinned or not self.pooled:
            return True
        self.pool += [None] * (info.route_pool_size - len(self.pool))  # the peer may have enlarged its pool
        chosen = self.free if connection.remote is not None else info.route_pool_idx
        connection.place = chosen or 0
        return chosen is not None

    def send_line(self, line: bytes) -> None:
        """Send the peer what concerns all accounts."""
        if self.main is not None:
            self.main.send_line(line)

    def put(self, connection: RouteConnection | None, place: int, pinned: str) -> None:
        """Set the connection of a place, or of a pinned account."""
        if not pinned:
            self.pool[place] = connection
        elif connection is None:
            self.pinned.pop(pinned, None)
        else:
            self.pinned[pinned] = connection

    def whole(self, pinned: Collection[str]) -> bool:
        """Return whether each account has a route. pinned: the accounts with their own."""
        return not list(self.missing(pinned if self.patient else ()))

    def missing(self, pinned: Collection[str] = ()) -> Iterator[str]:
        """Return what has no connection yet: "" for each place of the pool, and accounts of `pinned`."""
        yield from ("" for each in self.pool if each is None)
        if self.pooled:
            yield from (name for name in pinned if name not in self.pinned and name not in self.declined)


def objection(
    connection: RouteConnection, info: RouteInfo, size: int, pinned: Container[str], *, pooled: bool
) -> str:
    """Return why a route does not go with the pool here, of `size` connections; "" if it does.

    pinned: the accounts that are pinned here. pooled: whether both servers have pools.
    """
    account, place = connection.pinned, info.route_pool_idx
    if info.route_pool_size > _LARGEST_POOL:
        return f"Route pool size {info.route_pool_size} is more than {_LARGEST_POOL}"
    if account and not pooled:
        return f'Not possible to have a dedicated route for account "{account}" between those servers'
    if account:
        return "" if account in pinned else f'No route for account "{account}"'
    if pooled and connection.remote is not None and place:
        return f"Route pool index should not be set but is set to {place}"
    if pooled and not 0 <= place < max(size, info.route_pool_size):
        return f"Invalid route pool index: {place} - pool size is {info.route_pool_size}"
    return ""


def supersedes(connection: RouteConnection, old: RouteConnection, own_id: str, server_id: str) -> bool:
    """Return whether a second route to a peer, in the same place, replaces the first.

    If both servers dial at once, the route that the smaller id dialled stays; both ends decide alike. A route
    that was joined before the second one was opened stays: what is on its way there would be lost.
    """
    if connection is old or connection.opened - old.joined_at > _SETTLED:
        return False
    return (own_id if connection.remote is not None else server_id) == min(own_id, server_id)
