"""HandshakeRate: at most so many TLS handshakes a second (`connection_rate_limit`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..clock import SECOND

if TYPE_CHECKING:
    from ..clock import Clock
    from ..logging import Logger

THROTTLED = "Connection throttling is active. Please try again later."


class HandshakeRate:
    """Counts the handshakes of one listener, and warns once a second of those that it refused."""

    def __init__(self, clock: Clock, log: Logger) -> None:
        self._clock = clock
        self._log = log
        self._begun = 0
        self._refused = 0
        self._end = 0

    def allows(self, limit: int) -> bool:
        """Count one more, and return whether it may begin. `limit` is for one second, 0 for none."""
        if not limit:
            return True
        now = self._clock.now()
        if now >= self._end:
            self._begun, self._end = 0, now + SECOND
        self._begun += 1
        if self._begun <= limit:
            return True
        if not self._refused:
            self._clock.call_later(SECOND, self._warn)
        self._refused += 1
        return False

    def _warn(self) -> None:
        self._log.warning(f"Rejected {self._refused} connections due to TLS rate limiting")
        self._refused = 0
