"""RouteRemote: one address of the cluster that this server dials, again and again.

A configured address is dialled forever. One from a peer's INFO is dialled once, and if that fails up to
`connect_retries` times more. No address is dialled while there are all routes to its server, and never again
if that server turned out to be this one.

Where a peer takes several connections, a further `RouteRemote` dials each of them (`line`), as long as there
is a route to the peer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote, urlsplit

from ...protocol.lazy_dataclass import dataclass
from ..connection.remote import INTERVAL, Remote, wait_after

if TYPE_CHECKING:
    from ..connection import SocketProtocol
    from .peer import RouteContext

_DIAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RouteAddress:
    """The address of a server, with the credentials to use there."""

    host: str
    port: int
    user: str = ""
    password: str = ""

    @classmethod
    def parse(cls, url: str) -> RouteAddress:
        """Parse `nats-route://[user:password@]host:port`. Raises ValueError if host or port is missing."""
        parts = urlsplit(url if "://" in url else f"nats-route://{url}")
        if not parts.hostname or not parts.port:
            raise ValueError(f"no host and port in {url!r}")
        return cls(parts.hostname, parts.port, unquote(parts.username or ""), unquote(parts.password or ""))

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class RouteTable(Protocol):
    """The routes of this server."""

    def has(self, server_id: str) -> bool:
        """Return whether there is a route to that server."""

    def complete(self, server_id: str, account: str) -> bool:
        """Return whether all routes to that server are there, or that of a pinned account."""

    def forget(self, remote: RouteRemote) -> None:
        """Stop dialling an address."""


class RouteRemote(Remote):
    """One address to dial.

    explicit: whether it is configured.
    account: the pinned account that the connection is for; "" for one of the pool.
    line: whether this is one more connection to a server that another remote has found.
    server_id: the id of the server at the address; "" while unknown.
    """

    _context: RouteContext

    def __init__(
        self,
        context: RouteContext,
        routes: RouteTable,
        make: Callable[[RouteRemote], SocketProtocol],
        target: RouteAddress,
        *,
        explicit: bool,
        account: str = "",
        server_id: str = "",
    ) -> None:
        """`make` makes the protocol of a dialled socket. With a `server_id` this is a line."""
        super().__init__(context, make)
        self._routes = routes
        self.target = target
        self.explicit = explicit
        self.account = account
        self.line = bool(server_id)
        self.server_id = server_id

    def introduced(self, server_id: str) -> None:
        """Take note of the server at the address, which has sent its INFO."""
        self.server_id = server_id
        self.succeeded()

    def lost(self, protocol: SocketProtocol) -> None:
        """See Remote. It dials again later."""
        del protocol
        self._protocol = None
        once = not self.explicit and self._context.cluster.connect_retries == 0
        if (not self._routes.has(self.server_id)) if self.line else once:
            self._routes.forget(self)
            return
        self._later(INTERVAL // 2 + random.randrange(INTERVAL))

    def peer_gone(self, server_id: str) -> None:
        """Dial again if the server at this address is the one that no longer has a route."""
        if server_id == self.server_id and self._protocol is None and self._timer is None:
            self._later(random.randrange(INTERVAL // 4))

    def _wanted(self) -> bool:
        """See Remote."""
        if not self._routes.complete(self.server_id, self.account):
            return True
        if self.line:
            self._routes.forget(self)
        return False

    async def _dial(self) -> None:
        """See Remote."""
        self._context.log.debug(f"Trying to connect to route on {self.target}")
        reason = await self._connect(self.target.host, self.target.port, _DIAL_SECONDS)
        if reason:
            self._failed(reason)

    def _failed(self, reason: str) -> None:
        self.attempts += 1
        cluster = self._context.cluster
        self._report(f"Error trying to connect to route (attempt {self.attempts}): {reason}", self.attempts)
        gone = not self._routes.has(self.server_id)
        given_up = not self.explicit and self.attempts > cluster.connect_retries
        if gone if self.line else given_up:
            self._routes.forget(self)
        else:
            self._later(wait_after(self.attempts, grows=cluster.connect_backoff))
