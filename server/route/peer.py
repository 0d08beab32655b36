"""RoutePeer: one route as the parts of it see it; RouteContext: what all routes share.

Both know neither the parts, nor whom this server dials: `RouteConnection` makes the parts, `Routes` the
connections.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from ...protocol.wire.route import RouteParser
from ..accounts.permissions import Permissions
from ..accounts.subscription import ConnectionKind
from ..clock import SECOND
from ..connection import Connection, ConnectionContext
from ..slices import Shared
from .info import RouteDocuments

if TYPE_CHECKING:
    from ..client.peer import ClientContext
    from ..config.options import ClusterOptions, Options
    from ..connection import Wire
    from .connect_info import RouteInfo

_SLOWEST_PING = 30 * SECOND
_MOST_PAYLOAD = 64 << 20


class RouteContext(ConnectionContext):
    """What routes share, see ConnectionContext.

    options: with the pings of routes.
    cluster: the part of them for clusters.
    documents: INFO and CONNECT of this server.
    slow_consumers: peers closed for not reading.
    wanted: is told the name of an account that is not here, when a peer tells what it subscribes to.
    turns: the turns in which interest is advertised.
    """

    def __init__(self, clients: ClientContext, *, jetstream: bool) -> None:
        """`clients`: what the clients of this server share."""
        super().__init__(
            clients.options,
            clients.registry,
            clients.identity,
            clients.clock,
            clients.passwords,
            clients.buffer_budget,
            clients.log,
            clients.random_bytes,
            clients.next_id,
        )
        self.documents = RouteDocuments(self.options, self.identity, clients.info, jetstream=jetstream)
        self.slow_consumers = 0
        self.wanted: Callable[[str], None] = lambda name: None
        self.turns = Shared(partial(self.clock.call_later, 0))
        self.take(clients.options)

    def take(self, options: Options) -> None:
        """Other options are in force."""
        assert options.cluster is not None
        self.cluster: ClusterOptions = options.cluster
        interval = min(self.cluster.ping_interval or _SLOWEST_PING, options.ping_interval)
        self.options = self.documents.options = replace(
            options, ping_interval=interval, ping_max=self.cluster.ping_max or options.ping_max
        )
        given = self.cluster.permissions
        self._permissions = None if given is None else Permissions(given)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.cluster.name

    @property
    def auth_timeout(self) -> int:
        """ns that a peer has to introduce itself."""
        given = self.cluster.authorization
        if given is not None and given.timeout is not None:
            return given.timeout
        return self.options.auth_timeout

    def imports(self, subject: str) -> bool:
        """Whether this server may receive `subject` from its peers."""
        return self._permissions is None or self._permissions.may_publish(subject)

    def exports(self, subject: str) -> bool:
        """Whether peers may receive `subject` from this server."""
        return self._permissions is None or self._permissions.may_subscribe(subject)


class RoutePeer(Connection):
    """What is known of the server at the other end, and the way to answer it.

    info: its INFO, once it came.
    headers: it takes headers.
    peer_lnoc: it takes the cluster of a leaf with the leaf's interest.
    peer_lnocu: and with the end of that interest.
    """

    kind = ConnectionKind.ROUTER
    tag = "rid"
    description: ClassVar = {"kind": "Router"}
    context: RouteContext
    parser: RouteParser

    def __init__(self, context: RouteContext, wire: Wire, peer: tuple[str, int]) -> None:
        write_deadline = context.cluster.write_deadline or context.options.write_deadline
        super().__init__(context, wire, peer, write_deadline)
        self.max_pending = sys.maxsize  # closed for lateness only: what it misses, a whole server misses
        self.info: RouteInfo | None = None
        self.peer_lnoc = self.peer_lnocu = False
        # What a peer lets in goes through, as far as any server's max_payload may reach.
        self.parser = RouteParser(context.options.max_control_line, _MOST_PAYLOAD)

    def who(self) -> dict[str, str]:
        """See Connection."""
        if self.info is None:
            return {}
        return {"name": self.info.server_id, "ver": self.info.version}

    # --- permissions: import is what we may receive from peers, export what they may receive from us

    def may_ask(self, subject: str) -> bool:
        """Whether interest in `subject` may be announced to the peer."""
        return self.context.imports(subject)

    def may_send(self, subject: str) -> bool:
        """Whether a message may go to the peer."""
        return self.context.exports(subject)

    def may_take(self, subject: str) -> bool:
        """Whether the peer's interest in `subject` is taken."""
        return self.context.exports(subject)
