"""Flow control of a push consumer: how much may be under way before its receipt is confirmed.

The window grows from a sixteenth of its limit, doubling with each answered request; the consumer asks when
more than half of it is outstanding and stops when all of it is. Arithmetic: no clock, no sending.
"""

from __future__ import annotations

FLOW_LIMIT = 32 * 1024 * 1024


class FlowWindow:
    """Bytes sent and not yet known to be received."""

    __slots__ = ("asked", "covered", "limit", "outstanding", "size")

    def __init__(self, limit: int = FLOW_LIMIT) -> None:
        self.limit = limit
        self.size = max(limit // 16, 1)
        self.outstanding = 0
        self.covered = 0  # how much of it the open request covers
        self.asked = ""  # the reply subject of the open request

    def full(self) -> bool:
        """Whether nothing more may be sent."""
        return self.outstanding > self.size

    def sent(self, size: int) -> bool:
        """Count a message of `size` bytes; True if a request is due."""
        self.outstanding += size
        if not self.asked:
            return self.outstanding > self.size // 2
        if self.outstanding - self.covered >= self.size:
            self.covered += size
        return False

    def ask(self, reply: str) -> None:
        """Remember the request just sent."""
        self.asked, self.covered = reply, self.outstanding

    def answered(self, reply: str) -> bool:
        """Take the answer to a request; False if it is not the open one."""
        if reply != self.asked:
            return False
        self.size = min(self.size * 2, self.limit)
        self.outstanding = max(self.outstanding - self.covered, 0)
        self.asked, self.covered = "", 0
        return True
