"""WebSocketProtocol: the shell of one accepted socket. TLS, if any, comes first, then HTTP, then frames.

Promises that the connection begins only when the request is granted, that all of that takes no longer than
`handshake_timeout`, and that what a stranger can have this server keep until then is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..clock import SECOND
from ..config.ocsp_peer import PeerRules
from ..connection import SocketProtocol
from .frames import FrameReader, FrameWriter
from .request import Accepted, Refused, UpgradeRequest
from .wire import MOST_INFLATED, WebSocketWire

if TYPE_CHECKING:
    import asyncio

    from ..config.options import WebSocketOptions
    from ..connection import Connection, ConnectionContext, ConnectionTransport
    from ..connection.secure import SecureWire
    from ..connection.socket_protocol import Sockets

HANDSHAKE_TIMEOUT = 10 * SECOND  # if the configuration sets no timeout
# A client's compressed message may become so many times `max_payload`, but no more than the most.
_INFLATED_PAYLOADS = 8

Accept = Callable[["ConnectionTransport", tuple[str, int]], "Connection"]


def most_inflated(max_payload: int) -> int:
    """Return how many bytes a compressed message may become."""
    return min(_INFLATED_PAYLOADS * max_payload, MOST_INFLATED)


class WebSocketProtocol(SocketProtocol):
    """One accepted socket. `clients`, `leafs` and `mqtt` make its connection, if they are served."""

    def __init__(
        self,
        context: ConnectionContext,
        sockets: Sockets,
        clients: Accept,
        leafs: Accept | None,
        mqtt: Accept | None = None,
    ) -> None:
        super().__init__(context, sockets)
        self._clients = clients
        self._leafs = leafs
        self._mqtt = mqtt
        self._peer = ("", 0)
        self._wire: ConnectionTransport | None = None  # without frames
        self._framed: WebSocketWire | None = None
        self._request: UpgradeRequest | None = None

    @property
    def _options(self) -> WebSocketOptions:
        options = self._context.options.websocket
        assert options is not None
        return options

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for TLS or the request."""
        self._wire, self._peer = self._take(transport)
        options = self._options
        if options.tls is not None:
            from ..connection.secure import SecureWire

            context = self._sockets.tls_context(options.tls)
            self._wire = self._secure = SecureWire(self._wire, context, options.tls.pinned_certs)
        self._request = UpgradeRequest(options, secure=options.tls is not None, mqtt=self._mqtt is not None)
        self._timer = self._context.clock.call_later(
            options.handshake_timeout or HANDSHAKE_TIMEOUT, self._too_late
        )

    def data_received(self, data: bytes) -> None:
        """Serve one read."""
        secure = self._secure
        if secure is not None:
            data = self._decipher(secure, data)
        framed = self._framed
        if framed is not None:
            if data:
                framed.receive(data)
        elif data and self._request is not None:
            self._ask(self._request, data)
        if secure is not None and secure.ended:
            if self.connection is not None:
                self.connection.ended()
            else:
                self.abort()

    def close(self, reason: str) -> None:
        """Close after sending what is queued."""
        if self.connection is None:
            self.abort()
        super().close(reason)

    def _ask(self, request: UpgradeRequest, data: bytes) -> None:
        answer = request.feed(data)
        if isinstance(answer, Refused):
            self._refuse(answer)
        elif answer is not None:
            self._accept(answer)

    def _refuse(self, answer: Refused) -> None:
        assert self._wire is not None
        self._request = None
        self._context.log.error(f"{self._name()} - {answer.why}")
        self._wire.write(answer.response)
        self._wire.close()

    def _accept(self, answer: Accepted) -> None:
        wire, context = self._wire, self._context
        assert wire is not None
        self._stop_timer()
        self._request = None
        wire.write(answer.response)
        accept = self._leafs if answer.leaf else self._mqtt if answer.mqtt else self._clients
        if accept is None:
            context.log.error(f"{self._name()} - Not configured to accept leaf node connections")
            wire.close()
            return
        most = 0
        if answer.compress:  # a leaf node sends all that it has pending in one message
            most = MOST_INFLATED if answer.leaf else most_inflated(context.options.max_payload)
        reader = FrameReader(masked=answer.masked, most_inflated=most)
        framed = WebSocketWire(context, wire, reader, FrameWriter(compress=answer.compress))
        connection = accept(framed, self._peer)
        connection.upgrade = answer.upgrade
        connection.secure = None if self._secure is None else self._secure.agreed
        framed.attach(connection)
        self.connection, self._framed = connection, framed
        self._watch_writes(connection)
        if self._secure is not None:
            tls = self._options.tls
            self._peer_rules = None if tls is None else PeerRules.of(tls.ocsp_peer)
            self._check_peer(connection, self._secure)
        connection.open()

    def _decipher(self, secure: SecureWire, data: bytes) -> bytes:
        from ..connection.secure import TLSHandshakeError

        try:
            return secure.feed(data)
        except TLSHandshakeError as error:
            self._failed(str(error))
            return b""

    def _failed(self, text: str) -> None:
        self._context.log.error(f"{self._name()} - {self.failure}: {text}")
        self.abort()

    def _too_late(self) -> None:
        self._timer = None
        self._context.log.debug(f"{self._name()} - websocket handshake timeout")
        self.abort()

    def _name(self) -> str:
        return f"{self._peer[0]}:{self._peer[1]}"
