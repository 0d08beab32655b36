"""A segment of a Raft log: a header, then records `length, CRC-32, kind, index, term, data`.

The first record of each write has a bit set in its kind. A write begins only after the one before it is
synced. So everything before such a record was synced, and is lost if it cannot be read.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from ..errors import Damaged

_HEADER = struct.Struct("<8sQQQ")
_MAGIC = b"pyjsraf1"
_RECORD = struct.Struct("<IIBQQ")
_COVERED = struct.Struct("<IBQQ")
_FIRST = 0x80  # in kind
_KINDS = 3
_SEARCHED = 4 << 20  # bytes after damage that are searched for another write
HEADER_SIZE = _HEADER.size + 4


class LogRecord(NamedTuple):
    """One entry of the log."""

    term: int
    kind: int
    data: bytes


class SegmentHeader(NamedTuple):
    """The header of segment `number`. base, base_term: the index and term that precede its first record."""

    number: int
    base: int
    base_term: int


def pack_header(header: SegmentHeader) -> bytes:
    """Return the bytes of a header."""
    body = _HEADER.pack(_MAGIC, *header)
    return body + crc32(body).to_bytes(4, "little")


def read_header(data: bytes, number: int) -> SegmentHeader:
    """Read the header of segment `number`. Raises Damaged."""
    body = data[: _HEADER.size]
    if len(data) < HEADER_SIZE or crc32(body).to_bytes(4, "little") != data[_HEADER.size : HEADER_SIZE]:
        raise Damaged(0, f"log.{number}: the header is damaged")
    magic, own, base, term = _HEADER.unpack(body)
    if magic != _MAGIC or own != number:
        raise Damaged(0, f"log.{number}: the header is another file's")
    return SegmentHeader(own, base, term)


def pack_records(first: int, records: Sequence[tuple[int, int, bytes]]) -> bytes:
    """Return the bytes of records (term, kind, data) from index `first` on."""
    parts: list[bytes] = []
    index, bit = first, _FIRST
    for term, plain, data in records:
        kind, bit = plain | bit, 0
        covered = _COVERED.pack(len(data), kind, index, term)
        parts.append(_RECORD.pack(len(data), crc32(data, crc32(covered)), kind, index, term))
        parts.append(data)
        index += 1
    return b"".join(parts)


class SegmentScan(NamedTuple):
    """What a segment holds.

    records: (index, record) in the order of writing.
    end: where the readable part ends.
    damage: what is wrong after it, "" if nothing.
    torn: whether nothing follows but, perhaps, a write that a power failure cut short.
    """

    records: list[tuple[int, LogRecord]]
    end: int
    damage: str
    torn: bool = True


def scan(data: bytes, number: int) -> SegmentScan:
    """Read the records of a segment up to the first that is damaged or incomplete."""
    records: list[tuple[int, LogRecord]] = []
    position, size = HEADER_SIZE, len(data)
    while position < size:
        record = _record(data, position)
        if record is None:
            damage = f"log.{number}: the record at byte {position} is damaged or cut off"
            return SegmentScan(records, position, damage, torn=not _write_follows(data, position + 1))
        index, length, (term, kind, body) = record
        records.append((index, LogRecord(term, kind & ~_FIRST, body)))
        position += _RECORD.size + length
    return SegmentScan(records, position, "")


def _record(data: bytes, position: int) -> tuple[int, int, LogRecord] | None:
    """Return (index, length, record) at a position, None if there is no intact one."""
    start = position + _RECORD.size
    if start > len(data):
        return None
    length, checksum, kind, index, term = _RECORD.unpack_from(data, position)
    if start + length > len(data):
        return None
    body = data[start : start + length]
    if crc32(body, crc32(_COVERED.pack(length, kind, index, term))) != checksum:
        return None
    return index, length, LogRecord(term, kind, body)


def _write_follows(data: bytes, position: int) -> bool:
    """Return whether the first record of another write begins at `position` or later."""
    end = min(len(data), position + _SEARCHED)
    offset = 8  # offset of the kind in a record
    for byte in range(_FIRST, _FIRST + _KINDS):
        at = data.find(byte, position + offset, end)
        while at >= 0:
            if _record(data, at - offset) is not None:
                return True
            at = data.find(byte, at + 1, end)
    return False
