"""Encoding messages as the records of a block file; `store.record` describes the layout."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from struct import Struct
from typing import Final
from zlib import crc32

FIXED: Final = 32  # bytes before the subject
MAGIC: Final = 0xB5
MESSAGE: Final = 1
HAS_HEADER: Final = 0x80000000  # in the lengths of records, beside the length

pack_fields = Struct("<BBHIIQq").pack
pack_checksum = Struct("<I").pack


def encode_messages(
    messages: Sequence[tuple[str, bytes, bytes]], first: int, time: int, seed: int, offset: int
) -> tuple[list[bytes], array[int], array[int]]:
    """Return (records, offsets, lengths) of messages that are stored one after the other.

    messages: (subject, header, body) of each.
    first: the sequence of the first one.
    time: of all, in ns.
    seed: with which the checksums of the file start.
    offset: where the first record will be in the file.

    The offsets and lengths are columns of type "I", and a length has the bit HAS_HEADER if there is a header.
    """
    records: list[bytes] = []
    offsets, lengths = array("I"), array("I")
    sequence = first
    for subject, header, body in messages:
        key = subject.encode("utf-8", "surrogateescape")
        header_size = len(header)
        length = FIXED + len(key) + header_size + len(body)
        head = pack_fields(MAGIC, MESSAGE, len(key), length, header_size, sequence, time) + key + header
        records.append(pack_checksum(crc32(body, crc32(head, seed))) + head + body)  # copies the body once
        offsets.append(offset)
        lengths.append(length | HAS_HEADER if header_size else length)
        offset += length
        sequence += 1
    return records, offsets, lengths
