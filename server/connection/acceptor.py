"""Acceptor: listening sockets whose new connections are accepted at once and opened a few at a time.

The loop's own server accepts and opens all new connections in one turn: a thousand at once occupy it for a
tenth of a second, and those for which the kernel's queue has no room hang. Promises: no callback opens more
than a few; new connections are accepted before the queue is full; without free descriptors it pauses, and
logs that.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..logging import Logger
    from .socket_protocol import SocketProtocol

_QUEUE = 65_535  # the kernel uses its own limit if that is lower
_ACCEPTED = 128  # in one callback
_OPENED = 16  # in one callback
_REST_SECONDS = 1.0


async def bind(host: str, port: int) -> list[socket.socket]:
    """Return a bound socket for each address of `host`; "" means every address.

    Raises OSError, which names the address.
    """
    kind, passive = socket.SOCK_STREAM, socket.AI_PASSIVE
    try:
        numeric = passive | socket.AI_NUMERICHOST  # a number is resolved without a thread
        # The host as bytes, since a str would load the encoding of international names.
        found = socket.getaddrinfo(host.encode() or None, port, type=kind, flags=numeric)
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=kind, flags=passive)
    sockets: list[socket.socket] = []
    try:
        for family, _, protocol, _, address in dict.fromkeys(found):
            try:
                sock = socket.socket(family, kind, protocol)
            except OSError:
                continue  # no IPv6 on this machine
            sockets.append(sock)
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                sock.bind(address)
            except OSError as error:
                text = f"error while attempting to bind on address {address!r}: {str(error.strerror).lower()}"
                raise OSError(error.errno, text) from None
    except OSError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


class Acceptor:
    """Listening sockets that make a protocol for each connection; see the module."""

    def __init__(self, make: Callable[[], SocketProtocol], sockets: list[socket.socket], log: Logger) -> None:
        self._loop = asyncio.get_running_loop()
        self._make = make
        self._sockets = sockets
        self._log = log
        self._accepted: deque[socket.socket] = deque()
        self._opening: set[asyncio.Task[Any]] = set()
        self._scheduled = False
        self._closed = False

    def start(self) -> None:
        """Listen on the sockets, and accept the connections that come."""
        for sock in self._sockets:
            sock.listen(_QUEUE)
            self._loop.add_reader(sock, self._accept, sock)

    async def close(self) -> None:
        """Stop listening.

        Connections that are not opened yet are closed. Those that are being opened are waited for.
        """
        self._closed = True
        for sock in self._sockets:
            self._loop.remove_reader(sock)
            sock.close()
        while self._accepted:
            self._accepted.popleft().close()
        await asyncio.gather(*self._opening)

    def _accept(self, listening: socket.socket) -> None:
        try:
            for _ in range(_ACCEPTED):
                connection, _ = listening.accept()
                connection.setblocking(False)
                self._accepted.append(connection)
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            pass
        except OSError as error:
            self._rest(listening, error)
        if not self._scheduled:
            self._open()

    def _rest(self, listening: socket.socket, error: OSError) -> None:
        """Pause, because descriptors or memory are used up and it takes a moment until that changes."""
        self._log.error(f"Accept error: {error.strerror}; again in {_REST_SECONDS:.0f} s")
        self._loop.remove_reader(listening)
        self._loop.call_later(_REST_SECONDS, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        if not self._closed:
            self._loop.add_reader(listening, self._accept, listening)

    def _open(self) -> None:
        self._scheduled = False
        for _ in range(min(_OPENED, len(self._accepted))):
            task = self._loop.create_task(self._take(self._accepted.popleft()))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        if self._accepted:
            self._scheduled = True
            self._loop.call_soon(self._open)

    async def _take(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, connection)
        except OSError:
            connection.close()  # the peer is gone already
