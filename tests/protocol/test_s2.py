"""The framing of S2: what other programs write is read, and what cannot be is refused."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from pyjs.native import compress_s2, decompress_s2
from pyjs.protocol.s2 import CHUNK, FrameError, Unframer, begin, chunk, split

BODY = (
    b"temperature=21.5;station=%d;" * 12 % tuple(range(12))
    + bytes(400)
    + bytes(range(64)) * 9
    + b"temperature=21.5;" * 3
)
# What nats-server 2.15.1 sent to a leaf node for a message with this body.
RECORDED = {
    "s2_fast": (
        "ff06000053327354774f00c9000068510920e30ac84c4d534720776561746865722e6f736c6f20313335330d0a74"
        "656d70657261747572653d32312e353b73746174696f6e3d303b621b000031150012003215001200331500120034"
        "1500120035150012003615001200371500120038150012003915001200316e0f0108313b00110119008400f03e01"
        "02030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f"
        "303132333435363738393a3b3c3d3e3f11401900f40042e004861100040d0a"
    ),
    "s2_better": (
        "ff06000053327354774f00ca000068510920e30ac84c4d534720776561746865722e6f736c6f20313335330d0a74"
        "656d70657261747572653d32312e353b73746174696f6e3d303b621b000031150012003215001200331500120034"
        "150012003515001200361500120037150012003815001200391500120431306a1c0008313b00110119008400f03e"
        "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e"
        "2f303132333435363738393a3b3c3d3e3f11401900f40042ec03861100040d0a"
    ),
    "s2_best": (
        "ff06000053327354774f00c7000068510920e30ac84c4d534720776561746865722e6f736c6f20313335330d0a74"
        "656d70657261747572653d32312e353b73746174696f6e3d303b621b000031150012003215001200331500120034"
        "150012003515001200361500120037150012003815001200396af3006e0f0108313b00110119008400f03e010203"
        "0405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031"
        "32333435363738393a3b3c3d3e3f11401900f40042ec03861100040d0a"
    ),
}


@pytest.mark.parametrize("mode", RECORDED)
def test_what_nats_server_sends(mode: str) -> None:
    framed = bytes.fromhex(RECORDED[mode])
    wanted = b"LMSG weather.oslo %d\r\n%b\r\n" % (len(BODY), BODY)
    for size in (1, 7, len(framed)):
        reader = Unframer()
        pieces = [framed[at : at + size] for at in range(0, len(framed), size)]
        assert b"".join(map(reader.feed, pieces)) == wanted
    damaged = bytearray(framed)
    damaged[-1] ^= 1
    with pytest.raises(FrameError):
        Unframer().feed(bytes(damaged))


@pytest.mark.parametrize("effort", [0, 1, 2, 3])
def test_frames_come_back_in_pieces_of_any_size(effort: int) -> None:
    data = random.Random(1).randbytes(40_000) + b"subject.one 12 " * 4000
    first, second = chunk(data[:CHUNK], effort), chunk(data[CHUNK:], effort)
    framed = begin() + first + b"\xfe\x02\x00\x00ab" + begin() + second
    assert (len(framed) < 50_000) == (effort > 0)
    for size in (1, 7, 50_000, 200_000):
        reader = Unframer()
        found = b"".join(reader.feed(framed[at : at + size]) for at in range(0, len(framed), size))
        reader.end()
        assert found == data


def test_what_does_not_shrink_is_not_compressed() -> None:
    data = random.Random(2).randbytes(1000)
    assert chunk(data, 3) == chunk(data)


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
    assert decompress_s2(block, 100) == wanted


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\x03\x08ab",  # cut
        b"\x04\x08abc",  # less than it says
        b"\x02\x08abc",  # more
        b"\x07\x08abc\x01\x09",  # from before the start
        b"\x07\x01\x00",  # the offset before, of which there is none
        b"\x07\x08abc\x0e\x00\x00",  # an offset of 0
        b"\xff\xff\xff\xff\x7f",
        b"\xff\xff\xff\xff\xff\x7f",
        b"\x07\x08abc\x1d\x00",  # a longer length, cut
        b"\x07\xfc\xff\xff\xff\xffabc",  # a literal of 4 GiB
    ],
)
def test_blocks_that_cannot_be(block: bytes) -> None:
    assert decompress_s2(block, 1 << 20) is None


def test_frames_that_cannot_be() -> None:
    good = begin() + chunk(b"something")
    wrong_ones = (good[:-1] + b"x", chunk(b"x"), b"\xff\x06\x00\x00S2sTwX", begin() + b"\x02\x00\x00\x00")
    for wrong in (*wrong_ones, begin() + b"\x00\x03\x00\x00abc"):
        with pytest.raises(FrameError):
            Unframer().feed(wrong)
    reader = Unframer()
    reader.feed(good[:-1])
    with pytest.raises(FrameError, match="within"):
        reader.end()


def test_a_bomb_takes_no_more_memory_than_its_limit() -> None:
    """A block of 30 bytes may say that it has gigabytes, and have as many as it says."""
    size = 1 << 28
    repeats = b"\x1d\x00\xff\xff\xff" * (size // 16_777_215 + 1)
    claims = b"\x80\x80\x80\x80\x01" + b"\x00a\x05\x01" + repeats
    framed = begin() + b"\x00%b\0\0\0\0%b" % ((len(claims) + 4).to_bytes(3, "little"), claims)
    reader = Unframer(1 << 16)
    tracemalloc.start()
    with pytest.raises(FrameError):
        reader.feed(framed)
    assert tracemalloc.get_traced_memory()[1] < 1 << 18
    tracemalloc.stop()


def test_a_chunk_that_is_too_large_is_refused_when_it_begins() -> None:
    reader = Unframer(1 << 16)
    reader.add(begin() + b"\xfe\xff\xff\xff")
    assert reader.take() == b""
    assert reader.ready
    with pytest.raises(FrameError, match="too large"):
        reader.take()


def test_one_chunk_is_taken_at_a_time() -> None:
    reader = Unframer()
    reader.add(begin() + chunk(b"one") + chunk(b"two")[:-1])
    assert [reader.take(), reader.take(), reader.take()] == [b"", b"one", None]
    assert not reader.ready
    reader.add(b"o")
    assert (reader.take(), reader.size) == (b"two", 0)


def test_more_effort_makes_less() -> None:
    lines = "".join(f"level={n % 7} station={n * 7919 % 1000} value={n * n % 977}\n" for n in range(2000))
    data = lines.encode()[:CHUNK]
    sizes = [len(compress_s2(data, effort)) for effort in (1, 2, 3)]
    assert len(data) > sizes[0] > sizes[1] > sizes[2]


def test_a_cut_stream_is_split_into_its_whole_chunks() -> None:
    compressed = b"\x00\x0e\x00\x00" + b"\0" * 4 + b"\x80\x02" + b"\0" * 8
    chunks = [begin(), chunk(b"a" * 300), b"\xfe\x02\x00\x00ab", compressed, chunk(b"b")]
    framed = b"".join(chunks)
    for size in (1, 7, 1000):
        pieces = [framed[at : at + size] for at in range(0, len(framed), size)]
        assert list(split(pieces)) == chunks
        assert list(split([*pieces[:-1], pieces[-1][:-1]])) == chunks[:-1]
