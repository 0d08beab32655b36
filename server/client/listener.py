"""The asyncio shell of client connections: sockets in, transports for `ClientConnection`, bytes both ways."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, cast

from .connection import ClientConnection

if TYPE_CHECKING:
    from .clients import Clients
    from .outbound import Wire

_BACKLOG = 1024
_CLOSE_SECONDS = 2.0  # for what is still to be sent when the server stops


class ClientProtocol(asyncio.Protocol):
    """One accepted socket. Thin: every decision is the connection's."""

    def __init__(self, listener: ClientListener) -> None:
        self._listener = listener
        self._clients = listener.accepted(self)
        self._wire: asyncio.Transport | None = None
        self.connection: ClientConnection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet the client."""
        wire = self._wire = cast("asyncio.Transport", transport)
        sock = wire.get_extra_info("socket")
        if sock is not None and sock.family in {socket.AF_INET, socket.AF_INET6}:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = wire.get_extra_info("peername") or ("", 0)
        connection = ClientConnection(self._clients, cast("Wire", wire), (str(peer[0]), int(peer[1])))
        self.connection = connection
        wire.set_write_buffer_limits(high=connection.stall_at)
        connection.open()

    def data_received(self, data: bytes) -> None:
        """Serve a read, then hold back who outruns the others."""
        connection = self.connection
        assert connection is not None
        connection.receive(data)
        behind = self._clients.flusher.behind
        if behind:
            connection.stall(self._clients.flusher.take_behind())

    def resume_writing(self) -> None:
        """The peer has read what it was behind with."""
        if self.connection is not None:
            self.connection.writable()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        if self.connection is not None:
            self.connection.lost("Client Closed" if exc is None else "Read Error")
            self._clients.flusher.flush()
        self._listener.gone(self)

    def abort(self) -> None:
        """Close now, whatever was not sent."""
        if self._wire is not None:
            self._wire.abort()


class ClientListener:
    """The listening socket for clients. port: the real one, once started."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._server: asyncio.Server | None = None
        self._open: set[ClientProtocol] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 or -1 takes a free one. Raises OSError, naming the address, when it is taken."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: ClientProtocol(self), host or None, max(0, port), backlog=_BACKLOG
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._clients.info.port = self.port

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
