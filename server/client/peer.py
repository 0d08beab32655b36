"""ClientPeer is one client as the parts of its connection see it, ClientContext what all clients share.

Neither knows the parts or the list of clients: `ClientConnection` makes the parts, and `Clients` the
connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from ...protocol.quoting import quoted
from ...protocol.wire import encode
from ...protocol.wire.client import ClientParser
from ..accounts.auth import STANDARD, WEBSOCKET
from ..accounts.subscription import ConnectionKind
from ..connection import Connection, ConnectionContext
from .connect import ConnectOptions
from .permissions import ClientPermissions

if TYPE_CHECKING:
    from ..accounts import Account, AccountRegistry
    from ..accounts.auth import Authentication
    from ..accounts.subscription import SubscriptionOwner
    from ..accounts.users import User
    from ..config.options import Options
    from ..connection import ConnectionServices, ConnectionTransport
    from .info import InfoDocument


class Statistics:
    """Counters since the start of the server.

    in_msgs, in_bytes, out_msgs, out_bytes: messages and bytes from and to clients.
    slow_consumers, stale: how often clients did not read in time, or were closed as they answered no pings.
    stalls: how often a client was stalled because others read too slowly.
    total: how many clients have connected.
    """

    __slots__ = ("in_bytes", "in_msgs", "out_bytes", "out_msgs", "slow_consumers", "stale", "stalls", "total")

    def __init__(self) -> None:
        self.in_msgs = self.in_bytes = self.out_msgs = self.out_bytes = 0
        self.slow_consumers = self.stale = self.stalls = self.total = 0


class ClientEvents(Protocol):
    """Is called when clients come and go; the system services implement it."""

    def client_connected(self, connection: ClientPeer) -> None:
        """A client has authenticated."""

    def client_disconnected(self, connection: ClientPeer, reason: str) -> None:
        """A client was closed. One that was never let in has no account."""

    def client_refused(self, connection: ClientPeer, reason: str, account: Account | None = None) -> None:
        """A client failed to authenticate. `account` is the one whose callout service refused it."""


class ClientContext(ConnectionContext):
    """What client connections share; see ConnectionContext.

    info: the INFO of all clients.
    authenticator: decides who may connect.
    statistics: counters of all clients.
    events: is called when clients come and go, if set.
    """

    def __init__(
        self,
        options: Options,
        registry: AccountRegistry,
        services: ConnectionServices,
        info: InfoDocument,
        authenticator: Authentication,
    ) -> None:
        super().__init__(options, registry, services)
        self.info = info
        self.authenticator = authenticator
        self.statistics = Statistics()
        self.events: ClientEvents | None = None
        self._overrides: dict[str, Authentication] = {}

    def override(self, overrides: dict[str, Authentication]) -> None:
        """Set what decides about clients of some types; all others have the same."""
        self._overrides = overrides

    def authenticator_of(self, connection: ClientPeer) -> Authentication:
        """Return what decides about a client."""
        return self._overrides.get(connection.client_type, self.authenticator)

    def maps_certificates(self, connection: ClientPeer) -> bool:
        """Return whether the certificate of a client says which user it is."""
        options = self.options
        blocks = {"websocket": options.websocket, "mqtt": options.mqtt}
        block = blocks.get(connection.client_type, options)
        return block is not None and block.tls is not None and block.tls.verify_and_map

    def auth_timeout_of(self, connection: ClientPeer) -> int:
        """Return how long a client may take to log in, in ns."""
        options = self.options
        block = {"websocket": options.websocket, "mqtt": options.mqtt}.get(connection.client_type)
        own = None if block is None or block.authorization is None else block.authorization.timeout
        return own or self.options.auth_timeout


class ClientPeer(Connection):
    """What is known of one client, and how to answer it.

    options: what the client sent in CONNECT.
    user: the authenticated user; None before the login.
    identified: CONNECT was accepted, or the first operation of a client that need not log in.
    client_permissions: what the client may publish and receive.
    mqtt_client: the client id of an MQTT client, "" of any other.
    """

    kind = ConnectionKind.CLIENT
    tag = "cid"
    description: ClassVar = {"kind": "Client", "client_type": "nats"}
    context: ClientContext
    parser: ClientParser
    mqtt_client: str = ""

    def __init__(self, context: ClientContext, wire: ConnectionTransport, peer: tuple[str, int]) -> None:
        options = context.options
        super().__init__(context, wire, peer, options.write_deadline)
        self.take_write_limits()
        self.options = ConnectOptions()
        self.user: User | None = None
        self.identified = False
        self.outbound = self
        self.client_permissions = ClientPermissions(context.clock)
        self.parser = ClientParser(
            options.max_control_line, options.max_payload, headers=not options.no_header_support
        )

    def take_write_limits(self) -> None:
        """Take the options' limits of the time that a write may take."""
        options = self.context.options
        self.write_deadline = options.write_deadline
        self.retries = options.write_timeout == "retry"

    def count_slow(self) -> None:
        """See `Outbound`."""
        self.context.statistics.slow_consumers += 1

    @property
    def connection_type(self) -> str:
        """How it is connected, as in a user's allowed_connection_types."""
        return STANDARD if self.upgrade is None else WEBSOCKET

    def client_info(self, *, share: bool = True) -> dict[str, object]:
        """See `Connection.client_info`."""
        info = super().client_info(share=share)
        if share:
            info["client_type"] = self.client_type
        return info

    def may_also_publish(self, account: SubscriptionOwner, subject: str) -> bool:
        """See MessageEndpoint."""
        if self.account is not account:
            return False
        if self.client_permissions.may_publish(subject):
            return True
        self.violation(f"Permissions Violation for Publish to {quoted(subject)}")
        return False

    @property
    def client_type(self) -> str:
        """How it is connected, as monitoring and events show it."""
        return "nats" if self.upgrade is None else "websocket"

    def refresh(self) -> None:
        """Recompute what depends on CONNECT, permissions and account, because one of them has changed."""
        raise NotImplementedError

    def violation(self, text: str) -> None:
        """Tell the client that it may not do something, and log it. The client stays connected."""
        self.context.log.error(f"{self} - {text}")
        self.send_line(encode.err(text))
