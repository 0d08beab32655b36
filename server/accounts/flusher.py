"""Flusher: writes what is queued, once for each destination at the end of a batch.

A batch is what one read of a producer causes or, for messages of the server itself, one turn of the loop. If
a batch has more destinations than one turn can write to, the rest is written over the next turns. Its
producer waits for that, but others do not: what they send to a few destinations is written first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...native import QueueFields

if TYPE_CHECKING:
    from ..clock import Clock

_TURN = 4_000_000  # ns for writing in one turn
# Deliveries queued for wide plans before they are written: bounds the memory of wide fan-outs.
_MOST_QUEUED = 1 << 16
_STEP = 8  # destinations that are written to between two looks at the clock
EARLY_FLUSH = (
    1 << 20
)  # bytes gathered for one destination that are written without waiting for the batch's end


class OutboundQueue(QueueFields):
    """What is to be written to one destination, in order. A subclass defines `flush` and `when_writable`.

    headers: whether the destination accepts headers.
    out: the slices for the next flush, two for each message.
    flush_pending: whether the flusher will flush it.
    out_msgs: how many messages were written so far.
    out_bytes: the bytes of headers and payloads that were queued so far.
    """

    def __init__(self, flusher: Flusher) -> None:
        self.headers = False
        self.out = []
        self.flush_pending = False
        self.out_bytes = 0
        self.out_msgs = 0
        self._flusher = flusher
        self._control = 0  # slices in `out` that do not belong to a pair
        self._gathered = 0  # bytes in `out`, for EARLY_FLUSH; without what the fan-out has appended

    @property
    def is_open(self) -> bool:
        """Whether what is queued can still be written."""
        return True

    def send_line(self, line: bytes) -> None:
        """Queue a protocol line, in order with messages."""
        self.out.append(line)
        self._control += 1
        self.mark()

    def send_message(self, prefix: bytes, tail: bytes, size: int) -> None:
        """Queue one message, which counts `size` bytes."""
        self.out.append(prefix)
        self.out.append(tail)
        self.out_bytes += size
        self._gathered += len(tail)
        if not self.flush_pending:  # the same as `mark`, without a call for each message
            self.flush_pending = True
            self._flusher.pending_flush.append(self)
        if self._gathered > EARLY_FLUSH:
            self.flush()

    def send_run(self, data: bytes, count: int, size: int) -> None:
        """Queue `count` whole messages in one slice, which together count `size` bytes."""
        self.out.append(data)
        self._control += 1
        self.out_msgs += count
        self.out_bytes += size
        self._gathered += len(data)
        if not self.flush_pending:  # as in `send_message`
            self.flush_pending = True
            self._flusher.pending_flush.append(self)
        if self._gathered > EARLY_FLUSH:
            self.flush()

    def mark(self) -> None:
        """Let the flusher flush it at the end of the batch."""
        if not self.flush_pending:
            self.flush_pending = True
            self._flusher.pending_flush.append(self)

    def flush(self) -> None:
        """Write what is in `out`."""
        raise NotImplementedError

    def when_writable(self, resume: Callable[[], None]) -> None:
        """Call `resume` once, when the peer has caught up or is gone."""
        raise NotImplementedError


class Flusher:
    """Writes what is queued, at the end of each batch.

    pending_flush: the queues to write.
    stalled: queues whose peer had too much unread after a write; the producer of the batch waits for them.
    overflows: how often there was more to write than one turn allows.
    reading: whether a connection serves what it read, and flushes afterwards.
    at_end: what is to be done before that, because of what was read.
    reader: the `id` of the connection that was served last.
    since: since when no other connection was served, in ns.
    before: `reader` and `since` before the read that is served; None if that changed nothing.
    """

    __slots__ = (
        "_late",
        "_queued",
        "_scheduled",
        "_waiting",
        "at_end",
        "before",
        "clock",
        "overflows",
        "pending_flush",
        "reader",
        "reading",
        "since",
        "stalled",
    )

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.pending_flush: list[OutboundQueue] = []
        self.stalled: list[OutboundQueue] = []
        self.overflows = 0
        self.reading = False
        self.at_end: list[Callable[[], None]] = []
        self.reader = 0
        self.since = 0
        self.before: tuple[int, int] | None = None
        self._late: deque[OutboundQueue] = deque()  # in order; `flush_pending` stays set
        self._waiting: list[Callable[[], None]] = []
        self._scheduled = False
        self._queued = 0  # deliveries of wide plans since the last flush

    def begin_read(self, reader: int, now: int) -> None:
        """Note that a connection serves what it read. reader: its `id`."""
        if self.reader == reader:
            self.before = None
        else:
            self.before = self.reader, self.since
            self.reader, self.since = reader, now
        self.reading = True

    def end_read(self) -> None:
        """Do what was left for the end of the read that is served. One failure must not keep the others."""
        while self.at_end:
            callbacks, self.at_end = self.at_end, []
            for callback in callbacks:
                try:
                    callback()
                except Exception as error:
                    self.clock.soon(partial(_fail, error))

    def excuse(self) -> None:
        """Let the read that is served not count in `since`: it is the servers' own business."""
        if self.before is not None:
            self.reader, self.since = self.before
            self.before = None

    def schedule(self) -> None:
        """Flush in the loop's next round, unless the read that is being served does so at its end."""
        if self.pending_flush and not (self.reading or self._scheduled):
            self._scheduled = True
            self.clock.soon(self._run)

    def queued_wide(self, count: int) -> None:
        """Take note of deliveries that wide plans have queued, and write them early if there are many."""
        self._queued += count
        if self._queued > _MOST_QUEUED:
            self.flush()

    def flush(self) -> None:
        """Write to as many destinations as one turn allows, and to the rest in the next turns."""
        self._queued = 0
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
        """Call `resume` once, when all that is queued now is written."""
        self._waiting.append(resume)

    def take_stalled(self) -> list[OutboundQueue]:
        """Return the queues that have stalled since the last call."""
        stalled, self.stalled = self.stalled, []
        return stalled

    def _again(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self.clock.soon(self._run)

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
        # What was written here came from the server itself, which waits for nobody.
        self.stalled.clear()


def _fail(error: Exception) -> None:
    """Raise an error where the loop reports it."""
    raise error
