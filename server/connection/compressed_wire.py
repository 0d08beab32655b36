"""CompressedWire: S2 between a connection to another server and its wire. Knows neither loop nor socket.

Each write is a stream of its own, as nats-server sends it. Promises: what one read brings is decompressed
chunk by chunk, and no further while the connection reads nothing; large writes are compressed in several
turns, so that nobody waits for them; a peer that sends no S2, or a wrong checksum, is closed.

Without the compiled part (`native`), chunks are sent uncompressed: compressing in Python takes longer than
most networks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from ...native import COMPILED
from ...protocol.s2 import CHUNK, LARGEST, PLAIN_CHUNK, FrameError, Unframer, begin, parts

if TYPE_CHECKING:
    from ..clock import Clock
    from .wire import ConnectionTransport

# Before the peer has logged in: bytes of a chunk. A stranger gets no more memory.
BEFORE_LOGIN: Final = 1 << 16
_TURN = 3_000_000  # ns of compressing or decompressing, after which others have their turn
_BEGIN = begin()


class CompressedConnection(Protocol):
    """The connection above."""

    closed_reason: str

    def receive_plain(self, data: bytes) -> None:
        """Serve what was decompressed."""

    def undecodable(self, reason: str) -> None:
        """Close, because the peer sends something that is no S2."""

    def count_part(self) -> None:
        """Count the chunk of which a part has arrived."""

    def writable(self) -> None:
        """Let those go on who wait until the peer has caught up."""


class CompressedWire:
    """A `ConnectionTransport` that compresses what is written, and decompresses what it is fed."""

    def __init__(
        self, inner: ConnectionTransport, connection: CompressedConnection, clock: Clock, effort: int
    ) -> None:
        self.inner = inner
        self.compress(effort)
        self._connection = connection
        self._clock = clock
        self._unframer = Unframer(BEFORE_LOGIN)
        self._paused = self._reading = self._later = self._closing = False
        self._queue: deque[bytes] = deque()  # to be compressed in later turns
        self._queued = 0
        self._written = self._given = self._taken = 0  # bytes: compressed; what they stand for; of it, taken
        self._marks: deque[tuple[int, int]] = deque()  # the first two after each write

    def compress(self, effort: int) -> None:
        """Compress so hard from now on: 0 to 3."""
        self._effort = effort if COMPILED else 0

    def admit(self) -> None:
        """Take larger chunks from now on: the peer has logged in."""
        self._unframer.largest = LARGEST

    # --- reading

    @property
    def part(self) -> int:
        """Bytes of the chunk of which a part has arrived."""
        return self._unframer.size

    def feed(self, data: bytes) -> None:
        """Pass on what the chunks carry that are complete now."""
        self._unframer.add(data)
        if not (self._paused or self._reading or self._later):
            self._read()

    def _read(self) -> None:
        """Pass on chunks until there are no more, or the connection reads nothing, or the turn is over."""
        connection, until = self._connection, self._clock.now() + _TURN
        self._reading = True
        try:
            while not (self._paused or connection.closed_reason):
                data = self._take()
                if not data:
                    break
                connection.receive_plain(data)
                if self._clock.now() >= until:
                    self._read_later()
                    break
        except FrameError as error:
            connection.undecodable(str(error))
        finally:
            self._reading = False
        if not connection.closed_reason:
            connection.count_part()

    def _take(self) -> bytes:
        """Return what the next chunks carry, small ones together; b"" if there are none."""
        pieces: list[bytes] = []
        size = 0
        while size < CHUNK and (found := self._unframer.take()) is not None:
            if found:
                pieces.append(found)
                size += len(found)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_later(self) -> None:
        if not self._later:
            self._later = True
            self.inner.pause_reading()
            self._clock.soon(self._go_on)

    def _go_on(self) -> None:
        self._later = False
        if self._paused or self._connection.closed_reason:
            return
        self._read()
        if not (self._paused or self._later):
            self.inner.resume_reading()

    def pause_reading(self) -> None:
        """Read and decompress no more."""
        self._paused = True
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        """Go on with what has arrived, then read on."""
        self._paused = False
        if self._later:
            return
        if self._reading or self._connection.closed_reason or not self._unframer.ready:
            self.inner.resume_reading()
        else:
            self._read_later()

    # --- writing

    def write(self, data: bytes) -> None:
        """Compress and send `data`; if that takes long, in later turns."""
        if self._closing:
            return
        most = CHUNK if self._effort else PLAIN_CHUNK
        pieces = (data,) if len(data) <= most else [data[at : at + most] for at in range(0, len(data), most)]
        if not self._queue and (len(pieces) == 1 or not self._effort):
            self._send(pieces)
            return
        if not self._queue:
            self._clock.soon(self._write)
        self._queue.extend(pieces)
        self._queued += len(data)

    def _write(self) -> None:
        queue, until = self._queue, self._clock.now() + _TURN
        while queue and self._clock.now() < until:
            piece = queue.popleft()
            self._queued -= len(piece)
            self._send((piece,))
        if queue:
            self._clock.soon(self._write)
        elif self._closing:
            self.inner.close()
        elif not self.inner.get_write_buffer_size():
            self._connection.writable()

    def _send(self, pieces: Sequence[bytes]) -> None:
        """Compress and write some pieces, as one stream."""
        if not self.inner.get_write_buffer_size():
            self._marks.clear()
            self._taken = self._given
        chunks = [_BEGIN]
        for piece in pieces:
            head, body = parts(piece, self._effort)
            chunks.append(head)
            if len(body) > CHUNK:  # to copy it would take longer than one more write
                self._write_joined(chunks)
                self.inner.write(body)
                self._written += len(body)
                chunks = []
            else:
                chunks.append(body)
            self._given += len(piece)
        self._write_joined(chunks)
        self._marks.append((self._written, self._given))

    def _write_joined(self, chunks: list[bytes]) -> None:
        data = b"".join(chunks)
        if data:
            self.inner.write(data)
            self._written += len(data)

    def unread(self) -> int:
        """Return how many bytes of what was to be written the peer has not taken, before compression."""
        taken = self._written - self.inner.get_write_buffer_size()
        while self._marks and self._marks[0][0] <= taken:
            self._taken = self._marks.popleft()[1]
        return self._queued + self._given - self._taken

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the peer has not taken: those that are not compressed yet, and the others."""
        return self._queued + self.inner.get_write_buffer_size()

    # --- the end

    def close(self) -> None:
        """Close after what is still to be sent."""
        if not self._closing:
            self._closing = True
            if not self._queue:
                self.inner.close()

    def abort(self) -> None:
        """Close now."""
        self._queue.clear()
        self._queued = 0
        self.inner.abort()
