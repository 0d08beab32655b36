"""The listening socket for clients, and the sockets it has accepted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .socket_protocol import ClientProtocol

if TYPE_CHECKING:
    import ssl

    from ..config.options import TLSOptions
    from .clients import Clients

_BACKLOG = 1024
_CLOSE_SECONDS = 2.0  # for what is still to be sent when the server stops


class ClientListener:
    """The listening socket for clients. port: the real one, once started."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._server: asyncio.Server | None = None
        self._open: set[ClientProtocol] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._tls: tuple[TLSOptions, ssl.SSLContext] | None = None
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 or -1 takes a free one.

        Raises OSError, naming the address, when it is taken; TLSConfigError for certificates that cannot be
        used.
        """
        if self._clients.options.tls is not None:
            self.tls_context(self._clients.options.tls)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: ClientProtocol(self), host or None, max(0, port), backlog=_BACKLOG
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._clients.info.port = self.port

    def tls_context(self, options: TLSOptions) -> ssl.SSLContext:
        """The context of `options`, the latest being kept. Raises TLSConfigError."""
        from ..config.tls import server_context

        if self._tls is None or self._tls[0] != options:
            self._tls = (options, server_context(options))
        return self._tls[1]

    def accepted(self, protocol: ClientProtocol) -> Clients:
        """A socket was accepted."""
        self._open.add(protocol)
        self._idle.clear()
        return self._clients

    def gone(self, protocol: ClientProtocol) -> None:
        """A socket is closed for good."""
        self._open.discard(protocol)
        if not self._open:
            self._idle.set()

    async def stop_accepting(self) -> None:
        """Close the listening socket; connections stay."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def closed(self) -> None:
        """Return when every socket is closed; those whose peers do not read are cut off."""
        try:
            await asyncio.wait_for(self._idle.wait(), _CLOSE_SECONDS)
        except TimeoutError:
            for protocol in list(self._open):
                protocol.abort()
            await self._idle.wait()
