"""The format of a file of extents.

The file begins with two copies of its header: magic, cipher, salt, the sealed key of the file, CRC-32. Then
come extents, in the order of writing. Each has a header (CRC-32, magic, kind, whether it is compressed, bytes
stored, bytes of content, offset of the content, nonce), what is stored, and a tag that proves both and the
place in the file. Little-endian.

An extent is never changed in its place, unless it is asked for (`overwrite`). Content that is written again
makes a later extent, which counts.
"""

from __future__ import annotations

import re
from struct import Struct
from typing import NamedTuple
from zlib import crc32

FILE_MAGIC = b"pyjsext1"
_FILE = Struct("<8sBB2x16s48s")  # magic, cipher, compressed, salt, sealed key
_CHECKSUM = Struct("<I")
_COPY = _FILE.size + _CHECKSUM.size
FILE_HEADER = 2 * _COPY

_MAGIC = 0xE5A7
_COVERED = Struct("<HBBIIQ")  # magic, kind, compressed, stored, length, offset
_EXTENT = Struct("<IHBBIIQ12s")
EXTENT_HEADER = _EXTENT.size
NONCE = 12
_PLACE = Struct("<Q")
_CANDIDATE = re.compile(re.escape(_MAGIC.to_bytes(2, "little")), re.DOTALL)

LONGEST = 1 << 20  # bytes of content in an extent; a header that says more is none

DATA = 1  # content
SIZE = 2  # the content ends at `offset`, whatever was there before
ZEROS = 3  # content of zeros, which is not stored


class FileHeader(NamedTuple):
    """The header of a file.

    cipher: as in `keys.CIPHERS`. compressed: whether it was written as a whole by a disk that compresses.
    salt, key: of its sealed key, zeros if there is none.
    """

    cipher: int
    compressed: int = 0
    salt: bytes = bytes(16)
    key: bytes = bytes(48)

    def encode(self) -> bytes:
        """Return the `FILE_HEADER` bytes for the file."""
        fields = _FILE.pack(FILE_MAGIC, *self)
        return (fields + _CHECKSUM.pack(crc32(fields))) * 2

    @classmethod
    def copies(cls, data: bytes) -> list[FileHeader]:
        """Return the intact copies at the beginning of a file."""
        found = []
        for start in (0, _COPY):
            fields = data[start : start + _FILE.size]
            checksum = data[start + _FILE.size : start + _COPY]
            if fields.startswith(FILE_MAGIC) and checksum == _CHECKSUM.pack(crc32(fields)):
                found.append(cls(*_FILE.unpack(fields)[1:]))
        return found


def is_extents(data: bytes) -> bool:
    """Return whether a file that begins with these bytes is one of extents, perhaps damaged."""
    return data.startswith(FILE_MAGIC) or data[_COPY:].startswith(FILE_MAGIC)


class Extent(NamedTuple):
    """The header of an extent.

    stored: how many bytes are stored. length, offset: how many bytes of content that is, and where they
        belong.
    """

    kind: int
    compressed: int
    stored: int
    length: int
    offset: int
    nonce: bytes

    def encode(self) -> bytes:
        """Return the `EXTENT_HEADER` bytes."""
        kind, compressed, stored, length, offset, nonce = self
        covered = _COVERED.pack(_MAGIC, kind, compressed, stored, length, offset) + nonce
        return _CHECKSUM.pack(crc32(covered)) + covered

    @classmethod
    def decode(cls, data: bytes, at: int = 0) -> Extent | None:
        """Read a header. Return None if there is no intact one."""
        if at + EXTENT_HEADER > len(data):
            return None
        checksum, magic, *fields = _EXTENT.unpack_from(data, at)
        if magic != _MAGIC or checksum != crc32(data[at + 4 : at + EXTENT_HEADER]):
            return None
        extent = cls(*fields)
        return extent if extent.length <= LONGEST and extent.stored <= LONGEST else None


def proven(header: bytes, place: int) -> bytes:
    """Return what the tag of an extent proves besides what is stored: its header and its place."""
    return header[4 : EXTENT_HEADER - NONCE] + _PLACE.pack(place)


def candidates(data: bytes) -> list[int]:
    """Return where in `data` headers of extents may begin, except at its beginning."""
    return [found.start() - 4 for found in _CANDIDATE.finditer(data, 5)]
