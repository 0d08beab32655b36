"""One record on the disk: what every append-only file of the store consists of.

Layout, little-endian: CRC-32 (u32), magic (u8), kind (u8), subject length (u16), whole length (u32), header
length (u32), sequence (u64), time in ns (i64); then subject, header, body. The checksum covers everything
that follows it, and starts with the seed of the file. So a record of another file, or a remnant from an
earlier life of this file, is not valid here. The sequence shows which place a record belongs to.
"""

import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

from ..native import records

FIXED = records.FIXED
MAGIC = records.MAGIC
LONGEST = 1 << 30  # bytes; no record is longer, so a greater length is damage

MESSAGE = records.MESSAGE
DELETE = 2  # body: pairs (first, last) of deleted sequences, u64 each
STATE = 3  # seq: the first sequence not removed; time: the last message's; body: the last sequence, u64
COMMIT = 4  # ends the records that are written and synced together
ERASED = 5  # a former message, whose bytes are overwritten
CHECKPOINT = 6  # a consumer's whole state
DELTA = 7  # what changed in a consumer's state

_CANDIDATE = re.compile(rb"\xb5[\x01-\x07]", re.DOTALL)

pack_fields, pack_checksum = records.pack_fields, records.pack_checksum
unpack_all = records.unpack_all


class BlockRecord(NamedTuple):
    """A record that passed its checksum."""

    kind: int
    seq: int
    time: int
    subject: bytes
    header: bytes
    body: bytes
    length: int


def encode(
    kind: int,
    seq: int,
    seed: int,
    *,
    time: int = 0,
    subject: bytes = b"",
    header: bytes = b"",
    body: bytes = b"",
) -> bytes:
    """Return a record for a file with this seed."""
    length = FIXED + len(subject) + len(header) + len(body)
    head = pack_fields(MAGIC, kind, len(subject), length, len(header), seq, time) + subject + header
    return pack_checksum(crc32(body, crc32(head, seed))) + head + body


def ranges(seqs: Iterable[int]) -> "array[int]":
    """Return ascending sequences as pairs (first, last) of ranges without gaps."""
    pairs = array("Q")
    for seq in seqs:
        if pairs and pairs[-1] == seq - 1:
            pairs[-1] = seq
        else:
            pairs.extend((seq, seq))
    return pairs


def pairs_to_bytes(pairs: "array[int]") -> bytes:
    """Return the body of a DELETE record."""
    if sys.byteorder == "big":
        pairs = pairs[:]
        pairs.byteswap()
    return pairs.tobytes()


def pairs_from_bytes(body: bytes) -> "array[int]":
    """Read the body of a DELETE record."""
    pairs = array("Q")
    pairs.frombytes(body)
    if sys.byteorder == "big":
        pairs.byteswap()
    return pairs


def reseal(record: bytes, seed: int) -> bytes:
    """Return a valid record with the checksum for another file."""
    rest = record[4:]
    return pack_checksum(crc32(rest, seed)) + rest


def is_valid(data: bytes, seed: int) -> bool:
    """Return whether `data` is one whole, undamaged record."""
    if len(data) < FIXED:
        return False
    checksum, magic, _, subject, length, header, _, _ = unpack_all(data)
    if magic != MAGIC or length != len(data) or FIXED + subject + header > length:
        return False
    return crc32(data[4:], seed) == int(checksum)


def decode_at(data: bytes, offset: int, seed: int) -> BlockRecord | None:
    """Return the record at `offset`, None if there is no valid one."""
    if offset + FIXED > len(data):
        return None
    _, magic, kind, subject, length, header, seq, time = unpack_all(data, offset)
    end = offset + length
    if magic != MAGIC or length > LONGEST or FIXED + subject + header > length or end > len(data):
        return None
    if not is_valid(data[offset:end], seed):
        return None
    at = offset + FIXED
    return BlockRecord(
        kind,
        seq,
        time,
        data[at : at + subject],
        data[at + subject : at + subject + header],
        data[at + subject + header : end],
        length,
    )


def resync(data: bytes, offset: int, seed: int) -> int:
    """Return the offset of the next valid record from `offset` on, `len(data)` if there is none."""
    for found in _CANDIDATE.finditer(data, offset + 4):
        start = found.start() - 4
        if start + FIXED > len(data):
            break
        length = unpack_all(data, start)[4]
        if length > LONGEST or start + length > len(data):
            continue
        if is_valid(data[start : start + length], seed):
            return start
    return len(data)


def claimed_seqs(data: bytes, start: int, end: int, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Guess the damaged messages between two offsets from the remains of their headers.

    Iterates over (sequence, length).
    """
    for found in _CANDIDATE.finditer(data, start + 4, end):
        at = found.start() - 4
        if at + FIXED > end:
            break
        _, _, kind, subject, length, header, seq, _ = unpack_all(data, at)
        if kind in {MESSAGE, ERASED} and low < seq < high and FIXED + subject + header <= length <= LONGEST:
            yield seq, length
