"""The rate of delivery: original replay (with the gaps in which messages were stored) and the rate limit.

This is only arithmetic: the time is an argument, and nothing is sent.
"""

from ....store.message import StoredMessage


class RateLimit:
    """A token bucket.

    bits: the rate, bits per second; less than 8 counts as 8.
    burst: the size of the bucket, bytes.
    """

    __slots__ = ("_at", "_tokens", "burst", "rate")

    def __init__(self, bits: int, burst: int, now: int) -> None:
        self.rate = max(bits // 8, 1)
        self.burst = burst
        self._tokens = float(burst)
        self._at = now

    def delay(self, size: int, now: int) -> int:
        """Return how long (ns) a message of `size` bytes has to wait.

        If that is 0, its bytes are taken from the bucket.
        """
        # A message larger than the bucket would wait for ever, so the bucket grows to its size.
        room = max(self.burst, size)
        self._tokens = min(self._tokens + (now - self._at) * self.rate / 1e9, room)
        self._at = max(now, self._at)
        if self._tokens >= size:
            self._tokens -= size
            return 0
        return int((size - self._tokens) * 1e9 / self.rate) + 1


class DeliveryRate:
    """Calculates how long the next message has to wait.

    replay_until: the last sequence that is delivered with its original gaps; 0 for none.
    rate: the rate limit; None for none.
    """

    __slots__ = ("_last_time", "_rested", "rate", "replay_until")

    def __init__(self, replay_until: int, rate: RateLimit | None) -> None:
        self.replay_until = replay_until
        self.rate = rate
        self._last_time = 0
        self._rested = 0

    @property
    def free(self) -> bool:
        """Whether no message has to wait."""
        return self.rate is None and not self.replay_until

    def delay(self, message: StoredMessage, size: int, now: int) -> int:
        """Return how long (ns) a message of `size` bytes on the wire has to wait; 0 if it goes now.

        The caller asks again about a message that waited, when its time has come.
        """
        if self.replay_until:
            if message.seq > self.replay_until:
                self.replay_until = 0
            elif self._last_time and self._rested != message.seq:
                gap = message.time - self._last_time
                if gap > 1_000_000:
                    self._rested = message.seq
                    return gap
        if self.rate is not None and (wait := self.rate.delay(size, now)):
            return wait
        self._last_time, self._rested = message.time, 0
        return 0
