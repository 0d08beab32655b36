"""The archive's formats by themselves: checksums, frames, entries; damage is found."""

from __future__ import annotations

import random

import pytest
from pyjs.protocol.archive.crc32c import crc32c
from pyjs.protocol.archive.entries import END, MAGIC, ArchiveEntry, ArchiveError, ArchiveReader
from pyjs.protocol.archive.frames import FrameError, Unframer, begin, chunk, decompress, split

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


def test_frames_come_back_in_pieces_of_any_size() -> None:
    data = random.Random(1).randbytes(100_000)
    framed = begin() + chunk(data[:65_536]) + b"\xfe\x02\x00\x00ab" + chunk(data[65_536:])
    for size in (1, 7, 50_000, 200_000):
        reader = Unframer()
        found = b"".join(reader.feed(framed[at : at + size]) for at in range(0, len(framed), size))
        reader.end()
        assert found == data


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        (b"\x03\x08abc", b"abc"),
        (b"\x09\x08abc\x09\x03", b"abcabcabc"),  # a copy that reaches into itself
        (b"\x0d\x08abc\x01\x03\x0a\x03\x00\x08zzz", b"abcabcabcazzz"),
        (b"\x14\x08abc\x01\x03\x15\x00\x05", (b"abc" * 7)[:20]),  # S2: the offset before, and a longer length
        (b"\x07\x08abc\x0f\x03\x00\x00\x00", b"abcabca"),
    ],
)
def test_blocks_of_both_kinds(block: bytes, wanted: bytes) -> None:
    assert decompress(block) == wanted


@pytest.mark.parametrize(
    "block",
    [b"", b"\x03\x08ab", b"\x04\x08abc", b"\x07\x08abc\x01\x09", b"\xff\xff\xff\xff\x7f", b"\x02\x08abc"],
)
def test_blocks_that_cannot_be(block: bytes) -> None:
    with pytest.raises(FrameError):
        decompress(block)


def test_frames_that_cannot_be() -> None:
    good = begin() + chunk(b"something")
    for wrong in (good[:-1] + b"x", chunk(b"x"), b"\xff\x06\x00\x00S2sTwX", begin() + b"\x02\x00\x00\x00"):
        with pytest.raises(FrameError):
            Unframer().feed(wrong)
    reader = Unframer()
    reader.feed(good[:-1])
    with pytest.raises(FrameError, match="within"):
        reader.end()


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


def test_a_cut_stream_is_split_into_its_whole_chunks() -> None:
    compressed = b"\x00\x0e\x00\x00" + b"\0" * 4 + b"\x80\x02" + b"\0" * 8
    chunks = [begin(), chunk(b"a" * 300), b"\xfe\x02\x00\x00ab", compressed, chunk(b"b")]
    framed = b"".join(chunks)
    for size in (1, 7, 1000):
        pieces = [framed[at : at + size] for at in range(0, len(framed), size)]
        assert list(split(pieces)) == chunks
        assert list(split([*pieces[:-1], pieces[-1][:-1]])) == chunks[:-1]
