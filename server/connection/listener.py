"""Listener: the listening socket of one kind of connection, and all sockets of that kind.

The sockets are accepted or dialled. Promises that `closed` returns only when none of them is open.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from .acceptor import Acceptor, bind

if TYPE_CHECKING:
    import ssl

    from ..config.options import TLSOptions
    from ..logging import Logger
    from .socket_protocol import SocketProtocol

_CLOSE_SECONDS = 2.0  # to send what is queued when the server stops


class Listener:
    """The sockets of one kind of connection.

    port: the actual port once it listens; 0 before.
    certificate_end: when the certificate that it shows expires, in ns since 1970; 0 for none.
    """

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._acceptor: Acceptor | None = None
        self._open: set[SocketProtocol] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._tls: tuple[TLSOptions, ssl.SSLContext] | None = None
        self.port = 0
        self.certificate_end = 0

    async def listen(self, make: Callable[[], SocketProtocol], host: str, port: int) -> None:
        """Listen on `host` and `port`. Port 0 or -1 takes a free one; host "" means every address.

        Raises OSError, which names the address, if it is in use.
        """
        try:
            sockets = await bind(host, max(0, port))
        except socket.gaierror as error:
            text = f"Error listening on port: {host}:{port}: {error.strerror}"
            raise OSError(error.errno, text) from None
        self.port = sockets[0].getsockname()[1]
        self._acceptor = Acceptor(make, sockets, self._log)
        self._acceptor.start()

    @property
    def accepting(self) -> bool:
        """Whether the socket listens: not before the start, and no longer in lame duck mode."""
        return self._acceptor is not None

    def tls_context(self, options: TLSOptions) -> ssl.SSLContext:
        """Return the server's TLS context for `options`; the latest one is cached. Raises TLSConfigError."""
        from ..config.tls import server_context

        if self._tls is None or self._tls[0] != options:
            self.use_tls(options, server_context(options))
        assert self._tls is not None
        return self._tls[1]

    def use_tls(self, options: TLSOptions, context: ssl.SSLContext) -> None:
        """Use a context that was just made for `options` in new handshakes."""
        from ..config.certificate import file_not_after

        self._tls = (options, context)
        try:
            self.certificate_end = file_not_after(options.first_certificate)
        except (OSError, ValueError):
            self.certificate_end = 0

    def opened(self, protocol: SocketProtocol) -> None:
        """Take note that a socket was accepted or dialled."""
        self._open.add(protocol)
        self._idle.clear()

    def gone(self, protocol: SocketProtocol) -> None:
        """Take note that a socket is closed."""
        self._open.discard(protocol)
        if not self._open:
            self._idle.set()

    async def stop_accepting(self) -> None:
        """Close the listening socket; connections stay open."""
        if self._acceptor is not None:
            acceptor, self._acceptor = self._acceptor, None
            await acceptor.close()

    def close_all(self, reason: str) -> None:
        """Close every socket after sending what is queued."""
        for protocol in list(self._open):
            protocol.close(reason)

    async def closed(self) -> None:
        """Return when every socket is closed. Those whose peers do not read are cut off after a while."""
        try:
            await asyncio.wait_for(self._idle.wait(), _CLOSE_SECONDS)
        except TimeoutError:
            for protocol in list(self._open):
                protocol.abort()
            await self._idle.wait()
