"""The S2 framing: chunks of bytes with checksums, compressed or not.

The writer compresses by Snappy, which every reader of S2 accepts. The reader takes the streams of Snappy and
of S2. Promises: data that does not agree with its checksum, or is not such a stream, raises FrameError; only
one chunk is kept in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .crc32c import masked

CHUNK = 65536  # bytes of data in a chunk that is written
_LARGEST = 4 << 20  # bytes of data in a chunk that is read
_LENGTH = 5  # bytes of a block's own length, at most
_IDENTITY = b"S2sTwO"
_COMPRESSED, _PLAIN, _SKIPPED, _IDENTIFIER = 0x00, 0x01, 0x80, 0xFF


class FrameError(ValueError):
    """The bytes are not a stream of S2 or Snappy, or are damaged."""


def begin() -> bytes:
    """Return the identifier that a stream begins with."""
    return b"%c%b%b" % (_IDENTIFIER, len(_IDENTITY).to_bytes(3, "little"), _IDENTITY)


def chunk(data: bytes) -> bytes:
    """Return `data`, at most `CHUNK` bytes, as one chunk, compressed if it gets smaller."""
    from cramjam import snappy

    return bytes(snappy.compress(data))[len(begin()) :]  # without the identifier of Snappy, which is as long


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
    """Reads a stream that arrives in pieces of any size."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._begun = False

    def feed(self, piece: bytes) -> bytes:
        """Return the data of the chunks that are complete now. Raises FrameError."""
        rest = self._rest
        rest += piece
        found = []
        at = 0
        while len(rest) - at >= 4:
            size = int.from_bytes(rest[at + 1 : at + 4], "little")
            if len(rest) - at - 4 < size:
                break
            found.append(self._chunk(rest[at], bytes(rest[at + 4 : at + 4 + size])))
            at += 4 + size
        del rest[:at]
        return b"".join(found)

    def end(self) -> None:
        """Note that nothing more will come. Raises FrameError if the last chunk is incomplete."""
        if self._rest:
            raise FrameError("it ends within a chunk")

    def _chunk(self, kind: int, body: bytes) -> bytes:
        if kind == _IDENTIFIER:
            if body not in (_IDENTITY, b"sNaPpY"):
                raise FrameError("it is no stream of S2 or Snappy")
            self._begun = True
            return b""
        if not self._begun:
            raise FrameError("it is no stream of S2 or Snappy")
        if kind >= _SKIPPED:
            return b""
        if kind not in (_COMPRESSED, _PLAIN) or len(body) < 4:
            raise FrameError(f"a chunk of an unknown kind, {kind}")
        data = body[4:] if kind == _PLAIN else decompress(body[4:])
        if len(data) > _LARGEST or masked(data) != int.from_bytes(body[:4], "little"):
            raise FrameError("a chunk does not agree with its checksum")
        return data


def decompress(block: bytes) -> bytes:
    """Return the data of one compressed block. Raises FrameError if the block is invalid."""
    try:
        size, at = _length(block)
        out = bytearray()
        offset = 0
        while at < len(block):
            tag = block[at]
            if tag & 3 == 0:
                length, at = _literal(block, at)
                out += block[at : at + length]
                at += length
                continue
            length, offset, at = _copy(block, at, offset)
            _repeat(out, offset, length)
            if len(out) > size:
                break
    except IndexError:
        raise FrameError("a block ends too early") from None
    if len(out) != size:
        raise FrameError("a block has another length than it says")
    return bytes(out)


def _length(block: bytes) -> tuple[int, int]:
    size = shift = at = 0
    while True:
        byte = block[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    if size > _LARGEST:
        raise FrameError("a block is too large")
    return size, at


def _literal(block: bytes, at: int) -> tuple[int, int]:
    """Return how many literal bytes follow the tag at `at`, and where they begin."""
    length = block[at] >> 2
    extra = max(0, length - 59)
    if extra:
        length = int.from_bytes(block[at + 1 : at + 1 + extra], "little")
    return length + 1, at + 1 + extra


def _copy(block: bytes, at: int, last: int) -> tuple[int, int, int]:
    """Return (length, offset, end of the tag) of a copy. `last` is the offset of the copy before."""
    tag = block[at]
    if tag & 3 == 2:
        return 1 + (tag >> 2), block[at + 1] | block[at + 2] << 8, at + 3
    if tag & 3 == 3:
        return 1 + (tag >> 2), int.from_bytes(block[at + 1 : at + 5], "little"), at + 5
    length, offset = tag >> 2 & 7, (tag & 0xE0) << 3 | block[at + 1]
    if offset:
        return length + 4, offset, at + 2
    # Only S2 has this: an offset of 0 repeats the last one, and lengths beyond 8 take more bytes.
    more = max(0, length - 4)
    if more:
        length = int.from_bytes(block[at + 2 : at + 2 + more], "little") + (4, 1 << 8, 1 << 16)[more - 1]
    return length + 4, last, at + 2 + more


def _repeat(out: bytearray, offset: int, length: int) -> None:
    """Append `length` bytes that begin `offset` bytes before the end. They may include appended ones."""
    start = len(out) - offset
    if offset <= 0 or start < 0:
        raise FrameError("a block refers to what is not there")
    if offset >= length:
        out += out[start : start + length]
    else:
        pattern = bytes(out[start:])
        out += (pattern * (length // offset + 1))[:length]
