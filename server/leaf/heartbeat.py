"""Pings of a leaf connection. As for clients, but the first comes after about a second, and a spoke's are
never left out: they keep the way to the hub open through what stands between.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from ...protocol.wire import encode
from ..clock import SECOND

if TYPE_CHECKING:
    from ..clock import Timer
    from .connection import LeafConnection

_JITTER = 5  # a fifth
_REMEASURE = 3600 * SECOND


class Heartbeat:
    """rtt: ns, 0 while unknown."""

    __slots__ = ("_connection", "_measured", "_outstanding", "_sent", "_timer", "rtt")

    def __init__(self, connection: LeafConnection) -> None:
        self._connection = connection
        self._timer: Timer | None = None
        self._outstanding = 0
        self._sent = 0
        self._measured = 0
        self.rtt = 0

    def start(self) -> None:
        """Arm the first ping."""
        interval = self._connection.leafs.options.ping_interval
        self._arm(min(SECOND, interval) if interval > 0 else SECOND)

    def stop(self) -> None:
        """No more pings."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def answered(self) -> None:
        """PONG came."""
        self._outstanding = 0
        if self._sent:
            self._measured = self._connection.clock.now()
            self.rtt = max(1, self._measured - self._sent)
            self._sent = 0

    def _arm(self, delay: int) -> None:
        self.stop()
        delay += random.randrange(delay // _JITTER + 1)
        self._timer = self._connection.clock.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        connection = self._connection
        options = connection.leafs.options
        interval = options.ping_interval
        now = connection.clock.now()
        quiet = connection.is_spoke or now - connection.last_activity >= interval
        if quiet or now - self._measured >= _REMEASURE:
            if self._outstanding + 1 > options.ping_max:
                connection.fail("Stale Connection", "Stale Connection")
                return
            self._outstanding += 1
            self._sent = now
            connection.send_line(encode.PING)
            connection.leafs.flusher.flush()
        if interval > 0:
            self._arm(interval)
