"""What waits to be written, and when it is: once per destination at the end of a batch.

A batch is one read of a producer, or, for messages the server itself makes, one round of the loop. A batch
for more destinations than one turn of the loop can write to is written over the next turns, and its producer
waits for that; what others send to few goes before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..clock import Clock

_TURN = 4_000_000  # ns of one turn in which is written
_STEP = 8  # destinations between two looks at the clock
EARLY_FLUSH = (
    1 << 20
)  # bytes gathered for one destination that are written without waiting for the batch's end


class OutboundQueue:
    """What one destination is sent, in order. Who writes it defines `flush` and `when_writable`.

    headers: messages with headers are taken too.
    out: slices to write, two per message, until the next flush.
    flush_pending: the flusher knows that there is something to write.
    out_msgs, out_bytes: messages written, and their bytes queued, ever.
    """

    def __init__(self, flusher: Flusher) -> None:
        self.headers = False
        self.out: list[bytes] = []
        self.flush_pending = False
        self.out_bytes = 0
        self.out_msgs = 0
        self._flusher = flusher
        self._control = 0  # slices in `out` that are none of a pair
        self._gathered = 0  # bytes, for EARLY_FLUSH

    def send_line(self, line: bytes) -> None:
        """Queue a protocol line, in order with messages."""
        self.out.append(line)
        self._control += 1
        self.mark()

    def send_message(self, prefix: bytes, tail: bytes, size: int) -> None:
        """Queue one message; `size` is what counts as its bytes."""
        self.out.append(prefix)
        self.out.append(tail)
        self.out_bytes += size
        self._gathered += len(tail)
        if not self.flush_pending:  # as `mark`, without a call for each message
            self.flush_pending = True
            self._flusher.pending_flush.append(self)
        if self._gathered > EARLY_FLUSH:
            self.flush()

    def send_run(self, data: bytes, count: int, size: int) -> None:
        """Queue `count` whole messages in one slice; `size` is what counts as their bytes."""
        self.out.append(data)
        self._control += 1
        self.out_msgs += count
        self.out_bytes += size
        self._gathered += len(data)
        self.mark()
        if self._gathered > EARLY_FLUSH:
            self.flush()

    def mark(self) -> None:
        """Have it flushed at the end of the batch."""
        if not self.flush_pending:
            self.flush_pending = True
            self._flusher.pending_flush.append(self)

    def flush(self) -> None:
        """Write what is in `out`."""
        raise NotImplementedError

    def when_writable(self, resume: Callable[[], None]) -> None:
        """Call `resume` once when the peer has caught up, or is gone."""
        raise NotImplementedError


class Flusher:
    """pending_flush: the queues that have something to write.
    stalled: those whose peer, after a write, has too much unread; the producer of the batch is stalled for
    them.
    overflows: how often there was more to write than one turn allows.
    reading: whether a connection serves what it read, and flushes afterwards.
    """

    __slots__ = (
        "_late",
        "_scheduled",
        "_waiting",
        "clock",
        "overflows",
        "pending_flush",
        "reading",
        "stalled",
    )

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.pending_flush: list[OutboundQueue] = []
        self.stalled: list[OutboundQueue] = []
        self.overflows = 0
        self.reading = False
        self._late: deque[OutboundQueue] = deque()  # still marked as `flush_pending`, and in order
        self._waiting: list[Callable[[], None]] = []
        self._scheduled = False

    def schedule(self) -> None:
        """Flush in the loop's next round, unless the read that is being served does so at its end."""
        if self.pending_flush and not (self.reading or self._scheduled):
            self._scheduled = True
            self.clock.call_later(0, self._run)

    def flush(self) -> None:
        """Write now to as many as one turn allows, to the rest in the next ones."""
        until = self.clock.now() + _TURN
        while self.pending_flush:
            batch = self.pending_flush[:]
            self.pending_flush.clear()
            for written, queue in enumerate(batch, 1):
                queue.flush_pending = False
                queue.flush()
                if not written % _STEP and self.clock.now() >= until and written < len(batch):
                    self.overflows += 1
                    self._late.extend(batch[written:])
                    self._again()
                    return

    def when_written(self, resume: Callable[[], None]) -> None:
        """Call `resume` once when all that is queued now is written."""
        self._waiting.append(resume)

    def take_stalled(self) -> list[OutboundQueue]:
        """Those that have stalled since this was last asked."""
        stalled, self.stalled = self.stalled, []
        return stalled

    def _again(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self.clock.call_later(0, self._run)

    def _run(self) -> None:
        self._scheduled = False
        self.flush()
        late = self._late
        until = self.clock.now() + _TURN
        while late:
            queue = late.popleft()
            queue.flush_pending = False
            queue.flush()
            if self.clock.now() >= until:
                break
        if late or self.pending_flush:
            self._again()
            return
        waiting, self._waiting = self._waiting, []
        for resume in waiting:
            resume()
        # Nobody else can be stalled here: the producer is the server itself.
        self.stalled.clear()
