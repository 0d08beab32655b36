"""Sealed messages: for one reader, from one writer, unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.keys import KeyPair, KeyRole, NkeyError, open_sealed, seal

WRITER, READER, OTHER = (KeyPair.create(KeyRole.CURVE) for _ in range(3))


@given(st.binary(max_size=100))
def test_what_is_sealed_is_opened_by_its_reader_only(data: bytes) -> None:
    sealed = seal(data, WRITER, READER.public_key)
    assert sealed[:4] == b"xkv1"
    assert open_sealed(sealed, READER, WRITER.public_key) == data
    with pytest.raises(NkeyError):
        open_sealed(sealed, OTHER, WRITER.public_key)
    with pytest.raises(NkeyError):
        open_sealed(sealed, READER, OTHER.public_key)


@pytest.mark.parametrize("at", range(len(seal(b"data", WRITER, READER.public_key))))
def test_any_changed_byte_is_noticed(at: int) -> None:
    sealed = bytearray(seal(b"data", WRITER, READER.public_key))
    sealed[at] ^= 1
    with pytest.raises(NkeyError):
        open_sealed(bytes(sealed), READER, WRITER.public_key)


def test_only_curve_keys_seal() -> None:
    user = KeyPair.create(KeyRole.USER)
    with pytest.raises(NkeyError, match="curve"):
        seal(b"x", user, READER.public_key)
    with pytest.raises(NkeyError, match="not of a curve"):
        seal(b"x", WRITER, user.public_key)
