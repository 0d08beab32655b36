"""InputBuffer: what a connection has received and not yet parsed, in pieces.

One read may bring a quarter of a megabyte: ten messages, or twenty thousand. The pieces grow and shrink with
the time that the last ones took, so that a piece of small messages is served in a few milliseconds, and large
messages are not cut up.
"""

from __future__ import annotations

from collections import deque

_QUICK = 1_000_000  # ns
SLOW = 4_000_000  # ns
_SMALLEST = 1 << 12
_LARGEST = 1 << 18


class InputBuffer:
    """Bytes in the order in which they arrived.

    piece: the size of the next piece, in bytes.
    reads: what was added and not yet taken; read only.
    """

    __slots__ = ("_at", "piece", "reads")

    def __init__(self) -> None:
        self.reads: deque[bytes] = deque()
        self._at = 0  # how many bytes of the first read were taken
        self.piece = 1 << 14

    def __bool__(self) -> bool:
        return bool(self.reads)

    def add(self, data: bytes) -> None:
        """Add one read."""
        self.reads.append(data)

    def take(self) -> bytes:
        """Remove and return the next piece; the buffer must not be empty."""
        data, at = self.reads[0], self._at
        if len(data) - at <= self.piece:
            self.reads.popleft()
            self._at = 0
            return data[at:] if at else data
        self._at = at + self.piece
        return data[at : self._at]

    def give_back(self, piece: bytes, size: int) -> None:
        """Put back the last `size` bytes of the piece that was taken last: it was too large to parse."""
        if not self._at:
            self.reads.appendleft(piece)
            self._at = len(piece)
        self._at -= size
        self.piece = max(_SMALLEST, len(piece) - size << 1)

    def take_all(self) -> bytes:
        """Remove and return everything."""
        whole = b"".join(self.reads)[self._at :]
        self.clear()
        return whole

    def put_back(self, data: bytes) -> None:
        """Put `data` before everything else."""
        if self._at:
            self.reads[0] = self.reads[0][self._at :]
            self._at = 0
        self.reads.appendleft(data)

    def took(self, size: int, ns: int) -> None:
        """Adapt the size of the next pieces: one of `size` bytes was served in `ns`."""
        if ns > SLOW:
            self.piece = max(_SMALLEST, self.piece >> 1)
        elif ns < _QUICK and size >= self.piece:
            self.piece = min(_LARGEST, self.piece << 1)

    def clear(self) -> None:
        """Drop everything."""
        self.reads.clear()
        self._at = 0
