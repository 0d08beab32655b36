"""KeepAlive: closes a client that sends nothing for one and a half times its keep alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import ref

from ..clock import SECOND
from ..connection.ping_timer import PingedConnection, PingTimer

if TYPE_CHECKING:
    from ..connection import ConnectionContext


class KeptConnection(PingedConnection, Protocol):
    """The connection whose peer has a keep alive."""

    @property
    def holds_back(self) -> bool:
        """Whether the server reads nothing from the peer at the moment."""


class KeepAlive(PingTimer):
    """Stands where other connections have their pings, of which it sends none."""

    __slots__ = ("_kept", "_span")

    def __init__(self, connection: KeptConnection, context: ConnectionContext) -> None:
        super().__init__(connection, context, 0)
        self._kept = ref(connection)
        self._span = 0

    def begin(self, seconds: int) -> None:
        """Close the client when it has sent nothing for 1.5 times so many seconds; 0: never."""
        self._span = seconds * 3 * SECOND // 2
        if self._span:
            self._after(self._span)

    def start(self) -> None:
        """Do nothing: there are no pings."""

    def estimate(self) -> None:
        """Do nothing: there was no greeting to measure by."""

    def _after(self, span: int) -> None:
        self.stop()
        self._timer = self._context.clock.call_later(span, self._tick)

    def _tick(self) -> None:
        self._timer = None
        kept = self._kept()
        if kept is not None and kept.holds_back:
            self._after(self._span)
            return
        left = self._connection.last_activity + self._span - self._context.clock.now()
        if left > 0:
            self._after(left)
        else:
            self._connection.stale()
