"""ClientListener: the listening socket for clients, and the sockets that it has accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..connection import Listener
from ..connection.handshake_rate import HandshakeRate
from .socket_protocol import ClientProtocol

if TYPE_CHECKING:
    from .clients import Clients


class ClientListener(Listener):
    """A listener for clients. INFO contains its port once that is known.

    handshakes: how many TLS handshakes may begin.
    """

    def __init__(self, clients: Clients) -> None:
        super().__init__(clients.log)
        self._clients = clients
        self.handshakes = HandshakeRate(clients.clock, clients.log)

    async def start(self, host: str, port: int) -> None:
        """Listen on `host` and `port`; port 0 or -1 takes a free one.

        Raises OSError, which names the address, if it is in use, and TLSConfigError if certificates cannot be
        used.
        """
        if self._clients.options.tls is not None:
            self.tls_context(self._clients.options.tls)
        await self.listen(lambda: ClientProtocol(self._clients, self, self.handshakes), host, port)
        self._clients.info.port = self.port
