"""MQTTListener: the listening socket for MQTT clients, and the sockets that it has accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..connection import Listener
from ..connection.addresses import dialable
from .account_sessions import Broker
from .connection import MQTTConnection
from .socket_protocol import MQTTProtocol

if TYPE_CHECKING:
    from ..accounts import Account
    from ..client import Clients
    from ..config.options import MQTTOptions
    from ..connection import ConnectionTransport


class MQTTListener(Listener):
    """A listener for MQTT clients; those over WebSocket come by `accept`, too."""

    def __init__(self, clients: Clients) -> None:
        super().__init__(clients.log)
        self._clients = clients
        self._broker = Broker(clients)

    @property
    def options(self) -> MQTTOptions:
        """The options in force."""
        options = self._clients.options.mqtt
        assert options is not None
        return options

    @property
    def scheme(self) -> str:
        """Either mqtt or tls."""
        return "mqtt" if self.options.tls is None else "tls"

    @property
    def url(self) -> str:
        """Where clients connect to, `mqtt://host:port` or `tls://host:port`."""
        host = self.options.host
        return f"{self.scheme}://{dialable(host)}:{self.port}"

    def accept(self, wire: ConnectionTransport, peer: tuple[str, int]) -> MQTTConnection:
        """Return a connection for a socket that was accepted from `peer`, (host, port)."""
        return MQTTConnection(self._clients, self._clients, wire, peer, self._broker)

    async def start(self) -> None:
        """Listen. Raises OSError if the address is in use, TLSConfigError if certificates cannot be used."""
        options = self.options
        if options.tls is not None:
            self.tls_context(options.tls)
        make = lambda: MQTTProtocol(self._clients, self, self.accept)  # noqa: E731
        await self.listen(make, options.host, options.port or 0)
        self._log.info(f"Listening for MQTT clients on {self.scheme}://{options.host}:{self.port}")

    def forget(self, account: Account) -> None:
        """Ask JetStream nothing more for an account that is gone."""
        self._broker.forget(account)

    def stop_asking(self) -> None:
        """Ask JetStream nothing more. The clients are closed."""
        self._broker.stop()
