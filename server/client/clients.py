"""Clients: all clients of a server. Makes their connections, and does what concerns all of them.

Knows no socket: a connection is given its wire.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from .. import memory
from ..accounts.auth import Authenticator, with_overrides
from ..accounts.enforce_limits import close_excess
from ..accounts.passwords import PasswordChecks
from ..accounts.tracer import Tracer
from ..config.ocsp_peer import keeps_answers
from ..connection import ConnectionServices
from ..connection.buffer_budget import BufferBudget
from ..logging import NullLogger
from ..ocsp.peer_checks import PeerChecks
from ..slices import Steps, at_once
from .connection import ClientConnection
from .info import InfoDocument
from .peer import ClientContext

if TYPE_CHECKING:
    from ..accounts import AccountRegistry
    from ..accounts.auth import Authentication
    from ..accounts.passwords import Offload
    from ..callout.callouts import Callouts
    from ..clock import Clock
    from ..config.options import Options
    from ..connection import ConnectionTransport
    from ..identity import ServerIdentity
    from ..logging import Logger


class Clients(ClientContext):
    """The context that client connections share, and the connections themselves.

    connections: the open ones, by id.
    configured: when the options in force were taken, in ns.
    closed: the latest `max_closed_clients` that were closed, oldest first, as (connection, reason, ns).
    """

    def __init__(
        self,
        options: Options,
        registry: AccountRegistry,
        services: ConnectionServices,
        gatekeeper: Authentication | None = None,
    ) -> None:
        """`gatekeeper` decides who may connect. Without one, the users of the options may."""
        info = InfoDocument(options, services.identity, options.port)
        super().__init__(options, registry, services, info, gatekeeper or Authenticator(options, registry))
        self.connections: dict[int, ClientConnection] = {}
        self.closed: deque[tuple[ClientConnection, str, int]] = deque(maxlen=options.max_closed_clients)
        self.configured = self.clock.now()
        self._gatekeeper = gatekeeper
        self._callouts: Callouts | None = None
        if isinstance(self.authenticator, Authenticator):
            self.authenticator = self._with_callout(self.authenticator, options)
        self.info.auth_required = self.authenticator.asks
        if gatekeeper is None:
            made = {kind: Authenticator(one, registry) for kind, one in _overrides(options).items()}
            self.override({kind: self._with_callout(one, options) for kind, one in made.items()})

    def _with_callout(self, inner: Authenticator, options: Options) -> Authentication:
        """Return what asks a callout service where `inner` does not decide, or `inner` without a callout."""
        if self._callouts is not None:
            self._callouts.reload(options)
        callout = options.authorization.auth_callout
        if callout is None:
            return inner
        from ..callout.authenticator import CalloutAuthenticator
        from ..callout.callouts import Callouts

        if self._callouts is None:
            self._callouts = Callouts(options, self.identity, self.clock, self.log, self.random_bytes)
        parts = self.registry, self._callouts, self.passwords, self.clock
        return CalloutAuthenticator(inner, callout, *parts)

    def accept(self, wire: ConnectionTransport, peer: tuple[str, int]) -> ClientConnection:
        """Return a connection for a socket that was accepted from `peer`, (host, port)."""
        return ClientConnection(self, self, wire, peer)

    @property
    def full(self) -> bool:
        """Whether one more connection would exceed the limit."""
        return len(self.connections) >= max(0, self.options.max_connections)

    def enter(self, connection: ClientConnection) -> None:
        """Add a connection that begins."""
        self.connections[connection.id] = connection

    def forget(self, connection: ClientConnection, reason: str) -> None:
        """Remove a connection that is closed, and remember it in `closed`."""
        if self.connections.pop(connection.id, None) is None:
            return
        self.closed.append((connection, reason, self.clock.now()))

    def totals(self) -> dict[str, int]:
        """Return the messages and bytes of all clients, open and closed. Output counts once it is written."""
        statistics = self.statistics
        return {
            "in_msgs": statistics.in_msgs,
            "in_bytes": statistics.in_bytes,
            "out_msgs": statistics.out_msgs,
            "out_bytes": statistics.out_bytes,
        }

    def announce(self) -> None:
        """Send the present INFO to every client that understands an INFO after the first."""
        for connection in list(self.connections.values()):
            connection.send_async_info()
        self.flusher.flush()

    def set_connect_urls(self, urls: list[str]) -> None:
        """Set the other addresses to connect to, and tell the clients if they have changed."""
        if urls != self.info.connect_urls:
            self.info.connect_urls = urls
            self.announce()

    def set_websocket_urls(self, urls: list[str]) -> None:
        """Set where WebSocket clients may connect to, and tell them if that has changed."""
        if urls == self.info.websocket_urls:
            return
        self.info.websocket_urls = urls
        for connection in list(self.connections.values()):
            if connection.upgrade is not None:
                connection.send_async_info()
        self.flusher.flush()

    def lame_duck(self, other_urls: list[str]) -> None:
        """Send every client the INFO of lame duck mode, with the addresses of other servers."""
        self.info.lame_duck = True
        self.info.connect_urls = other_urls
        self.announce()

    def close_all(self, reason: str) -> None:
        """Close every connection."""
        for connection in list(self.connections.values()):
            connection.close(reason)
        if self._callouts is not None:
            self._callouts.stop()

    def reload(self, options: Options) -> None:
        """Do the same as `reloading`, at once."""
        at_once(self.reloading(options))

    def reloading(self, options: Options) -> Steps[None]:
        """Apply new options to all connected clients, in steps. The registry must have been reloaded before.

        Clients that may no longer connect are closed. The others have the permissions, limits and accounts of
        the new configuration from the next message on.
        """
        self.configured = self.clock.now()
        self.peer_checks.keeps = keeps_answers(options.ocsp_cache)
        authenticator = self._gatekeeper
        overrides: dict[str, Authentication] = {}
        if authenticator is None:
            made = yield from Authenticator.making(options, self.registry)
            authenticator = self._with_callout(made, options)
            for kind, one in _overrides(options).items():
                made = yield from Authenticator.making(one, self.registry)
                overrides[kind] = self._with_callout(made, options)
        advertised = self.options.client_advertise != options.client_advertise
        self.options = self.info.options = options
        self.buffer_budget.limit = most_buffered(options)
        self.authenticator = authenticator
        self.override(overrides)
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


def _overrides(options: Options) -> dict[str, Options]:
    """Return the options by which clients of some types log in, if they differ from those of all others."""
    blocks = {"websocket": options.websocket, "mqtt": options.mqtt}
    found = {kind: with_overrides(options, block) for kind, block in blocks.items()}
    return {kind: one for kind, one in found.items() if one is not None}


def make_services(
    options: Options,
    identity: ServerIdentity,
    clock: Clock,
    offload: Offload,
    log: Logger | None = None,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> ConnectionServices:
    """Return what the connections of a new server share. offload: runs checks of passwords off the loop."""
    log = log or NullLogger()
    budget = BufferBudget(clock, log, most_buffered(options))
    passwords, ids = PasswordChecks(offload), count(1)
    tracer = Tracer(clock, log, random.random)
    checks = PeerChecks(clock, log, keeps=keeps_answers(options.ocsp_cache))
    return ConnectionServices(
        identity, clock, log, passwords, budget, random_bytes, ids.__next__, tracer, checks
    )


def most_buffered(options: Options) -> int:
    """Return how many bytes may be buffered for all connections.

    That is `max_buffered` of the options, or else an eighth of the available memory.
    """
    return options.max_buffered or memory.memory_limit() // 8
