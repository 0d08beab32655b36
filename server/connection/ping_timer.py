"""PingTimer: finds out whether the peer still answers, and how far away it is.

The first ping comes shortly after the connection begins, then one per interval, with up to 20 % of jitter. A
ping is left out if something came from the peer within the interval. A peer that leaves `ping_max` pings
unanswered is stale.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol

from ...protocol.wire import encode
from ..clock import SECOND
from .connection_part import ConnectionPart

if TYPE_CHECKING:
    from ..clock import Timer
    from .context import ConnectionContext
    from .upgrade import Upgrade

_REMEASURE = 3600 * SECOND
_JITTER = 5  # up to a fifth of the interval


class PingedConnection(Protocol):
    """The connection whose peer is pinged. `start` and `last_activity` are in ns."""

    start: int
    last_activity: int
    upgrade: Upgrade | None

    def send_line(self, line: bytes) -> None:
        """Queue a protocol line."""

    def stale(self) -> None:
        """Close, because the peer does not answer pings."""


class PingTimer(ConnectionPart[PingedConnection]):
    """The pings of one connection.

    rtt: the round trip time in ns; 0 while unknown.
    first: the longest time to the first ping, in ns.
    always: leave out no ping.
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
        """Arm the timer for the first ping; a second call arms it again."""
        interval = self._interval()
        self._arm(min(self._first, interval) if interval > 0 else self._first)

    def stop(self) -> None:
        """Send no more pings."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def estimate(self) -> None:
        """Estimate the round trip time from the answer to our greeting."""
        self.rtt = max(1, self._context.clock.now() - self._connection.start)

    def answered(self) -> None:
        """Take note of a PONG."""
        self._outstanding = 0
        if self._sent:
            self._measured = self._context.clock.now()
            self.rtt = max(1, self._measured - self._sent)
            self._sent = 0

    def _interval(self) -> int:
        """Return the time between pings in ns; WebSocket connections may have their own."""
        options = self._context.options
        if self._connection.upgrade is not None and options.websocket is not None:
            return options.websocket.ping_interval or options.ping_interval
        return options.ping_interval

    def _arm(self, delay: int) -> None:
        self.stop()
        delay += random.randrange(delay // _JITTER + 1)
        self._timer = self._context.clock.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        connection, context = self._connection, self._context
        options = context.options
        interval = self._interval()
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
