"""The S2 framing of archives and of links between servers: chunks with checksums, compressed or not.

The reader takes the streams of Snappy and of S2. Promises: data that does not agree with its checksum, or is
not such a stream, raises FrameError; what one chunk holds is at most `largest` bytes, before and after it is
decompressed, whatever it says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from ..native import compress_s2, crc32c, decompress_s2

CHUNK: Final = 65536  # bytes of data in a chunk that is compressed
PLAIN_CHUNK: Final = 1 << 18  # in one that is not
LARGEST: Final = 4 << 20  # bytes of data in a chunk that is read
_SMALL = 4096  # bytes of a read that is gathered with others
_MORE = 64 << 10  # bytes that a chunk may have beyond its data
_IDENTITY = b"S2sTwO"
_COMPRESSED, _PLAIN, _SKIPPED, _IDENTIFIER = 0x00, 0x01, 0x80, 0xFF


class FrameError(ValueError):
    """The bytes are not a stream of S2 or Snappy, or are damaged."""


def begin() -> bytes:
    """Return the identifier that a stream begins with."""
    return b"%c%b%b" % (_IDENTIFIER, len(_IDENTITY).to_bytes(3, "little"), _IDENTITY)


def chunk(data: bytes, effort: int = 0) -> bytes:
    """Return `data` as one chunk; see `parts`."""
    return b"".join(parts(data, effort))


def parts(data: bytes, effort: int = 0) -> tuple[bytes, bytes]:
    """Return `data`, at most `CHUNK` or `PLAIN_CHUNK` bytes, as the header and the body of one chunk.

    effort: how hard to compress: 1 by Snappy, 2 and 3 by S2, whose blocks are a fifth smaller and take five
        to ten times as long; 0 for not at all. What does not become smaller is not compressed.
    """
    kind, body = _PLAIN, data
    if effort:
        block = _snappy_block(data) if effort == 1 else compress_s2(data, effort)
        if len(block) < len(data):
            kind, body = _COMPRESSED, block
    length = (len(body) + 4).to_bytes(3, "little")
    return b"%c%b%b" % (kind, length, _masked(data).to_bytes(4, "little")), body


def snappy_chunk(data: bytes) -> bytes:
    """Return `data`, at most `CHUNK` bytes, as one chunk, compressed by Snappy if it gets smaller.

    Every reader of S2 takes it, and it is quick without the compiled part, too.
    """
    from cramjam import snappy

    return bytes(snappy.compress(data))[len(begin()) :]  # without the identifier of Snappy, which is as long


def _snappy_block(data: bytes) -> bytes:
    from cramjam import snappy

    return bytes(snappy.compress_raw(data))


def _masked(data: bytes) -> int:
    """Return the checksum of `data` in the form that frames contain."""
    crc = crc32c(data)
    return (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def split(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the whole chunks of a stream as they are. pieces: of the stream, of any size."""
    rest = bytearray()
    for piece in pieces:
        rest += piece
        at = 0
        while len(rest) - at >= 4:
            size = 4 + int.from_bytes(rest[at + 1 : at + 4], "little")
            if len(rest) - at < size:
                break
            yield bytes(rest[at : at + size])
            at += size
        del rest[:at]


class Unframer:
    """Reads a stream that arrives in pieces of any size.

    largest: how many bytes a chunk may have.
    size: how many bytes have arrived, of chunks that were not taken yet.
    ready: whether there is a chunk to take, or a mistake to find.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self.largest = largest
        self.size = 0
        self._reads: deque[bytes | bytearray] = deque()  # small ones are gathered
        self._at = 0  # how much of the first is taken
        self._begun = False

    @property
    def ready(self) -> bool:  # noqa: D102 - see the class
        return 0 < self._end() <= self.size or self._end() > self.largest + _MORE

    def feed(self, piece: bytes) -> bytes:
        """Return the data of all chunks that are complete now. Raises FrameError."""
        self.add(piece)
        found = []
        while (data := self.take()) is not None:
            found.append(data)
        return b"".join(found)

    def add(self, piece: bytes) -> None:
        """Keep what has arrived, for `take`."""
        self.size += len(piece)
        if len(piece) >= _SMALL:
            self._reads.append(piece)
            return
        last = self._reads[-1] if self._reads else None
        if isinstance(last, bytearray) and len(last) < CHUNK:
            last += piece
        elif piece:
            self._reads.append(bytearray(piece))

    def take(self) -> bytes | None:
        """Return the data of the next chunk; None if it is not complete. Raises FrameError.

        A chunk of more than `largest` bytes is refused when it begins.
        """
        end = self._end()
        if end > self.largest + _MORE:
            raise FrameError("a chunk is too large")
        if not end or self.size < end:
            return None
        kind = self._cut(4)[0]
        if kind == _IDENTIFIER:
            if self._cut(end - 4) not in (_IDENTITY, b"sNaPpY"):
                raise FrameError("it is no stream of S2 or Snappy")
            self._begun = True
            return b""
        if not self._begun:
            raise FrameError("it is no stream of S2 or Snappy")
        if kind >= _SKIPPED:
            self._cut(end - 4)
            return b""
        if kind not in (_COMPRESSED, _PLAIN) or end < 8:
            raise FrameError(f"a chunk of an unknown kind, {kind}")
        return self._checked(kind, self._cut(4), self._cut(end - 8))

    def end(self) -> None:
        """Note that nothing more will come. Raises FrameError if the last chunk is incomplete."""
        if self.size:
            raise FrameError("it ends within a chunk")

    def _end(self) -> int:
        """Return how long the next chunk is; 0 if that has not arrived."""
        if self.size < 4:
            return 0
        head = self._reads[0][self._at : self._at + 4]
        for each in islice(self._reads, 1, 5 - len(head)):  # none of them is empty
            head += each[: 4 - len(head)]
        return 4 + int.from_bytes(head[1:4], "little")

    def _cut(self, count: int) -> bytes:
        """Remove and return the next bytes, which are there. They are copied once."""
        self.size -= count
        pieces = []
        while count:
            first, at = self._reads[0], self._at
            piece = memoryview(first)[at : at + count]
            pieces.append(piece)
            count -= len(piece)
            self._at += len(piece)
            if self._at == len(first):
                self._reads.popleft()
                self._at = 0
        return b"".join(pieces)

    def _checked(self, kind: int, checksum: bytes, body: bytes) -> bytes:
        data = body if kind == _PLAIN else decompress_s2(body, self.largest)
        if data is None:
            raise FrameError("a block is invalid, or too large")
        if len(data) > self.largest or _masked(data) != int.from_bytes(checksum, "little"):
            raise FrameError("a chunk does not agree with its checksum")
        return data
