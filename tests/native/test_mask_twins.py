"""The compiled functions for WebSocket frames do what the plain ones do: on frames, and on any bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.native import masks

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")

# The size in the header: in 7, 16 or 64 bits, also where fewer would do.
FORMS = {7: lambda n: bytes([n & 127]), 16: lambda n: b"\x7e%b" % (n & 0xFFFF).to_bytes(2, "big")}
BODY = bytes(range(251)) * 262


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Mostly a whole frame as it should be."""
    size = draw(st.sampled_from([*range(10), 125, 126, 127, 300, 65_535, 65_536]))
    bits = 7 if size < 126 else 16 if size < 1 << 16 else 64
    bits = draw(st.sampled_from([bits, bits, bits, bits, 7, 16, 64]))
    header = bytearray(FORMS.get(bits, lambda n: b"\x7f%b" % n.to_bytes(8, "big"))(size))
    key = b""
    if draw(st.integers(0, 4)):
        header[0] |= 0x80
        key = draw(st.binary(min_size=4, max_size=4))
    first = draw(st.sampled_from([0x82, 0x82, 0x82, 0x81, 0x81, 0x80, 0x02, 0xC2, 0x89, 0x83]))
    return bytes([first]) + header + key + BODY[:size]


@given(st.lists(frames(), max_size=4), st.integers(0, 20), st.integers(-1, 70_000), st.booleans())
def test_frames_are_taken_as_by_the_plain_function(
    sent: list[bytes], cut: int, most: int, masked: bool
) -> None:
    whole = b"".join(sent)
    data = bytearray(whole[: max(0, len(whole) - cut)])
    assert _native.take_frames(data, most, masked) == masks.take_frames(data, most, masked)


@pytest.mark.parametrize("function", [_native.take_frames, masks.take_frames])
@pytest.mark.parametrize(
    ("data", "most", "stop", "payload"),
    [
        (b"\x82\x01a\x81\x01b", 9, 6, b"ab"),
        (b"\x82\x01a\x82\x01b\x82\x01c", 4, 6, b"ab"),  # a frame may end behind `most`
        (b"\x82\x01a\x82\x01b\x82\x01c", 3, 3, b"a"),
        (b"\x82\x01a", 0, 0, b""),
        (b"\x82\x01", 9, 0, b""),
        (b"\x82", 9, 0, b""),
        (b"\x82\x7e\x00\x7e" + BODY[:126], 9, 130, BODY[:126]),
        (b"\x82\x7e\x00\x7d" + BODY[:125], 9, 0, b""),  # in 16 bits, where 7 would do
        (b"\x82\x7e\x00", 9, 0, b""),
        (b"\x82\x7f" + (1 << 16).to_bytes(8, "big") + BODY[: 1 << 16], 9, 10 + (1 << 16), BODY[: 1 << 16]),
        (b"\x82\x7f" + (65_535).to_bytes(8, "big") + BODY[:65_535], 9, 0, b""),
        (b"\x82\x7f" + b"\xff" * 8 + BODY, 9, 0, b""),
        (b"\x82\x7f" + bytes(7), 9, 0, b""),
        (b"\x82\x81\x00\x00\x00\x00a", 9, 0, b""),  # masked
        (b"\x02\x01a", 9, 0, b""),  # a fragment
        (b"\xc2\x01a", 9, 0, b""),  # compressed
        (b"\x89\x00", 9, 0, b""),  # a ping
    ],
)
def test_whole_binary_and_text_messages_are_taken(
    function: Any, data: bytes, most: int, stop: int, payload: bytes
) -> None:
    assert function(bytearray(data), most, False) == (stop, payload)


@pytest.mark.parametrize("function", [_native.take_frames, masks.take_frames])
@pytest.mark.parametrize("cut", [0, 1, 3, 4, 5, 6, 7])
def test_masked_messages_are_taken(function: Any, cut: int) -> None:
    whole = b"\x82\x81KEYS" + bytes([ord("a") ^ ord("K")])
    data = bytearray(whole + whole[: len(whole) - cut])
    taken = 1 if cut else 2
    assert function(data, 99, True) == (7 * taken, b"a" * taken)


@given(st.binary(), st.integers(0, 20), st.booleans())
def test_any_bytes(data: bytes, most: int, masked: bool) -> None:
    given = bytearray(data)
    assert _native.take_frames(given, most, masked) == masks.take_frames(given, most, masked)


@given(st.binary(max_size=40), st.binary(min_size=4, max_size=4))
def test_a_mask_put_on_twice_changes_nothing(data: bytes, key: bytes) -> None:
    covered = _native.mask_bytes(data, key)
    assert covered == masks.mask_bytes(data, key) == bytes(b ^ key[n & 3] for n, b in enumerate(data))
    assert _native.mask_bytes(covered, key) == masks.mask_bytes(covered, key) == data


@pytest.mark.parametrize("size", [3, 5])
def test_a_mask_of_another_size(size: int) -> None:
    for function in (_native.mask_bytes, masks.mask_bytes):
        with pytest.raises(ValueError, match=f"a mask has 4 bytes, not {size}"):
            function(b"data", bytes(size))
