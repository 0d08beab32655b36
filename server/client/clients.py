"""All clients of a server: what their connections share, and what concerns all of them.

Holds the options in force, the accounts, who may connect, counters, the list of connections and of closed
ones. Knows no socket: the listener makes connections, a connection gets its wire.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .. import memory
from ..accounts.auth import Authentication, Authenticator
from ..accounts.enforce_limits import close_excess
from ..accounts.passwords import PasswordChecks
from ..connection.buffer_budget import BufferBudget
from ..logging import Logger, NullLogger
from ..slices import Steps, at_once
from .info import InfoDocument

if TYPE_CHECKING:
    from ..accounts import AccountRegistry
    from ..accounts.passwords import Offload
    from ..clock import Clock
    from ..config.options import Options
    from ..identity import ServerIdentity
    from .connection import ClientConnection


class Statistics:
    """Counters since start: messages and bytes of clients in and out, refusals."""

    __slots__ = ("in_bytes", "in_msgs", "out_bytes", "out_msgs", "slow_consumers", "stale", "stalls", "total")

    def __init__(self) -> None:
        self.in_msgs = self.in_bytes = self.out_msgs = self.out_bytes = 0
        self.slow_consumers = self.stale = self.stalls = self.total = 0


class ClientEvents(Protocol):
    """Who is told of clients coming and going (the system services)."""

    def client_connected(self, connection: ClientConnection) -> None:
        """After authentication."""

    def client_disconnected(self, connection: ClientConnection, reason: str) -> None:
        """After it was closed; who was not let in had no account."""

    def client_refused(self, connection: ClientConnection, reason: str) -> None:
        """Authentication failed."""


class Clients:
    """The shared state of client connections.

    connections: open ones by id. closed: the latest `max_closed_clients`, oldest first, as (connection,
    reason, ns).
    """

    def __init__(
        self,
        options: Options,
        registry: AccountRegistry,
        identity: ServerIdentity,
        clock: Clock,
        offload: Offload,
        log: Logger | None = None,
        random_bytes: Callable[[int], bytes] = os.urandom,
        *,
        gatekeeper: Authentication | None = None,
    ) -> None:
        """`gatekeeper` decides who may connect; without one the users of the options."""
        self.options = options
        self.registry = registry
        self.identity = identity
        self.clock = clock
        self.passwords = PasswordChecks(offload)
        self.log: Logger = log or NullLogger()
        self.random_bytes = random_bytes
        self.flusher = registry.flusher
        self.buffer_budget = BufferBudget(clock, self.log, most_buffered(options))
        self.statistics = Statistics()
        self.connections: dict[int, ClientConnection] = {}
        self.closed: deque[tuple[ClientConnection, str, int]] = deque(maxlen=options.max_closed_clients)
        self.events: ClientEvents | None = None
        self.info = InfoDocument(options, identity, options.port)
        self._gatekeeper = gatekeeper
        self.authenticator: Authentication = gatekeeper or Authenticator(options, registry)
        self.info.auth_required = self.authenticator.asks
        self._last_id = 0

    def next_id(self) -> int:
        """A connection's id; leafs and routes take theirs here too."""
        self._last_id += 1
        return self._last_id

    @property
    def full(self) -> bool:
        """Whether one more connection would be too many."""
        return len(self.connections) >= max(0, self.options.max_connections)

    def forget(self, connection: ClientConnection, reason: str) -> None:
        """A connection is closed."""
        if self.connections.pop(connection.id, None) is None:
            return
        self.closed.append((connection, reason, self.clock.now()))

    def totals(self) -> dict[str, int]:
        """Messages and bytes of all clients, open and closed, as far as they were written."""
        statistics = self.statistics
        return {
            "in_msgs": statistics.in_msgs,
            "in_bytes": statistics.in_bytes,
            "out_msgs": statistics.out_msgs,
            "out_bytes": statistics.out_bytes,
        }

    def announce(self) -> None:
        """Send INFO anew to every client that understands it."""
        for connection in list(self.connections.values()):
            connection.send_async_info()
        self.flusher.flush()

    def set_connect_urls(self, urls: list[str]) -> None:
        """Other places to connect to; tells the clients when they changed."""
        if urls != self.info.connect_urls:
            self.info.connect_urls = urls
            self.announce()

    def lame_duck(self, other_urls: list[str]) -> None:
        """Send every client lame duck mode's INFO, with where others are."""
        self.info.lame_duck = True
        self.info.connect_urls = other_urls
        self.announce()

    def close_all(self, reason: str) -> None:
        """Close every connection."""
        for connection in list(self.connections.values()):
            connection.close(reason)

    def reload(self, options: Options) -> None:
        """See `reloading`; at once."""
        at_once(self.reloading(options))

    def reloading(self, options: Options) -> Steps[None]:
        """Apply new options to everyone connected, in steps. The registry has been reloaded before.

        Who may no longer connect is closed; permissions, limits and accounts of the others are those of the
        new configuration from the next message on.
        """
        authenticator = self._gatekeeper or (yield from Authenticator.making(options, self.registry))
        advertised = self.options.client_advertise != options.client_advertise
        self.options = self.info.options = options
        self.buffer_budget.limit = most_buffered(options)
        self.authenticator = authenticator
        self.info.auth_required = self.authenticator.asks
        for connection in list(self.connections.values()):
            if not connection.closed_reason:
                connection.reload()
                self.flusher.schedule()
                yield
        surplus = len(self.connections) - max(0, options.max_connections)
        if surplus > 0:
            for connection in list(self.connections.values())[-surplus:]:
                connection.fail("maximum connections exceeded", "Maximum Connections Exceeded")
                yield
        for account in list(self.registry.accounts.values()):
            close_excess(account)
            yield
        if advertised:
            self.announce()
        self.flusher.flush()

    def server_fields(self) -> dict[str, Any]:
        """What client info shows of the server."""
        fields: dict[str, Any] = {"server": self.identity.name}
        cluster = self.options.cluster
        if cluster is not None and cluster.name:
            fields["cluster"] = cluster.name
        return fields


def most_buffered(options: Options) -> int:
    """Bytes that may be buffered for all connections: what the options say, or an eighth of the memory."""
    return options.max_buffered or memory.available() // 8
