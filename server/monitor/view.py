"""The interface of a server that the documents use, and the parts that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...protocol.timestamp import format_rfc3339
from ..clock import SECOND

if TYPE_CHECKING:
    from ..accounts import AccountRegistry
    from ..client import Clients
    from ..clock import Clock
    from ..config.options import Options
    from ..connection import Listener
    from ..gateway import Gateways
    from ..identity import ServerIdentity
    from ..jetstream.engine import JetStream
    from ..leaf import Leafs
    from ..mqtt.listener import MQTTListener
    from ..operator import OperatorMode
    from ..route import Routes
    from ..websocket.listener import WebSocketListener


class MonitoredServer(Protocol):
    """A running server without its parts."""

    options: Options
    identity: ServerIdentity
    registry: AccountRegistry

    @property
    def clock(self) -> Clock:
        """The server's clock."""

    @property
    def port(self) -> int:
        """The real port for clients."""

    @property
    def accepting(self) -> bool:
        """Whether clients can connect."""


class MonitoredLinks(Protocol):
    """A server's connections to other servers. A part that is not enabled is None."""

    leafs: Leafs | None
    routes: Routes | None
    gateways: Gateways | None


class Monitored(MonitoredServer, MonitoredLinks, Protocol):
    """A running server and its parts, such as `app.Server`. A part that is not enabled is None."""

    clients: Clients
    websocket: WebSocketListener | None
    operator: OperatorMode | None
    jetstream: JetStream | None
    mqtt: MQTTListener | None

    @property
    def listener(self) -> Listener:
        """The sockets of clients."""


def head(server: MonitoredServer) -> dict[str, Any]:
    """Return the members that most documents begin with."""
    return {"server_id": server.identity.id, "now": format_rfc3339(server.clock.now())}


def uptime(nanoseconds: int) -> str:
    """Return a span in whole seconds: `1d2h3m4s`, years as `1y…`. Only leading zeros are left out."""
    rest = max(0, nanoseconds) // SECOND
    text = ""
    for letter, size in (("y", 365 * 86400), ("d", 86400), ("h", 3600), ("m", 60)):
        number, rest = divmod(rest, size)
        if number or text:
            text += f"{number}{letter}"
    return f"{text}{rest}s"
