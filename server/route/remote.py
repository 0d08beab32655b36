"""RouteRemote: one address of the cluster that this server dials, again and again.

A configured address is dialled forever. One from a peer's INFO is dialled once, and if that fails up to
`connect_retries` times more. No address is dialled while there are all routes to its server, and never again
if that server turned out to be this one.

Where a peer takes several connections, a further `RouteRemote` dials each of them (`line`), as long as there
is a route to the peer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote, urlsplit

from ...protocol.lazy_dataclass import dataclass
from ..clock import SECOND
from ..connection.dial import dial
from ..connection.reports import is_reported

if TYPE_CHECKING:
    from ..clock import Timer
    from ..connection import SocketProtocol
    from .peer import RouteContext

_INTERVAL = SECOND
_LONGEST = 30 * SECOND
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


class RouteRemote:
    """One address to dial.

    explicit: whether it is configured.
    account: the pinned account that the connection is for; "" for one of the pool.
    line: whether this is one more connection to a server that another remote has found.
    server_id: the id of the server at the address; "" while unknown.
    attempts: how many failed since the last success.
    """

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
        self._context = context
        self._routes = routes
        self._make = make
        self.target = target
        self.explicit = explicit
        self.account = account
        self.line = bool(server_id)
        self.server_id = server_id
        self.attempts = 0
        self._connected_before = False
        self._protocol: SocketProtocol | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: Timer | None = None
        self._stopped = False

    @property
    def idle(self) -> bool:
        """Whether it neither has a connection nor dials."""
        return self._protocol is None and self._timer is None and self._task is None

    def start(self) -> None:
        """Dial in the next turn of the loop."""
        self._later(0)

    def stop(self) -> asyncio.Task[None] | None:
        """Stop dialling. Return the attempt that is being cancelled, if any."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            self._task.cancel()
        return self._task

    def introduced(self, server_id: str) -> None:
        """Take note of the server at the address, which has sent its INFO."""
        self.server_id = server_id
        self.attempts = 0
        self._connected_before = True

    def lost(self) -> None:
        """Dial again later, because the socket is closed."""
        self._protocol = None
        once = not self.explicit and self._context.cluster.connect_retries == 0
        if (not self._routes.has(self.server_id)) if self.line else once:
            self._routes.forget(self)
            return
        self._later(_INTERVAL // 2 + random.randrange(_INTERVAL))

    def peer_gone(self, server_id: str) -> None:
        """Dial again if the server at this address is the one that no longer has a route."""
        if server_id == self.server_id and self._protocol is None and self._timer is None:
            self._later(random.randrange(_INTERVAL // 4))

    def _later(self, delay: int) -> None:
        if not self._stopped and self._timer is None:
            self._timer = self._context.clock.call_later(delay, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if self._stopped or self._task is not None:
            return
        if self._routes.complete(self.server_id, self.account):
            if self.line:
                self._routes.forget(self)
            return
        self._task = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        self._context.log.debug(f"Trying to connect to route on {self.target}")

        def make() -> SocketProtocol:
            self._protocol = self._make(self)
            return self._protocol

        try:
            await dial(make, self.target.host, self.target.port, _DIAL_SECONDS)
        except (OSError, TimeoutError) as error:
            self._protocol = None
            self._failed(str(error) or "dial timeout")
        finally:
            self._task = None

    def _failed(self, reason: str) -> None:
        self.attempts += 1
        context = self._context
        cluster, log = context.cluster, context.log
        text = f"Error trying to connect to route (attempt {self.attempts}): {reason}"
        reported = is_reported(context.options, self.attempts, connected_before=self._connected_before)
        (log.error if reported else log.debug)(text)
        if self.line:
            if not self._routes.has(self.server_id):
                self._routes.forget(self)
                return
        elif not self.explicit and self.attempts > cluster.connect_retries:
            self._routes.forget(self)
            return
        wait = _INTERVAL
        if cluster.connect_backoff:
            wait = min(_INTERVAL << min(self.attempts - 1, 5), _LONGEST)
        self._later(wait + random.randrange(_INTERVAL // 10))
