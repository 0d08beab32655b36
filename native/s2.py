"""Blocks of S2, the compression that servers of NATS use between each other.

A block is its length as a varint, and then literals and copies of what came before. To Snappy's format S2
adds copies with the offset of the one before, and longer ones. Source: the format descriptions of Snappy and
of S2 (github.com/klauspost/compress/s2).
"""

from __future__ import annotations

from typing import Final

LONGEST: Final = 1 << 16  # bytes of data in a block that is made
_SHORTEST = 4  # bytes of a copy
_ENOUGH = 64  # bytes of a copy from which on no longer one is looked for
_BITS = 14  # of a hash, at most
# For each effort, how many earlier places are compared. An effort of 1 also skips where nothing is found.
_DEPTHS = (0, 1, 8, 48)


def compress_s2(data: bytes, effort: int) -> bytes:
    """Return `data` as one block. More effort makes a smaller one, and takes longer.

    effort: 1 to 3.

    Raises ValueError for another effort, or more than `LONGEST` bytes.
    """
    if not 0 < effort < len(_DEPTHS) or len(data) > LONGEST:
        raise ValueError(f"{len(data)} bytes with an effort of {effort}")
    return _Compressor(data, _DEPTHS[effort]).run()


class _Compressor:
    """Makes one block. Places in tables are counted from 1, because 0 stands for none."""

    def __init__(self, data: bytes, depth: int) -> None:
        self.data = data
        self.depth = depth
        self.bits = min(_BITS, max(6, len(data).bit_length()))
        self.newest = [0] * (1 << self.bits)  # by hash: the newest place with it
        self.before = [0] * len(data)  # by place: the one before with the same hash
        self.known = 0  # the first place that is not in the tables yet
        self.offset = 0  # of the last copy; 0 if there is none
        self.out = bytearray()

    def run(self) -> bytes:
        size = len(self.data)
        last = size - _SHORTEST  # the last place where a copy can begin
        self._varint(size)
        start = pos = misses = 0
        while pos <= last:
            length, offset = self._find(pos)
            if length < _SHORTEST:
                pos += 1 + (misses >> 5 if self.depth == 1 else 0)
                misses += 1
                continue
            while self.depth > 1 and length < _ENOUGH and pos < last:
                longer, other = self._find(pos + 1)
                if longer <= length:
                    break
                pos, length, offset = pos + 1, longer, other
            self._literal(start, pos)
            self._copy(offset, length)
            pos += length
            if self.depth > 1:
                for place in range(self.known, min(pos, last + 1)):
                    self._note(place)
            elif pos - 2 <= last:
                self._note(pos - 2)
            start, misses = pos, 0
        self._literal(start, size)
        return bytes(self.out)

    def _hash(self, pos: int) -> int:
        word = int.from_bytes(self.data[pos : pos + 4], "little")
        return (word * 2654435761 & 0xFFFFFFFF) >> (32 - self.bits)

    def _note(self, pos: int) -> None:
        """Enter a place into the tables, unless it is there."""
        if pos >= self.known:
            found = self._hash(pos)
            self.before[pos] = self.newest[found]
            self.newest[found] = pos + 1
            self.known = pos + 1

    def _find(self, pos: int) -> tuple[int, int]:
        """Return (length, offset) of the longest copy for what begins at `pos`, and enter that place."""
        best, offset = _SHORTEST - 1, 0
        if 0 < self.offset <= pos:
            length = self._same(pos - self.offset, pos)
            if length > best:
                best, offset = length, self.offset
        place, left = self.newest[self._hash(pos)], self.depth
        while place and left:
            length = self._same(place - 1, pos)
            if length > best:
                best, offset = length, pos - place + 1
            place, left = self.before[place - 1], left - 1
        self._note(pos)
        return best if offset else 0, offset

    def _same(self, one: int, other: int) -> int:
        """Return how many bytes are the same from two places on."""
        data, size, length = self.data, len(self.data), 0
        while other + length < size and data[one + length] == data[other + length]:
            length += 1
        return length

    def _varint(self, value: int) -> None:
        while value > 127:
            self.out.append(value & 127 | 128)
            value >>= 7
        self.out.append(value)

    def _literal(self, start: int, stop: int) -> None:
        length = stop - start - 1
        if length < 0:
            return
        if length < 60:
            self.out.append(length << 2)
        else:
            extra = 1 if length < 256 else 2
            self.out.append(59 + extra << 2)
            self.out += length.to_bytes(extra, "little")
        self.out += self.data[start:stop]

    def _copy(self, offset: int, length: int) -> None:
        if offset != self.offset:
            self.offset = offset
            # A longer copy goes on with the same offset, for at least as many bytes as a copy must have.
            first = length if length <= 64 else 60
            if first < 12 and offset < 2048:
                self.out += bytes((1 | first - 4 << 2 | offset >> 8 << 5, offset & 255))
            else:
                self.out += bytes((2 | first - 1 << 2, offset & 255, offset >> 8))
            length -= first
        if not length:
            return
        if length <= 8:
            self.out += bytes((1 | length - 4 << 2, 0))
        elif length < 264:
            self.out += bytes((1 | 5 << 2, 0, length - 8))
        else:
            length -= 260
            self.out += bytes((1 | 6 << 2, 0, length & 255, length >> 8))


def decompress_s2(block: bytes, most: int) -> bytes | None:
    """Return the data of one block of S2 or Snappy; None if it is invalid, or has more than `most` bytes."""
    size, at = _size(block)
    if not at or size > most:
        return None
    out = bytearray()
    offset, end = 0, len(block)
    while at < end:
        kind = block[at] & 3
        if not kind:
            length, at = _literal(block, at)
            if at + length > end or len(out) + length > size:
                return None
            out += block[at : at + length]
            at += length
            continue
        length, offset, at = _copy(block, at, offset)
        start = len(out) - offset
        if at > end or offset <= 0 or start < 0 or len(out) + length > size:
            return None
        if offset >= length:
            out += out[start : start + length]
        else:  # it reaches into itself
            pattern = bytes(out[start:])
            out += (pattern * (length // offset + 1))[:length]
    return bytes(out) if len(out) == size else None


def _size(block: bytes) -> tuple[int, int]:
    """Return the length of the data, and where the length ends; 0 if it is none."""
    size = 0
    for at, byte in enumerate(block[:5]):
        size |= (byte & 127) << 7 * at
        if byte < 128:
            return size, at + 1
    return 0, 0


def _literal(block: bytes, at: int) -> tuple[int, int]:
    """Return how many literal bytes follow the tag at `at`, and where they begin."""
    length = block[at] >> 2
    extra = max(0, length - 59)
    if extra:
        length = int.from_bytes(block[at + 1 : at + 1 + extra], "little")
    return length + 1, at + 1 + extra


def _copy(block: bytes, at: int, last: int) -> tuple[int, int, int]:
    """Return (length, offset, end of the tag) of a copy. `last` is the offset of the copy before.

    The end is beyond that of the block if the tag is cut.
    """
    tag = block[at]
    if tag & 3 == 2:
        return 1 + (tag >> 2), int.from_bytes(block[at + 1 : at + 3], "little"), at + 3
    if tag & 3 == 3:
        return 1 + (tag >> 2), int.from_bytes(block[at + 1 : at + 5], "little"), at + 5
    if at + 1 >= len(block):
        return 0, 0, at + 2
    length, offset = tag >> 2 & 7, (tag & 0xE0) << 3 | block[at + 1]
    if offset:
        return length + 4, offset, at + 2
    # Only S2 has this: an offset of 0 repeats the last one, and lengths beyond 8 take more bytes.
    more = max(0, length - 4)
    if more:
        length = int.from_bytes(block[at + 2 : at + 2 + more], "little") + (4, 1 << 8, 1 << 16)[more - 1]
    return length + 4, last, at + 2 + more
