"""Curve keys (`X...`): encrypting a message for one reader, as the authorization callout does.

The encrypted form is `xkv1`, a 24-byte nonce and a NaCl box (X25519, XSalsa20-Poly1305). The `nkeys` library
has no curve keys; this uses the library below it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from .errors import KeyFault, NkeyError
from .nkey import KeyPair, KeyRole, raw_public

VERSION = b"xkv1"
NONCE_BYTES = 24


def seal(data: bytes, own: KeyPair, reader: str, random: Callable[[int], bytes] = os.urandom) -> bytes:
    """Encrypt `data` so that only the owner of the curve key `reader` can open it. Raises NkeyError."""
    from nacl.public import Box

    box: Box = _box(own, reader)
    return VERSION + bytes(box.encrypt(data, random(NONCE_BYTES)))


def open_sealed(sealed: bytes, own: KeyPair, writer: str) -> bytes:
    """Decrypt what `writer` encrypted for `own`. Raises NkeyError if it was changed or is for another key."""
    from nacl.exceptions import CryptoError

    if not sealed.startswith(VERSION) or len(sealed) <= len(VERSION) + NONCE_BYTES:
        raise NkeyError(KeyFault.NOT_A_KEY, "this is no sealed message")
    try:
        return bytes(_box(own, writer).decrypt(sealed[len(VERSION) :]))
    except CryptoError:
        raise NkeyError(KeyFault.CHECKSUM, "the sealed message was changed, or is for another key") from None


def _box(own: KeyPair, other: str):  # type: ignore[no-untyped-def] # its type would import the library
    from nacl.public import Box, PrivateKey, PublicKey

    if own.role is not KeyRole.CURVE:
        raise NkeyError(KeyFault.WRONG_ROLE, f"sealing needs a curve key, not that of {own.role.phrase}")
    return Box(PrivateKey(own.secret), PublicKey(raw_public(other, KeyRole.CURVE)))
