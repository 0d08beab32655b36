"""MessageTTLs: messages with a lifetime of their own (`Nats-TTL`), and the markers left for deleted subjects.

Promises:
- A message is removed when its lifetime ends, even if the server was restarted meanwhile.
- A message that never expires is exempt from max_age.
- With `subject_delete_marker_ttl`, a marker follows when the last message of a subject expires. The marker
  itself expires too.

Source: ADR-43.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from math import inf
from time import perf_counter

from ....protocol import headers
from ....protocol.api.stream import StreamConfig
from ....protocol.duration import DurationError, format_go, parse_go
from ....protocol.errors import ApiError, api_error
from ....store.errors import StoreError
from ....store.message import StoredMessage
from ....store.stream import StreamStore
from ...clock import SECOND, Clock, Timer
from ...slices import SECONDS as SLICE
from .limits import MIN_TIMER, MOST_AT_ONCE, Removed, StreamLimits

HEADER = b"Nats-TTL"
MARKER = b"Nats-Marker-Reason"
OPERATION = b"KV-Operation"
NEVER = -1


def parse_ttl(value: bytes) -> int:
    """Read a header value; return ns, 0 for none, or NEVER. Raises ApiError 10165 if it is invalid.

    The rules are those of the reference's parseMessageTTL: the value is a duration of at least a second, or
    else a number of seconds. "0" is a duration and refused, "00" is a number and means none.
    """
    text = value.decode("utf-8", "replace")
    if text.lower() == "never":
        return NEVER
    try:
        duration = parse_go(text)
    except DurationError:
        if text.isdecimal() and text.isascii():
            return int(text) * SECOND
        raise api_error("JSMessageTTLInvalidErr") from None
    if duration < SECOND:
        raise api_error("JSMessageTTLInvalidErr")
    return duration // SECOND * SECOND


def _is_marker(header: bytes) -> bool:
    """Return whether a message marks a deleted subject already: a delete marker, or a bucket's purge."""
    if not header:
        return False
    return bool(headers.get(header, MARKER)) or headers.get(header, OPERATION) == b"PURGE"


class MessageTTLs:
    """The lifetimes of one stream's messages.

    active: whether messages may have a TTL.
    """

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        clock: Clock,
        limits: StreamLimits,
        removed: Removed,
        mark: Callable[[str, bytes], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._removed = removed
        self._mark = mark
        self._heap: list[tuple[int, int]] = []  # (expires at, sequence)
        self._timer: Timer | None = None
        self.configure(config)

    def configure(self, config: StreamConfig) -> None:
        """Take over a new configuration."""
        self._marker_ttl = config.subject_delete_marker_ttl
        self.active = config.allow_msg_ttl
        if self._marker_ttl:
            self._limits.expire_one = self.expire_one

    def adjust(self, header: bytes, ttl: int, *, one_per_subject: bool) -> bytes:
        """Return the header to store: a TTL shorter than the markers' is raised to theirs.

        ttl: of the message, ns. one_per_subject: whether the stream keeps one message per subject; such a
        stream keeps the TTL as it is.
        """
        if 0 < ttl < self._marker_ttl and not one_per_subject:
            return headers.set(header, HEADER, b"%d" % (self._marker_ttl // SECOND))
        return header

    def stored(self, sequence: int, header: bytes, time: int) -> None:
        """Take note that a message was stored, at `time` (ns)."""
        self._note(sequence, header, time)
        if self._heap and (self._timer is None or self._heap[0][1] == sequence):
            self.rearm()

    def _note(self, sequence: int, header: bytes, time: int) -> None:
        value = headers.get(header, HEADER) if header else None
        if not value:
            return
        ttl = parse_ttl(value)
        if ttl == NEVER:
            self._limits.keep.add(sequence)
        elif ttl:
            heapq.heappush(self._heap, (time + ttl, sequence))

    def load(self, message: StoredMessage) -> None:
        """Take in a stored message when the stream is opened; `rearm` must follow.

        An invalid TTL is ignored: a message from a source may have one.
        """
        with suppress(ApiError):
            self._note(message.seq, message.header, message.time)

    def forget(self, sequence: int) -> None:
        """Take note that a message left the store."""
        self._limits.keep.discard(sequence)

    def rearm(self) -> None:
        """Set the timer for the next lifetime that ends."""
        self.stop()
        if self._heap:
            delay = max(self._heap[0][0] - self._clock.now(), MIN_TIMER)
            self._timer = self._clock.call_later(delay, self._run)

    def _run(self) -> None:
        self._expire(perf_counter() + SLICE)

    def _expire(self, until: float) -> None:
        self._timer = None
        now = self._clock.now()
        for _ in range(MOST_AT_ONCE):
            if not self._heap or self._heap[0][0] > now:
                self.rearm()
                return
            _, sequence = heapq.heappop(self._heap)
            self.expire_one(sequence)
            if perf_counter() >= until:
                break
        self.stop()  # storing a marker may have set a timer
        self._timer = self._clock.soon(self._run)  # there may be more

    def expire(self) -> None:
        """Remove messages whose lifetime is over, at most `MOST_AT_ONCE`, the earliest ends first."""
        self.stop()
        self._expire(inf)

    def expire_one(self, sequence: int) -> None:
        """Remove one message whose time has come, and leave a marker where one is due."""
        try:
            message = self._store.get(sequence)
        except StoreError:
            return
        subject = message.subject
        last = self._store.subject_count(subject) == 1
        is_marker = _is_marker(message.header)
        self._store.remove(sequence)
        self._limits.keep.discard(sequence)
        self._removed(sequence, subject)
        if self._marker_ttl and last and not is_marker:
            self._mark(
                subject,
                headers.encode(
                    {
                        "Nats-Marker-Reason": "MaxAge",
                        "Nats-TTL": format_go(self._marker_ttl // SECOND * SECOND),
                        "Nats-Rollup": "sub",
                    }
                ),
            )

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
