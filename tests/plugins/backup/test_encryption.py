"""What a stranger does to an encrypted file is noticed."""

from __future__ import annotations

import io
import os

import pytest
from pyjs.plugins.backup.encryption import FRAME, BackupKey, EncryptionError, Sealer, opened

KEY = BackupKey(b"a key of some length\n")
DATA = os.urandom(2 * FRAME + 100)


def sealed(data: bytes) -> bytes:
    sealer = Sealer(KEY)
    return sealer.header + sealer.feed(data) + sealer.end()


def read(file: bytes, key: BackupKey | None = KEY) -> bytes:
    return b"".join(opened(io.BytesIO(file), key))


@pytest.mark.parametrize("size", [0, 1, FRAME - 1, FRAME, FRAME + 1, len(DATA)])
def test_it_comes_back(size: int) -> None:
    assert read(sealed(DATA[:size])) == DATA[:size]


def test_two_files_of_the_same_data_differ() -> None:
    assert sealed(b"data")[60:] != sealed(b"data")[60:]


@pytest.mark.parametrize("key", [None, BackupKey(b"another key of some length")])
def test_another_key_or_none(key: BackupKey | None) -> None:
    with pytest.raises(EncryptionError):
        read(sealed(DATA), key)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(EncryptionError, match="at least 16"):
        BackupKey(b"secret\n")


def test_changes_are_noticed() -> None:
    whole = sealed(DATA)
    frame = 5 + FRAME + 16
    head = len(whole) - 2 * frame - (5 + 100 + 16)
    first, second, last = whole[head : head + frame], whole[head + frame : head + 2 * frame], whole[-121:]
    wrong = [
        whole[:-1],
        whole[:-121],  # without the last frame
        whole + b"x",
        whole[:head] + second + first + last,
        whole[:head] + first + last,
        whole[:head] + b"\1" + whole[head + 1 :],  # an end that is none
        *(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in range(0, len(whole), 9973)),
    ]
    for file in wrong:
        with pytest.raises(EncryptionError):
            read(file)
