"""The S2 framing of archives and of links between servers: chunks with checksums, compressed or not.

The reader takes the streams of Snappy and of S2. Promises: data that does not agree with its checksum, or is
not such a stream, raises FrameError; what one chunk holds is at most `largest` bytes, before and after it is
decompressed, whatever it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..native import compress_s2, crc32c, decompress_s2

CHUNK: Final = 65536  # bytes of data in a chunk that is compressed
PLAIN_CHUNK: Final = 1 << 18  # in one that is not
LARGEST: Final = 4 << 20  # bytes of data in a chunk that is read
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

    effort: how hard to compress, 1 to 3; 0 for not at all. What does not become smaller is not compressed.
    """
    kind, body = _PLAIN, data
    if effort:
        block = compress_s2(data, effort)
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
        self._data: bytes | bytearray = b""  # a whole read, or what was gathered of several
        self._at = 0  # where the next chunk begins
        self._begun = False

    @property
    def size(self) -> int:  # noqa: D102 - see the class
        return len(self._data) - self._at

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
        if not self.size:
            self._data, self._at = piece, 0
            return
        if not isinstance(self._data, bytearray):
            self._data, self._at = bytearray(self._data[self._at :]), 0
        elif self._at:
            del self._data[: self._at]
            self._at = 0
        self._data += piece

    def take(self) -> bytes | None:
        """Return the data of the next chunk; None if it is not complete. Raises FrameError.

        A chunk of more than `largest` bytes is refused when it begins.
        """
        end = self._end()
        if end > self.largest + _MORE:
            raise FrameError("a chunk is too large")
        if not end or self.size < end:
            return None
        at = self._at
        self._at = end = at + end
        with memoryview(self._data) as data:
            kind, checksum, body = data[at], bytes(data[at + 4 : at + 8]), bytes(data[at + 8 : end])
            identity = bytes(data[at + 4 : end]) if kind == _IDENTIFIER else b""
        if self._at == len(self._data):
            self._data, self._at = b"", 0
        if kind == _IDENTIFIER:
            if identity not in (_IDENTITY, b"sNaPpY"):
                raise FrameError("it is no stream of S2 or Snappy")
            self._begun = True
        if not self._begun:
            raise FrameError("it is no stream of S2 or Snappy")
        return b"" if kind >= _SKIPPED else self._checked(kind, checksum, body)

    def end(self) -> None:
        """Note that nothing more will come. Raises FrameError if the last chunk is incomplete."""
        if self.size:
            raise FrameError("it ends within a chunk")

    def _end(self) -> int:
        """Return how long the next chunk is; 0 if that has not arrived."""
        at = self._at
        return 4 + int.from_bytes(self._data[at + 1 : at + 4], "little") if self.size >= 4 else 0

    def _checked(self, kind: int, checksum: bytes, body: bytes) -> bytes:
        if kind not in (_COMPRESSED, _PLAIN) or len(checksum) < 4:
            raise FrameError(f"a chunk of an unknown kind, {kind}")
        data = body if kind == _PLAIN else decompress_s2(body, self.largest)
        if data is None:
            raise FrameError("a block is invalid, or too large")
        if len(data) > self.largest or _masked(data) != int.from_bytes(checksum, "little"):
            raise FrameError("a chunk does not agree with its checksum")
        return data
