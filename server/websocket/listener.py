"""WebSocketListener: the listening socket for WebSocket, and the sockets that it has accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..connection import Listener
from ..connection.addresses import dialable, reachable
from .socket_protocol import WebSocketProtocol

if TYPE_CHECKING:
    from ..config.options import WebSocketOptions
    from ..connection import ConnectionContext
    from .socket_protocol import Accept


class WebSocketListener(Listener):
    """A listener for clients, and for leaf nodes if this server takes any."""

    def __init__(
        self, context: ConnectionContext, clients: Accept, leafs: Accept | None, mqtt: Accept | None = None
    ) -> None:
        """`clients`, `leafs` and `mqtt` make the connections; None of a kind that is not served."""
        super().__init__(context.log)
        self._context = context
        self._clients = clients
        self._leafs = leafs
        self._mqtt = mqtt

    @property
    def options(self) -> WebSocketOptions:
        """The options in force."""
        options = self._context.options.websocket
        assert options is not None
        return options

    @property
    def scheme(self) -> str:
        """Either ws or wss."""
        return "ws" if self.options.tls is None else "wss"

    @property
    def url(self) -> str:
        """Where clients connect to, `ws://host:port` or `wss://host:port`."""
        host = self.options.host
        return f"{self.scheme}://{dialable(host)}:{self.port}"

    async def start(self) -> None:
        """Listen. Raises OSError if the address is in use, TLSConfigError if certificates cannot be used."""
        options = self.options
        if options.tls is not None:
            self.tls_context(options.tls)
        await self.listen(self._protocol, options.host, options.port or 0)
        log = self._context.log
        log.info(f"Listening for websocket clients on {self.scheme}://{options.host}:{self.port}")
        if options.tls is None:
            log.warning("Websocket not configured with TLS. DO NOT USE IN PRODUCTION!")

    def _protocol(self) -> WebSocketProtocol:
        return WebSocketProtocol(self._context, self, self._clients, self._leafs, self._mqtt)

    def urls(self) -> list[str]:
        """Return where clients of the cluster may connect to."""
        options = self.options
        if options.advertise:
            _host, colon, port = options.advertise.rpartition(":")
            return [options.advertise if colon and port.isdigit() else f"{options.advertise}:{self.port}"]
        return [f"{host}:{self.port}" for host in reachable(options.host)]
