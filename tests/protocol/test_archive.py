"""The archive's entries by themselves, and their checksums; damage is found."""

from __future__ import annotations

import random

import pytest
from pyjs.native import crc32c
from pyjs.protocol.archive.entries import END, MAGIC, ArchiveEntry, ArchiveError, ArchiveReader

ENTRIES = [
    ArchiveEntry("state.json", -5, body=b"{}"),
    ArchiveEntry("a.b", 1 << 60, 7, b"NATS/1.0\r\n\r\n", b"x" * 300),
    END,
]


def bit_by_bit(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 8192, 10_001, 65_536, 70_000])
def test_the_checksum_is_castagnolis(size: int) -> None:
    assert crc32c(b"123456789") == 0xE3069283
    data = random.Random(size).randbytes(size)
    assert crc32c(data) == bit_by_bit(data)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_entries_come_back_in_pieces_of_any_size(size: int) -> None:
    data = MAGIC + b"".join(entry.encode() for entry in ENTRIES)
    reader = ArchiveReader()
    found = [entry for at in range(0, len(data), size) for entry in reader.feed(data[at : at + size])]
    reader.end()
    assert found == ENTRIES


def test_archives_that_cannot_be() -> None:
    data = MAGIC + b"".join(entry.encode() for entry in ENTRIES)
    for wrong in (b"ustar of old", data + ENTRIES[0].encode(), MAGIC + b"\xff" * 12):
        with pytest.raises(ArchiveError):
            ArchiveReader().feed(wrong)
    for size in (0, 3, len(data) - 1, len(MAGIC)):
        reader = ArchiveReader()
        reader.feed(data[:size])
        with pytest.raises(ArchiveError, match="cut short"):
            reader.end()
