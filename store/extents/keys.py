"""The keys of a store: every file has a random key of its own, which the server's key seals in its header.

The key that seals it is derived from the server's key and a random salt in the same header, by HKDF with
SHA-256. So another server key needs only other headers (`StoreKeys.moved`). Each extent has a random nonce of
96 bits under the key of its file, so none is used twice, whatever a crash left of a file. A file has far
fewer than 2**32 extents, which is where such nonces might begin to meet.

Without a server key, the tag of an extent is a CRC-32, and nothing is secret.
"""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache
from os import urandom
from typing import TYPE_CHECKING, Protocol
from zlib import crc32

from .layout import FileHeader

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

CIPHERS = {"": 0, "chacha": 1, "aes": 2}
_KEY = 32
_NO_NONCE = bytes(12)  # for the one use of a derived key


class ExtentSealer(Protocol):
    """Seals the extents of one file. tag: the bytes of a tag."""

    tag: int

    def nonce(self) -> bytes:
        """Return a nonce that was never used."""
        ...

    def seal(self, nonce: bytes, data: bytes, proven: bytes) -> bytes:
        """Return `data` as it is stored, and the tag."""
        ...

    def unseal(self, nonce: bytes, data: bytes, proven: bytes) -> bytes | None:
        """Return what was sealed. None if anything of it is not as it was."""
        ...


class ChecksumSealer:
    """Seals nothing: the tag is a CRC-32."""

    tag = 4

    def nonce(self) -> bytes:
        """Return zeros: there is no cipher."""
        return _NO_NONCE

    def seal(self, nonce: bytes, data: bytes, proven: bytes) -> bytes:
        """Return `data` and its checksum."""
        return data + crc32(data, crc32(proven, crc32(nonce))).to_bytes(4, "little")

    def unseal(self, nonce: bytes, data: bytes, proven: bytes) -> bytes | None:
        """Return the data if its checksum is right."""
        plain = data[:-4]
        checksum = crc32(plain, crc32(proven, crc32(nonce)))
        return plain if checksum.to_bytes(4, "little") == data[-4:] else None


class CipherSealer:
    """Seals with an AEAD cipher."""

    tag = 16

    def __init__(self, cipher: int, key: bytes) -> None:
        self._cipher = _aead(cipher, key)

    def nonce(self) -> bytes:
        """Return a random nonce."""
        return urandom(12)

    def seal(self, nonce: bytes, data: bytes, proven: bytes) -> bytes:
        """Return the ciphertext and the tag."""
        return self._cipher.encrypt(nonce, data, proven)

    def unseal(self, nonce: bytes, data: bytes, proven: bytes) -> bytes | None:
        """Return the plaintext if the tag is right."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(nonce, data, proven)
        except InvalidTag:
            return None


def _aead(cipher: int, key: bytes) -> ChaCha20Poly1305 | AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

    return AESGCM(key) if cipher == CIPHERS["aes"] else ChaCha20Poly1305(key)


def _derive(key: str, salt: bytes) -> bytes:
    """Derive a key by HKDF with SHA-256 (RFC 5869)."""
    extracted = hmac.digest(salt, key.encode("utf-8", "surrogateescape"), hashlib.sha256)
    return hmac.digest(extracted, b"pyjs key of a file\x01", hashlib.sha256)


class StoreKeys:
    """The server's key, and the former one, "" if there is none. cipher: of new files, "chacha" or "aes"."""

    def __init__(self, key: str, cipher: str = "chacha", previous: str = "") -> None:
        self._key = key
        self._previous = previous
        self._cipher = CIPHERS[cipher]
        self._opened = lru_cache(1024)(self._open)

    def create(self, *, compressed: bool = False) -> tuple[FileHeader, ExtentSealer]:
        """Return the header of a new file, and what seals its extents."""
        key = urandom(_KEY)
        return self._header(self._cipher, int(compressed), key), CipherSealer(self._cipher, key)

    def _header(self, cipher: int, compressed: int, key: bytes) -> FileHeader:
        salt = urandom(16)
        sealed = _aead(cipher, _derive(self._key, salt)).encrypt(_NO_NONCE, key, bytes([cipher, compressed]))
        return FileHeader(cipher, compressed, salt, sealed)

    def sealer(self, header: FileHeader) -> ExtentSealer | None:
        """Return what seals the file with this header. None if neither key opens it."""
        key, _ = self._opened(header)
        return CipherSealer(header.cipher, key) if key else None

    def _open(self, header: FileHeader) -> tuple[bytes, bool]:
        """Return the key of a file, b"" if no key opens it, and whether only the former key does."""
        from cryptography.exceptions import InvalidTag

        if header.cipher not in {CIPHERS["chacha"], CIPHERS["aes"]}:
            return b"", False
        for known in (self._key, self._previous):
            if not known:
                continue
            try:
                cipher = _aead(header.cipher, _derive(known, header.salt))
                proven = bytes([header.cipher, header.compressed])
                return cipher.decrypt(_NO_NONCE, header.key, proven), known != self._key
            except InvalidTag:
                continue
        return b"", False

    def opens(self, header: FileHeader) -> bool:
        """Return whether one of the two keys opens a file."""
        return bool(self._opened(header)[0])

    def moved(self, header: FileHeader) -> FileHeader | None:
        """Return the header by which the server's key opens a file of the former key.

        None if it does already.
        """
        key, former = self._opened(header)
        return self._header(header.cipher, header.compressed, key) if former else None
