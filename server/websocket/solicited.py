"""SolicitedWebSocket: the shell of one socket that was dialled: proxy, TLS, upgrade, then frames.

Promises that whatever fails is reported once, and that all of it takes no longer than its time. TLS may come
twice: to a proxy, and through it to the hub.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...protocol.lazy_dataclass import dataclass
from ..connection import SocketProtocol
from ..connection.upgrade import Upgrade
from .frames import FrameReader, FrameWriter
from .solicitation import Agreement, SolicitationError, Tunnel, UpgradeExchange
from .wire import MOST_INFLATED, WebSocketWire

if TYPE_CHECKING:
    import asyncio

    from ..connection import ConnectionContext, ConnectionTransport
    from ..connection.secure import SecureWire
    from ..connection.socket_protocol import Sockets
    from .socket_protocol import Accept

_CLOSED = "invalid websocket connection: closed without an answer"
Secure = Callable[["ConnectionTransport"], "SecureWire"]


@dataclass(frozen=True, slots=True)
class Solicitation:
    """What is wanted of a hub.

    authority, path: the hub's `host:port`, and what to ask for there.
    timeout: for everything until the hub grants the upgrade, in ns.
    secure: puts TLS on the connection to the hub; None without TLS.
    proxied: whether the socket leads to a proxy. `proxy_login`: user and password for it, if any.
    proxy_secure: puts TLS on the connection to the proxy.
    """

    authority: str
    path: str
    compress: bool
    no_masking: bool
    timeout: int
    secure: Secure | None = None
    proxied: bool = False
    proxy_login: tuple[str, str] | None = None
    proxy_secure: Secure | None = None


class SolicitedWebSocket(SocketProtocol):
    """One socket. `make` makes its connection; `failed` is told why there is none, and `lost` the end."""

    def __init__(
        self,
        context: ConnectionContext,
        sockets: Sockets,
        wanted: Solicitation,
        make: Accept,
        failed: Callable[[str], None],
        lost: Callable[[SocketProtocol], None],
    ) -> None:
        super().__init__(context, sockets)
        self._wanted = wanted
        self._make_connection = make
        self._failed = failed
        self._lost = lost
        self._peer = ("", 0)
        self._top: Any = None  # the wire on top of all TLS there is
        self._layers: list[SecureWire] = []
        self._exchange: Tunnel | UpgradeExchange | None = None
        self._framed: WebSocketWire | None = None
        self._done = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask the proxy, or the hub."""
        wanted = self._wanted
        self._top, self._peer = self._take(transport)
        self._timer = self._context.clock.call_later(wanted.timeout, self._too_late)
        if wanted.proxied:
            self._begin_tls(wanted.proxy_secure)
            self._send(Tunnel(wanted.authority, wanted.proxy_login))
        else:
            self._ask()

    def data_received(self, data: bytes) -> None:
        """Serve one read."""
        from ..connection.secure import TLSHandshakeError

        try:
            for layer in self._layers:
                data = layer.feed(data)
            if self._framed is not None:
                if data:
                    self._framed.receive(data)
            elif data and not self._done:
                self._go_on(data)
        except (SolicitationError, TLSHandshakeError) as error:
            self._give_up(str(error))
        if any(layer.ended for layer in self._layers):
            if self.connection is not None:
                self.connection.ended()
            else:
                self._give_up(_CLOSED)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection, whose socket is gone. Whoever dialled it may dial again."""
        if self.connection is None:
            self._give_up(_CLOSED)
        super().connection_lost(exc)
        self._lost(self)

    def close(self, reason: str) -> None:
        """Close after sending what is queued."""
        if self.connection is None:
            self._done = True
            self.abort()
        super().close(reason)

    def _go_on(self, data: bytes) -> None:
        exchange = self._exchange
        if isinstance(exchange, Tunnel):
            if exchange.feed(data):
                self._ask()
        elif exchange is not None:
            agreed = exchange.feed(data)
            if agreed is not None:
                self._agree(agreed)

    def _ask(self) -> None:
        wanted = self._wanted
        self._begin_tls(wanted.secure)
        self._send(
            UpgradeExchange(
                wanted.authority,
                wanted.path,
                self._context.random_bytes,
                compress=wanted.compress,
                no_masking=wanted.no_masking,
            )
        )

    def _begin_tls(self, secure: Secure | None) -> None:
        if secure is not None:
            layer = secure(self._top)
            self._layers.append(layer)
            self._top = layer
            layer.feed(b"")

    def _send(self, exchange: Tunnel | UpgradeExchange) -> None:
        self._exchange = exchange
        self._top.write(exchange.request)

    def _agree(self, agreed: Agreement) -> None:
        context = self._context
        self._stop_timer()
        self._done = True
        reader = FrameReader(masked=False, most_inflated=MOST_INFLATED if agreed.compress else 0)
        writer = FrameWriter(mask=context.random_bytes if agreed.masks else None, compress=agreed.compress)
        framed = WebSocketWire(context, self._top, reader, writer)
        connection = self._make_connection(framed, self._peer)
        connection.upgrade = Upgrade()
        connection.secure = self._layers[-1].agreed if self._wanted.secure is not None else None
        framed.attach(connection)
        self.connection, self._framed = connection, framed
        self._watch_writes(connection)
        connection.open()
        if agreed.rest:
            framed.receive(agreed.rest)

    def _give_up(self, why: str) -> None:
        if self.connection is not None:
            self.connection.close("Read Error")
        elif not self._done:
            self._done = True
            self._failed(why)
        self.abort()

    def _too_late(self) -> None:
        self._timer = None
        self._give_up("the answer did not come in time")
