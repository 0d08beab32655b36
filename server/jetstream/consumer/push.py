"""What paces a push consumer: the flow control window and the rate limit.

`FlowWindow` grows from a sixteenth of its limit, doubling with each answered request; the consumer asks
when more than half of it is outstanding and stops when all of it is. `RateLimit` is a token bucket in
bytes. Both are arithmetic: no clock, no sending.
"""

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
        """Tell whether nothing more may be sent."""
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


class RateLimit:
    """A token bucket: `bits` per second (> 7), bursts up to `burst` bytes."""

    __slots__ = ("_at", "_tokens", "burst", "rate")

    def __init__(self, bits: int, burst: int, now: int) -> None:
        self.rate = max(bits // 8, 1)
        self.burst = burst
        self._tokens = float(burst)
        self._at = now

    def delay(self, size: int, now: int) -> int:
        """Tell how long (ns) a message of `size` bytes has to wait; 0 takes its bytes from the bucket."""
        # A message larger than the bucket would wait for ever: it waits for a bucket of its own size.
        room = max(self.burst, size)
        self._tokens = min(self._tokens + (now - self._at) * self.rate / 1e9, room)
        self._at = max(now, self._at)
        if self._tokens >= size:
            self._tokens -= size
            return 0
        return int((size - self._tokens) * 1e9 / self.rate) + 1
