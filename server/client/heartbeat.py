"""Pings: does the peer still answer, and how far away is it.

The first comes about 2 s after the connection, then one per interval, with up to 20 % of jitter. One is left
out when the peer was heard of within the interval. A peer that leaves `ping_max` unanswered is stale.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from ...protocol.wire import encode
from ..clock import SECOND

if TYPE_CHECKING:
    from ..clock import Timer
    from .connection import ClientConnection

_FIRST = 2 * SECOND
_REMEASURE = 3600 * SECOND
_JITTER = 5  # a fifth


class Heartbeat:
    """rtt: ns, 0 while unknown. greeted: the client's first PING was answered."""

    __slots__ = ("_connection", "_measured", "_outstanding", "_sent", "_timer", "greeted", "rtt")

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._timer: Timer | None = None
        self._outstanding = 0
        self._sent = 0
        self._measured = 0
        self.rtt = 0
        self.greeted = False

    def start(self) -> None:
        """Arm the first ping; a CONNECT arms it anew."""
        interval = self._connection.clients.options.ping_interval
        self._arm(min(_FIRST, interval) if interval > 0 else _FIRST)

    def stop(self) -> None:
        """No more pings."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def pinged(self) -> None:
        """PING came: answer; after the first, tell what is now known of the connection."""
        connection = self._connection
        connection.send_line(encode.PONG)
        if not self.greeted:
            self.greeted = True
            if connection.options.protocol >= 1:
                connection.handshake.send_connect_info()

    def answered(self) -> None:
        """PONG came."""
        connection = self._connection
        self._outstanding = 0
        if self._sent:
            self._measured = connection.clock.now()
            self.rtt = max(1, self._measured - self._sent)
            self._sent = 0

    def connected(self) -> None:
        """CONNECT came: a first estimate of the distance."""
        connection = self._connection
        self.rtt = max(1, connection.clock.now() - connection.start)
        self.start()

    def _arm(self, delay: int) -> None:
        self.stop()
        delay += random.randrange(delay // _JITTER + 1)
        self._timer = self._connection.clock.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        connection = self._connection
        options = connection.clients.options
        interval = options.ping_interval
        now = connection.clock.now()
        quiet = now - connection.last_activity >= interval
        if quiet or now - self._measured >= _REMEASURE:
            if self._outstanding + 1 > options.ping_max:
                connection.clients.statistics.stale += 1
                connection.fail("Stale Connection", "Stale Connection")
                return
            self._outstanding += 1
            self._sent = now
            connection.send_line(encode.PING)
            connection.clients.flusher.flush()
        if interval > 0:
            self._arm(interval)
