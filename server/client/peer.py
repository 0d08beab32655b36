"""ClientPeer: one client as the parts of its connection see it; ClientContext: what all clients share.

Both know neither the parts nor the list of clients: `ClientConnection` makes the parts, `Clients` the
connections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol

from ...protocol.wire import encode
from ...protocol.wire.client import ClientParser
from ..accounts.subscription import ConnectionKind, MessageEndpoint
from ..connection import Connection, ConnectionContext
from .connect import ConnectOptions
from .permissions import ClientPermissions

if TYPE_CHECKING:
    from ..accounts import AccountRegistry
    from ..accounts.auth import Authentication
    from ..accounts.passwords import PasswordChecks
    from ..accounts.users import User
    from ..clock import Clock
    from ..config.options import Options
    from ..connection import Wire
    from ..connection.buffer_budget import BufferBudget
    from ..identity import ServerIdentity
    from ..logging import Logger
    from .info import InfoDocument


class Statistics:
    """Counters since start: messages and bytes of clients in and out, refusals."""

    __slots__ = ("in_bytes", "in_msgs", "out_bytes", "out_msgs", "slow_consumers", "stale", "stalls", "total")

    def __init__(self) -> None:
        self.in_msgs = self.in_bytes = self.out_msgs = self.out_bytes = 0
        self.slow_consumers = self.stale = self.stalls = self.total = 0


class ClientEvents(Protocol):
    """Told of clients coming and going: the system services."""

    def client_connected(self, connection: ClientPeer) -> None:
        """After authentication."""

    def client_disconnected(self, connection: ClientPeer, reason: str) -> None:
        """After it was closed. A client that was not let in had no account."""

    def client_refused(self, connection: ClientPeer, reason: str) -> None:
        """Authentication failed."""


class ClientContext(ConnectionContext):
    """What client connections share, see ConnectionContext.

    info: the INFO of all clients.
    authenticator: decides who may connect.
    statistics: what all clients did.
    events: told of clients, if anyone is.
    """

    def __init__(
        self,
        options: Options,
        registry: AccountRegistry,
        identity: ServerIdentity,
        clock: Clock,
        passwords: PasswordChecks,
        buffer_budget: BufferBudget,
        log: Logger,
        random_bytes: Callable[[int], bytes],
        next_id: Callable[[], int],
        info: InfoDocument,
        authenticator: Authentication,
    ) -> None:
        super().__init__(
            options, registry, identity, clock, passwords, buffer_budget, log, random_bytes, next_id
        )
        self.info = info
        self.authenticator = authenticator
        self.statistics = Statistics()
        self.events: ClientEvents | None = None


class ClientPeer(Connection, MessageEndpoint):
    """What is known of one client, and the way to answer it.

    options: what CONNECT said.
    user: who it is; None before the login.
    identified: CONNECT has been accepted, or the first operation of a client that need not log in.
    client_permissions: what it may publish and receive.
    """

    kind = ConnectionKind.CLIENT
    tag = "cid"
    description: ClassVar = {"kind": "Client", "client_type": "nats"}
    context: ClientContext
    parser: ClientParser

    def __init__(self, context: ClientContext, wire: Wire, peer: tuple[str, int]) -> None:
        options = context.options
        super().__init__(context, wire, peer, options.write_deadline)
        self.options = ConnectOptions()
        self.user: User | None = None
        self.identified = False
        self.outbound = self
        self.client_permissions = ClientPermissions(context.clock)
        self.parser = ClientParser(
            options.max_control_line, options.max_payload, headers=not options.no_header_support
        )

    def refresh(self) -> None:
        """Work out what depends on CONNECT, permissions and account: one of them has changed."""
        raise NotImplementedError

    def violation(self, text: str) -> None:
        """Tell of something the client may not do; it stays connected."""
        self.context.log.error(f"{self} - {text}")
        self.send_line(encode.err(text))
