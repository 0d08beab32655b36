"""Encrypted files: frames sealed with XChaCha20-Poly1305, in an order that cannot be changed or cut short.

A file begins with `MAGIC`, the salt of the key and a random number. Each frame is a flag (1 for the last
frame), the length of its sealed data as four bytes, and the sealed data. The frame's number and its flag are
authenticated with it. The key of a file is derived from the text of the key file by Argon2id, with the salt,
and from that by BLAKE2b, with the file's random number.

Promises: a wrong key, a changed byte, frames in another order and a missing end raise EncryptionError.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MAGIC = b"PYJSENC1"
FRAME = 65536  # bytes of data in a frame
SHORTEST = 16  # characters of a key
_SALT, _RANDOM = 16, 32  # bytes
_OVERHEAD = 16  # bytes of a frame's authentication tag


class EncryptionError(ValueError):
    """The key is wrong or missing, or the file is damaged."""


class BackupKey:
    """A key, as the text of a file says it."""

    def __init__(self, text: bytes) -> None:
        """Raises EncryptionError if the text is too short to be a secret."""
        self._text = text.strip()
        if len(self._text) < SHORTEST:
            raise EncryptionError(f"a key has at least {SHORTEST} characters: 'openssl rand -base64 32'")
        self._derived: dict[bytes, bytes] = {}
        self.salt = os.urandom(_SALT)  # of what is written with it; that of a file that was read before

    @classmethod
    def read(cls, path: Path) -> BackupKey:
        """Return the key in a file. Raises OSError and EncryptionError."""
        return cls(path.read_bytes())

    def of_file(self, salt: bytes, number: bytes) -> bytes:
        """Return the key of a file with this salt and random number."""
        from nacl.pwhash import argon2id

        if salt not in self._derived:
            self._derived[salt] = argon2id.kdf(
                32, self._text, salt, argon2id.OPSLIMIT_INTERACTIVE, argon2id.MEMLIMIT_INTERACTIVE
            )
        self.salt = salt  # to derive one key for all files of a backup
        return hashlib.blake2b(number, key=self._derived[salt], digest_size=32).digest()


def _sealing(number: int, last: bool) -> tuple[bytes, bytes]:
    """Return what is authenticated with a frame, and its nonce. A file's key is used for this file only."""
    return b"%d %d" % (number, last), number.to_bytes(24, "little")


class Sealer:
    """Encrypts one file."""

    def __init__(self, key: BackupKey) -> None:
        random = os.urandom(_RANDOM)
        self.header = MAGIC + key.salt + random
        self._key = key.of_file(key.salt, random)
        self._number = 0
        self._rest = bytearray()

    def feed(self, data: bytes) -> bytes:
        """Return the frames that are complete now."""
        self._rest += data
        sealed = []
        while len(self._rest) > FRAME:
            sealed.append(self._frame(bytes(self._rest[:FRAME]), last=False))
            del self._rest[:FRAME]
        return b"".join(sealed)

    def end(self) -> bytes:
        """Return the last frame."""
        return self._frame(bytes(self._rest), last=True)

    def _frame(self, data: bytes, *, last: bool) -> bytes:
        from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt as encrypt

        said, nonce = _sealing(self._number, last)
        sealed = encrypt(data, said, nonce, self._key)
        self._number += 1
        return bytes([last]) + len(sealed).to_bytes(4, "big") + sealed


def opened(file: BinaryIO, key: BackupKey | None) -> Iterator[bytes]:
    """Yield the data of a file that is open at its beginning. Raises EncryptionError."""
    from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt as decrypt
    from nacl.exceptions import CryptoError

    if file.read(len(MAGIC)) != MAGIC:
        raise EncryptionError("it is not encrypted")
    if key is None:
        raise EncryptionError("it is encrypted, and no key was given")
    own = key.of_file(_exactly(file, _SALT), _exactly(file, _RANDOM))
    number, last = 0, False
    while not last:
        flag, *length = _exactly(file, 5)
        size, last = int.from_bytes(bytes(length), "big"), bool(flag)
        if size > FRAME + _OVERHEAD:
            raise EncryptionError("a frame is too long")
        said, nonce = _sealing(number, last)
        try:
            data = decrypt(_exactly(file, size), said, nonce, own)
        except CryptoError:
            raise EncryptionError("the key is another one, or the file is damaged") from None
        yield data
        number += 1
    if file.read(1):
        raise EncryptionError("there is more after its end")


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EncryptionError("it was cut short")
    return data
