"""The rate of delivery: original replay (with the gaps in which messages were stored) and the rate limit.

This is only arithmetic: the time is an argument, and nothing is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....protocol.api.consumer import ConsumerConfig
    from ....protocol.api.stream import StreamConfig
    from ....store.message import StoredMessage
    from ...accounts.account import Account

DEFAULT_BURST = 1 << 20  # bytes


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

    free: whether no message has to wait: there is no rate limit, and nothing left to replay with its gaps.
    """

    __slots__ = ("_last_time", "_rate", "_replay_until", "_rested", "free")

    def __init__(self, replay_until: int, rate: RateLimit | None) -> None:
        """replay_until: the last sequence that is delivered with its original gaps; 0 for none."""
        self._replay_until = replay_until
        self._last_time = 0
        self._rested = 0
        self.limit(rate)

    def limit(self, rate: RateLimit | None) -> None:
        """Take over a rate limit; None for none."""
        self._rate = rate
        self.free = rate is None and not self._replay_until

    def delay(self, message: StoredMessage, size: int, now: int) -> int:
        """Return how long (ns) a message of `size` bytes on the wire has to wait; 0 if it goes now.

        The caller asks again about a message that waited, when its time has come.
        """
        if self._replay_until:
            if message.seq > self._replay_until:
                self._replay_until = 0
                self.free = self._rate is None
            elif self._last_time and self._rested != message.seq:
                gap = message.time - self._last_time
                if gap > 1_000_000:
                    self._rested = message.seq
                    return gap
        if self._rate is not None and (wait := self._rate.delay(size, now)):
            return wait
        self._last_time, self._rested = message.time, 0
        return 0


def rate_limit(config: ConsumerConfig, stream: StreamConfig, account: Account, now: int) -> RateLimit | None:
    """Return the rate limit of a consumer from the time `now` (ns) on; None if it has none.

    The burst is the largest message that the stream takes or, if it takes any, the account's largest payload.
    """
    if not config.rate_limit_bps:
        return None
    burst = stream.max_msg_size
    if burst <= 0:
        burst = account.limits.payload if account.limits.payload > 0 else DEFAULT_BURST
    return RateLimit(config.rate_limit_bps, burst, now)
