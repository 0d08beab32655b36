"""InputBuffer: what came over a connection and was not parsed yet, handed out in pieces.

One read may bring a quarter of a megabyte: ten messages, or twenty thousand. The pieces grow and shrink with
the time that the last ones took, so that one of small messages is served in a few milliseconds and large ones
are not cut up.
"""

from __future__ import annotations

from collections import deque

_QUICK = 1_000_000  # ns
SLOW = 4_000_000  # ns
_SMALLEST = 1 << 12
_LARGEST = 1 << 18


class InputBuffer:
    """Bytes in the order in which they came.

    piece: the size of the next piece, in bytes.
    reads: what was added and not taken; to be looked at only.
    """

    __slots__ = ("_at", "piece", "reads")

    def __init__(self) -> None:
        self.reads: deque[bytes] = deque()
        self._at = 0  # of the first read, what was taken
        self.piece = 1 << 14

    def __bool__(self) -> bool:
        return bool(self.reads)

    def add(self, data: bytes) -> None:
        """One more read."""
        self.reads.append(data)

    def take(self) -> bytes:
        """The next piece; there must be one."""
        data, at = self.reads[0], self._at
        if len(data) - at <= self.piece:
            self.reads.popleft()
            self._at = 0
            return data[at:] if at else data
        self._at = at + self.piece
        return data[at : self._at]

    def give_back(self, piece: bytes, size: int) -> None:
        """So many bytes at the end of the piece that was taken last were not parsed: it was too large."""
        if not self._at:
            self.reads.appendleft(piece)
            self._at = len(piece)
        self._at -= size
        self.piece = max(_SMALLEST, len(piece) - size << 1)

    def take_all(self) -> bytes:
        """All there is."""
        whole = b"".join(self.reads)[self._at :]
        self.clear()
        return whole

    def put_back(self, data: bytes) -> None:
        """What came before all there is."""
        if self._at:
            self.reads[0] = self.reads[0][self._at :]
            self._at = 0
        self.reads.appendleft(data)

    def took(self, size: int, ns: int) -> None:
        """A piece of so many bytes was served in `ns`: fit the size of the next ones."""
        if ns > SLOW:
            self.piece = max(_SMALLEST, self.piece >> 1)
        elif ns < _QUICK and size >= self.piece:
            self.piece = min(_LARGEST, self.piece << 1)

    def clear(self) -> None:
        """Let go of everything."""
        self.reads.clear()
        self._at = 0
