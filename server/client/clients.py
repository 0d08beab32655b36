"""All clients of a server: makes their connections, and does what concerns all of them.

Knows no socket: a connection is given its wire.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from .. import memory
from ..accounts.auth import Authenticator
from ..accounts.enforce_limits import close_excess
from ..accounts.passwords import PasswordChecks
from ..connection.buffer_budget import BufferBudget
from ..logging import NullLogger
from ..slices import Steps, at_once
from .connection import ClientConnection
from .info import InfoDocument
from .peer import ClientContext

if TYPE_CHECKING:
    from ..accounts import AccountRegistry
    from ..accounts.auth import Authentication
    from ..accounts.passwords import Offload
    from ..clock import Clock
    from ..config.options import Options
    from ..connection import Wire
    from ..identity import ServerIdentity
    from ..logging import Logger


class Clients(ClientContext):
    """What client connections share, and the list of them.

    connections: the open ones, by id.
    closed: the latest `max_closed_clients`, oldest first, as (connection, reason, ns).
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
        log = log or NullLogger()
        super().__init__(
            options,
            registry,
            identity,
            clock,
            PasswordChecks(offload),
            BufferBudget(clock, log, most_buffered(options)),
            log,
            random_bytes,
            count(1).__next__,
            InfoDocument(options, identity, options.port),
            gatekeeper or Authenticator(options, registry),
        )
        self.connections: dict[int, ClientConnection] = {}
        self.closed: deque[tuple[ClientConnection, str, int]] = deque(maxlen=options.max_closed_clients)
        self._gatekeeper = gatekeeper
        self.info.auth_required = self.authenticator.asks

    def accept(self, wire: Wire, peer: tuple[str, int]) -> ClientConnection:
        """A connection for a socket that was accepted from `peer`, (host, port)."""
        return ClientConnection(self, self, wire, peer)

    @property
    def full(self) -> bool:
        """Whether one more connection would be too many."""
        return len(self.connections) >= max(0, self.options.max_connections)

    def enter(self, connection: ClientConnection) -> None:
        """A connection begins."""
        self.connections[connection.id] = connection

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

        Clients that may no longer connect are closed; permissions, limits and accounts of the others are
        those of the new configuration from the next message on.
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


def most_buffered(options: Options) -> int:
    """Bytes that may be buffered for all connections: what the options say, or an eighth of the memory."""
    return options.max_buffered or memory.available() // 8
