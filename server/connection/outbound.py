"""Outbound: the outgoing half of a connection, with one write per flush.

Promises: at most `max_pending` bytes wait for a peer, and what is pending at any moment is sent within the
write deadline; otherwise the peer is closed as a slow consumer. One that `retries` is kept if it has taken
anything in that time. Never drops a message of a connection that stays open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..accounts.flusher import EARLY_FLUSH, OutboundQueue

if TYPE_CHECKING:
    from ..accounts.flusher import Flusher
    from ..clock import Timer
    from .buffer_budget import BufferBudget
    from .wire import ConnectionTransport

SLOW_PENDING = "Slow Consumer (Pending Bytes)"
SLOW_DEADLINE = "Slow Consumer (Write Deadline)"
# Bytes of payloads above which the queue is joined and written in pieces.
_MOST_JOINED = 4 << 20


class OutboundCounter(Protocol):
    """What counts the messages that are written, and the bytes of their headers and payloads."""

    out_msgs: int
    out_bytes: int


class Outbound(OutboundQueue):
    """The outgoing half of a connection; see the module.

    stall_at: how many pending bytes stall the producers.
    retries: whether a peer that is late has more time, as long as it reads.
    kernel_queue: returns how much the kernel holds for the peer, which a slow one may read for a long time
        before there is room for more.
    counters: what counts the messages of this connection, besides the connection itself.
    """

    def __init__(
        self,
        wire: ConnectionTransport,
        flusher: Flusher,
        buffer_budget: BufferBudget,
        max_pending: int,
        write_deadline: int,
    ) -> None:
        super().__init__(flusher)
        self.wire = wire
        self.clock = flusher.clock
        self.max_pending = max_pending
        self.write_deadline = write_deadline
        self.retries = False
        self.kernel_queue: Callable[[], int] = int
        self.stall_at = max_pending // 4 * 3
        self.counters: tuple[OutboundCounter, ...] = ()
        self._buffer_budget = buffer_budget
        self._unflushed = False  # whether the last flush left something that the peer had not taken
        self._waiting: list[Callable[[], None]] = []
        self._handed = 0
        self._counted = 0  # out_msgs at the last flush
        self._flushed = 0  # out_bytes at the last flush
        self._due = 0  # how much the peer must have taken when the deadline ends
        self._taken = 0  # how much the kernel had taken when it began
        self._read = 0  # how much the peer had taken then
        self._deadline: Timer | None = None
        self._open = True

    def flush(self) -> None:
        """Write all that is queued, then check how much the peer has left unread."""
        out = self.out
        if not out:
            return
        if not self._open:
            out.clear()
            return
        self.out_msgs += (len(out) - self._control) >> 1
        self._control = 0
        self._gathered = 0
        messages, self._counted = self.out_msgs - self._counted, self.out_msgs
        size, self._flushed = self.out_bytes - self._flushed, self.out_bytes
        for counter in self.counters:
            counter.out_msgs += messages
            counter.out_bytes += size
        wire = self.wire
        if size > _MOST_JOINED:
            queued = out[:]
            out.clear()
            self._write_in_pieces(queued)
        else:
            data = b"".join(out)
            out.clear()
            self._handed += len(data)
            wire.write(data)
        pending = wire.get_write_buffer_size()
        if not pending:
            if self._unflushed:
                self._unflushed = False
                self._buffer_budget.outgoing(self, 0)
            return
        self._unflushed = True
        self._buffer_budget.outgoing(self, pending)
        if pending > self.max_pending:
            self.slow_consumer(SLOW_PENDING)
            return
        if pending > self.stall_at or self._buffer_budget.short:
            self._flusher.stalled.append(self)
        if self._deadline is None:
            self._expect()

    def _write_in_pieces(self, queued: list[bytes]) -> None:
        """Write in pieces, until the peer has left too much unread.

        The same large message may be queued thousands of times, once for each subscription, and joining them
        would take its size each time. A large message is not copied.
        """
        wire = self.wire
        piece: list[bytes] = []
        size = 0
        for each in queued:
            if len(each) > EARLY_FLUSH:
                if piece:
                    wire.write(b"".join(piece))
                    piece.clear()
                wire.write(each)
            else:
                piece.append(each)
            size += len(each)
            if size > EARLY_FLUSH:
                if piece:
                    wire.write(b"".join(piece))
                    piece.clear()
                self._handed += size
                size = 0
                if wire.get_write_buffer_size() > self.max_pending:
                    return  # the peer is about to be closed
        wire.write(b"".join(piece))
        self._handed += size

    @property
    def pending(self) -> int:
        """Bytes that the peer has not taken."""
        return self.wire.get_write_buffer_size() if self._open else 0

    def when_writable(self, resume: Callable[[], None]) -> None:
        """Call `resume` once, when the peer has caught up or is gone."""
        self._waiting.append(resume)

    def writable(self) -> None:
        """Let the producers go on that wait for this peer, which has caught up."""
        waiting, self._waiting = self._waiting, []
        for resume in waiting:
            resume()

    def slow_consumer(self, reason: str, *, keep: bool = False) -> None:
        """Close, because the peer does not read. keep: it reads too slowly, and is only counted."""
        raise NotImplementedError

    def count_slow(self) -> None:
        """Count a peer that does not read, or too slowly."""

    @property
    def is_open(self) -> bool:
        """See `OutboundQueue.is_open`."""
        return self._open

    def stop_writing(self) -> None:
        """Write nothing more, and cancel the timer."""
        self._open = False
        self.out.clear()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self.writable()

    def _unread(self) -> int:
        """Return how many of the bytes that were handed to the wire the peer has not taken."""
        return self.wire.get_write_buffer_size()

    def _check_deadline(self) -> None:
        self._deadline = None
        pending = self._unread()
        if not self._open or not pending:
            return
        taken = self._handed - pending
        if taken < self._due:
            reads = self.retries and (taken > self._taken or taken - self.kernel_queue() > self._read)
            self.slow_consumer(SLOW_DEADLINE, keep=reads)
            if not reads:
                return
        self._expect()

    def _expect(self) -> None:
        """Begin the deadline for what has been written so far."""
        self._due = self._handed
        if self.retries:
            self._taken = self._handed - self._unread()
            self._read = self._taken - self.kernel_queue()
        self._deadline = self.clock.call_later(self.write_deadline, self._check_deadline)
