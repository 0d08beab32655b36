"""FlowWindow: how many bytes a push consumer with flow control may send before its receiver answers."""

from __future__ import annotations

FLOW_LIMIT = 32 * 1024 * 1024  # bytes; the largest flow control window


class FlowWindow:
    """The flow control window: how many bytes may be sent and not yet known to be received.

    The window begins with a sixteenth of its limit, and doubles with each answered request. A request is due
    when more than half of the window is outstanding, and sending stops when more than all of it is. This is
    only arithmetic: no clock is read, and nothing is sent.

    limit: the largest window, bytes.
    size: the current window, bytes.
    outstanding: bytes sent and not yet known to be received.
    covered: how many of them the open request covers.
    asked: the reply subject of the open request, "" for none.
    """

    __slots__ = ("asked", "covered", "limit", "outstanding", "size")

    def __init__(self, limit: int = FLOW_LIMIT) -> None:
        self.limit = limit
        self.size = max(limit // 16, 1)
        self.outstanding = 0
        self.covered = 0
        self.asked = ""

    def full(self) -> bool:
        """Return whether nothing more may be sent."""
        return self.outstanding > self.size

    @property
    def room(self) -> int:
        """How many bytes may be sent before a request is due, or before the window is full."""
        return (self.size if self.asked else self.size // 2) - self.outstanding

    def sent(self, size: int) -> bool:
        """Count a message of `size` bytes; return whether a request is due."""
        self.outstanding += size
        if not self.asked:
            return self.outstanding > self.size // 2
        if self.outstanding - self.covered >= self.size:
            self.covered += size
        return False

    def ask(self, reply: str) -> None:
        """Record the request just sent, by its reply subject."""
        self.asked, self.covered = reply, self.outstanding

    def answered(self, reply: str) -> bool:
        """Take the answer to a request; return False if it is not the open one."""
        if reply != self.asked:
            return False
        self.size = min(self.size * 2, self.limit)
        self.outstanding = max(self.outstanding - self.covered, 0)
        self.asked, self.covered = "", 0
        return True
