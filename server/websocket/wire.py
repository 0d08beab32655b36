"""WebSocketWire: frames between a connection and its wire. Needs no loop and no socket.

It reads no more than the connection takes: while the connection has paused it, nothing is decoded and
nothing is read. Promises that no turn decodes or compresses for more than a few milliseconds; that what was
written before a close is sent before the close frame; and that pings of a peer that reads nothing cost no
memory.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from .errors import WebSocketError, status_of
from .frames import CLOSE, PING, PONG, answer_to_close, close_payload

if TYPE_CHECKING:
    from ..connection import Connection, ConnectionContext, ConnectionTransport
    from .frames import Control, FrameReader, FrameWriter

_TURN = 4_000_000  # ns of decoding or compressing until others have their turn
_PIECE = 1 << 16  # bytes that are passed on or compressed at once
MOST_INFLATED = 64 << 20  # bytes that a compressed message may become at most
_FRAMES = 64  # from one look at the clock to the next
_MOST_UNREAD = 1 << 16  # bytes that a peer may have left unread and still get an answer to a ping


class WebSocketWire:
    """A `ConnectionTransport` that sends what is written in frames, and passes on what frames bring."""

    def __init__(
        self, context: ConnectionContext, inner: ConnectionTransport, reader: FrameReader, writer: FrameWriter
    ) -> None:
        self.inner = inner
        self._context = context
        self._clock = context.clock
        self._reader = reader
        self._writer = writer
        self._connection: Connection | None = None
        self._ping: bytes | None = None  # the payload of a ping that was not answered yet
        self._close: bytes | None = None  # the payload of our close frame, if its cause is the peer's frames
        self._paused = False  # whether the connection has paused this wire
        self._busy = False  # whether decoding goes on in a later turn
        self._over = False  # whether nothing that the peer sends counts any more
        self._queue: deque[bytes] = deque()  # to be compressed or masked in later turns
        self._queued = 0
        self._closing = False

    def attach(self, connection: Connection) -> None:
        """Pass what arrives to `connection`."""
        self._connection = connection

    # --- reading

    def receive(self, data: bytes) -> None:
        """Take what the socket brought."""
        if self._over:
            return
        self._reader.feed(data)
        if not (self._paused or self._busy):
            self._decode()

    def _decode(self) -> None:
        """Pass on what has arrived, until the connection pauses this wire or the turn is over."""
        connection, reader, flusher = self._connection, self._reader, self._context.flusher
        assert connection is not None
        until = self._clock.now() + _TURN
        while not (self._paused or self._over or reader.drained):
            failure = None
            pieces: list[bytes] = []
            try:
                self._gather(pieces, until)
            except WebSocketError as error:
                failure = error
            if pieces:
                connection.receive(b"".join(pieces))
                if flusher.stalled:
                    connection.stall_behind_slow_peers()
            self._answer()
            if failure is not None:
                self._fail(connection, failure)
            elif self._over:
                connection.ended()
            elif not (self._paused or reader.drained) and self._clock.now() >= until:
                self._busy = True
                self.inner.pause_reading()
                self._clock.soon(self._go_on)
                return

    def _gather(self, pieces: list[bytes], until: int) -> None:
        """Collect what some frames carry. Raises WebSocketError; what came before is collected."""
        size = count = 0
        following = self._reader.next
        while size < _PIECE and (found := following()) is not None:
            if isinstance(found, bytes):
                pieces.append(found)
                size += len(found)
            else:
                self._control(found)
                if self._over:
                    return
            count += 1
            if not count % _FRAMES and self._clock.now() >= until:
                return

    def _control(self, frame: Control) -> None:
        if frame.opcode == PING:
            self._ping = frame.payload
        elif frame.opcode == CLOSE:
            self._close = answer_to_close(frame.payload)
            self._over = True

    def _answer(self) -> None:
        """Answer the latest ping, which is enough (RFC 6455, 5.5.3)."""
        ping, self._ping = self._ping, None
        if ping is not None and not self._closing and self.inner.get_write_buffer_size() < _MOST_UNREAD:
            self.inner.write(self._writer.control(PONG, ping))

    def _fail(self, connection: Connection, error: WebSocketError) -> None:
        self._over = True
        if not connection.closed_reason:
            self._context.log.error(f"{connection} - read error: {error}")
            self._close = close_payload(error.code, str(error))
            connection.close("Read Error")

    def _go_on(self) -> None:
        self._busy = False
        if self._paused or self._connection is None or self._connection.closed_reason:
            return
        self._decode()
        if not (self._paused or self._busy):
            self.inner.resume_reading()

    def pause_reading(self) -> None:
        """Read and decode no more."""
        self._paused = True
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        """Go on with what has arrived, then read on."""
        self._paused = False
        if self._busy:
            return
        if self._over or self._reader.drained:
            self.inner.resume_reading()
        else:
            self._busy = True
            self._clock.soon(self._go_on)

    # --- writing

    def write(self, data: bytes) -> None:
        """Send `data` in a frame, or in several, in later turns, if it takes long to make them."""
        if self._closing:
            return
        if not self._writer.costly or not (self._queue or len(data) > _PIECE):
            self.inner.write(self._writer.data(data))
            return
        if not self._queue:
            self._clock.soon(self._encode)
        self._queue.extend(data[at : at + _PIECE] for at in range(0, len(data), _PIECE))
        self._queued += len(data)

    def _encode(self) -> None:
        queue, now = self._queue, self._clock.now
        until = now() + _TURN
        while queue and now() < until:
            piece = queue.popleft()
            self._queued -= len(piece)
            self.inner.write(self._writer.data(piece))
        if queue:
            self._clock.soon(self._encode)
        elif self._closing:
            self._end()
        elif self._connection is not None and not self.inner.get_write_buffer_size():
            self._connection.writable()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the peer has not taken."""
        return self._queued + self.inner.get_write_buffer_size()

    # --- the end

    def close(self) -> None:
        """Close with a close frame, after what is still to be sent."""
        if not self._closing:
            self._closing = self._over = True
            if not self._queue:
                self._end()

    def _end(self) -> None:
        payload = self._close
        if payload is None:
            reason = self._connection.closed_reason if self._connection is not None else ""
            payload = close_payload(status_of(reason), reason)
        self.inner.write(self._writer.control(CLOSE, payload))
        self.inner.close()

    def abort(self) -> None:
        """Close now."""
        self._closing = self._over = True
        self._queue.clear()
        self._queued = 0
        self.inner.abort()
