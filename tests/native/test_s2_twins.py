"""The compiled functions of S2 do what the plain ones do: on data, on blocks, and on any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.native import checksums, s2

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")

# Data with something to find: pieces that come again, near and far, long and short.
PIECES = st.sampled_from([b"a", b"ab" * 5, b"subject.one ", b"\0" * 300, bytes(range(256)), b"x" * 70_000])
DATA = st.one_of(
    st.binary(max_size=300),
    st.lists(st.one_of(PIECES, st.binary(max_size=20)), max_size=30).map(
        lambda found: b"".join(found)[:65_536]
    ),
)


@given(DATA, st.integers(1, 3))
def test_data_is_compressed_as_by_the_plain_function(data: bytes, effort: int) -> None:
    made = _native.compress_s2(data, effort)
    assert made == s2.compress_s2(data, effort)
    assert _native.decompress_s2(made, len(data)) == data
    assert s2.decompress_s2(made, len(data)) == data


@given(DATA, st.integers(1, 3), st.integers(0, 1 << 30), st.integers(0, 255), st.integers(-1, 70_000))
def test_damaged_blocks(data: bytes, effort: int, place: int, byte: int, most: int) -> None:
    block = bytearray(s2.compress_s2(data, effort))
    block[place % len(block)] = byte
    for given_bytes in (bytes(block), bytes(block[: place % len(block)])):
        found = _native.decompress_s2(given_bytes, most)
        assert found == s2.decompress_s2(given_bytes, most)
        assert found is None or len(found) <= most


@given(st.integers(0, 400), st.lists(st.binary(min_size=1, max_size=6), max_size=40))
def test_any_bytes(size: int, tags: list[bytes]) -> None:
    block = (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + b"".join(tags)
    assert _native.decompress_s2(block, 400) == s2.decompress_s2(block, 400)


@given(st.binary(max_size=200), st.integers(0, 70))
def test_checksums(data: bytes, times: int) -> None:
    assert _native.crc32c(data * times) == checksums.crc32c(data * times)


@pytest.mark.parametrize(("size", "effort"), [(1, 0), (1, 4), (65_537, 1)])
def test_what_is_not_compressed(size: int, effort: int) -> None:
    for function in (_native.compress_s2, s2.compress_s2):
        with pytest.raises(ValueError, match=f"{size} bytes with an effort of {effort}"):
            function(bytes(size), effort)
