"""Pings: does the peer still answer, and how far away is it.

The first comes a little after the connection, then one per interval, with up to 20 % of jitter. One is left
out when something came from the peer within the interval. A peer that leaves `ping_max` unanswered is stale.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol

from ...protocol.wire import encode
from ..clock import SECOND
from .part import Part

if TYPE_CHECKING:
    from ..clock import Timer
    from .context import ConnectionContext

_REMEASURE = 3600 * SECOND
_JITTER = 5  # a fifth


class PingedConnection(Protocol):
    """The connection whose peer is pinged. start, last_activity: ns."""

    start: int
    last_activity: int

    def send_line(self, line: bytes) -> None:
        """Queue a protocol line."""

    def stale(self) -> None:
        """The peer leaves pings unanswered: close."""


class PingTimer(Part[PingedConnection]):
    """The pings of one connection.

    rtt: ns, 0 while unknown.
    first: ns to the first ping, at most.
    always: no ping is left out.
    """

    __slots__ = ("_context", "_first", "_measured", "_outstanding", "_sent", "_timer", "always", "rtt")

    def __init__(
        self, connection: PingedConnection, context: ConnectionContext, first: int, *, always: bool = False
    ) -> None:
        super().__init__(connection)
        self._context = context
        self._first = first
        self._timer: Timer | None = None
        self._outstanding = 0
        self._sent = 0
        self._measured = 0
        self.always = always
        self.rtt = 0

    def start(self) -> None:
        """Arm the first ping; once more, and it is armed anew."""
        interval = self._context.options.ping_interval
        self._arm(min(self._first, interval) if interval > 0 else self._first)

    def stop(self) -> None:
        """No more pings."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def estimate(self) -> None:
        """The peer has answered our greeting: a first idea of the distance."""
        self.rtt = max(1, self._context.clock.now() - self._connection.start)

    def answered(self) -> None:
        """PONG came."""
        self._outstanding = 0
        if self._sent:
            self._measured = self._context.clock.now()
            self.rtt = max(1, self._measured - self._sent)
            self._sent = 0

    def _arm(self, delay: int) -> None:
        self.stop()
        delay += random.randrange(delay // _JITTER + 1)
        self._timer = self._context.clock.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        connection, context = self._connection, self._context
        options = context.options
        interval = options.ping_interval
        now = context.clock.now()
        quiet = self.always or now - connection.last_activity >= interval
        if quiet or now - self._measured >= _REMEASURE:
            if self._outstanding + 1 > options.ping_max:
                connection.stale()
                return
            self._outstanding += 1
            self._sent = now
            connection.send_line(encode.PING)
            context.flusher.flush()
        if interval > 0:
            self._arm(interval)
