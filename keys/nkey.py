"""nkeys: Ed25519 keys whose text contains their role and a checksum.

The text of a key is the base 32 form of a prefix byte, 32 bytes and a CRC-16. Every text is checked here
(alphabet, spare bits, length, checksum, prefix) before the `nkeys` library sees it. Error messages never
repeat the text, since it may be a seed. Public keys are plain `str` everywhere; secrets are `KeyPair`, whose
repr shows only the public key.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

from .errors import KeyFault, NkeyError

SEED_BYTES = 32
SIGNATURE_BYTES = 64
# Whatever has the letters of a seed or a private key, at any position: other letters may stand around it. The
# first letters are those that the prefixes allow.
_CANDIDATE = re.compile("(?=(S[ACNOUX]A[A-P][A-Z2-7]{54}|P[A-D][A-Z2-7]{106}))", re.IGNORECASE | re.ASCII)
_MANY = 10_000  # candidates; random text has that many in some MB
_DIGITS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv")
_SEED_PREFIX = 18 << 3
_PRIVATE_PREFIX = 15 << 3


class KeyRole(Enum):
    """The role of a key: (word, prefix byte). A public key begins with `letter`."""

    OPERATOR = ("operator", 14 << 3)
    ACCOUNT = ("account", 0)
    USER = ("user", 20 << 3)
    SERVER = ("server", 13 << 3)
    CLUSTER = ("cluster", 2 << 3)
    CURVE = ("curve", 23 << 3)

    def __init__(self, word: str, prefix: int) -> None:
        self.word = word
        self.prefix = prefix
        self.letter = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[prefix >> 3]

    @property
    def phrase(self) -> str:
        """The word with its article."""
        return f"{'an' if self.word[0] in 'ao' else 'a'} {self.word}"

    def __str__(self) -> str:
        return self.word


_BY_PREFIX = {role.prefix: role for role in KeyRole}


class Signer(Protocol):
    """Something that can sign: a `KeyPair`, or a stand-in for a key that is stored elsewhere."""

    @property
    def public_key(self) -> str:
        """The signer's public key."""

    def sign(self, data: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature of `data`."""


def encode(prefix: bytes, raw: bytes) -> str:
    """Return prefix and bytes with their checksum as base 32 without padding."""
    body = prefix + raw
    return base64.b32encode(body + binascii.crc_hqx(body, 0).to_bytes(2, "little")).decode().rstrip("=")


def _body(text: str) -> bytes:
    """Return the prefix and the bytes of a key's text. Raises NkeyError."""
    try:
        whole = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        raise NkeyError(KeyFault.NOT_A_KEY, "not an nkey: it has letters that no nkey has") from None
    if len(whole) < 4 or base64.b32encode(whole).decode().rstrip("=") != text:
        raise NkeyError(KeyFault.NOT_A_KEY, "not an nkey: its length is not that of a key")
    if binascii.crc_hqx(whole[:-2], 0) != int.from_bytes(whole[-2:], "little"):
        raise NkeyError(KeyFault.CHECKSUM, "damaged nkey: its checksum does not match")
    return whole[:-2]


def holds_secret(text: str) -> bool:
    """Return whether `text` contains a seed or private key, in capitals or, as in tags, in lower case.

    A text with more than 10,000 candidates counts as if it did, because checking all of them would take
    seconds.
    """
    for count, candidate in enumerate(_CANDIDATE.finditer(text)):
        found = candidate[1]
        spare = 5 * len(found) % 8  # a long text has many candidates, and int() is faster than base64
        whole = (int(found.upper().translate(_DIGITS), 32) >> spare).to_bytes(5 * len(found) // 8, "big")
        if count >= _MANY or binascii.crc_hqx(whole[:-2], 0) == int.from_bytes(whole[-2:], "little"):
            return True
    return False


def _words(roles: tuple[KeyRole, ...]) -> str:
    return " or ".join(role.phrase for role in roles)


def public_role(text: str, *roles: KeyRole) -> KeyRole:
    """Check a public key and return its role, which must be one of `roles` if there are any.

    Raises NkeyError with the fault NOT_A_KEY, CHECKSUM, SEED_GIVEN (a seed or private key instead of a public
    key) or WRONG_ROLE.
    """
    body = _body(text)
    if body[0] & 0xF8 == _SEED_PREFIX or body[0] == _PRIVATE_PREFIX:
        raise NkeyError(
            KeyFault.SEED_GIVEN, "this is a secret (seed or private key); a public key is expected"
        )
    role = _BY_PREFIX.get(body[0])
    if role is None or len(body) != 1 + SEED_BYTES:
        raise NkeyError(KeyFault.NOT_A_KEY, "not a public nkey")
    if roles and role not in roles:
        raise NkeyError(
            KeyFault.WRONG_ROLE, f"{text} is the public key of {role.phrase}, not of {_words(roles)}"
        )
    return role


def is_public(text: str, *roles: KeyRole) -> bool:
    """Return whether `text` is a valid public key, and of one of `roles` if there are any."""
    try:
        public_role(text, *roles)
    except NkeyError:
        return False
    return True


def raw_public(text: str, *roles: KeyRole) -> bytes:
    """Return the 32 bytes of a public key. Raises NkeyError as `public_role` does."""
    public_role(text, *roles)
    return _body(text)[1:]


def verify(public_key: str, data: bytes, signature: bytes) -> bool:
    """Return whether `signature` is the signature of `data` by the owner of `public_key`.

    Any error counts as False; nothing is raised.
    """
    from nacl.exceptions import CryptoError
    from nacl.signing import VerifyKey

    try:
        if public_role(public_key) is KeyRole.CURVE or len(signature) != SIGNATURE_BYTES:
            return False
        VerifyKey(raw_public(public_key)).verify(data, signature)
    except (NkeyError, CryptoError, ValueError):
        return False
    return True


def read_seed(text: str, *roles: KeyRole) -> tuple[KeyRole, bytes]:
    """Check a seed; return its role and its 32 secret bytes. Raises NkeyError (NO_SEED for a public key)."""
    body = _body(text)
    if body[0] & 0xF8 != _SEED_PREFIX:
        known = body[0] in _BY_PREFIX or body[0] == _PRIVATE_PREFIX
        fault = KeyFault.NO_SEED if known else KeyFault.NOT_A_KEY
        raise NkeyError(fault, "this is no seed" + (": it is a public or private key" if known else ""))
    role = _BY_PREFIX.get((body[0] & 7) << 5 | body[1] >> 3)
    if role is None or body[1] & 7 or len(body) != 2 + SEED_BYTES:
        raise NkeyError(KeyFault.NOT_A_KEY, "not a seed of a known role")
    if roles and role not in roles:
        raise NkeyError(KeyFault.WRONG_ROLE, f"this is the seed of {role.phrase}, not of {_words(roles)}")
    return role, body[2:]


def write_seed(role: KeyRole, raw: bytes) -> str:
    """Return the text of a seed from its 32 secret bytes."""
    if len(raw) != SEED_BYTES:
        raise NkeyError(KeyFault.NOT_A_KEY, f"a seed has {SEED_BYTES} bytes, not {len(raw)}")
    return encode(bytes([_SEED_PREFIX | role.prefix >> 5, (role.prefix & 31) << 3]), raw)


class KeyPair:
    """A secret key with its role. Curve keys do not sign: see `keys.curve`."""

    __slots__ = ("_pair", "_raw", "public_key", "role")

    def __init__(self, seed: str, *roles: KeyRole) -> None:
        """Read a seed, ignoring blanks around it. It must have one of `roles`, if there are any.

        Raises NkeyError.
        """
        self.role, self._raw = read_seed(seed.strip(), *roles)
        self._pair: Any = None
        if self.role is KeyRole.CURVE:
            from nacl.public import PrivateKey

            self.public_key = encode(bytes([self.role.prefix]), bytes(PrivateKey(self._raw).public_key))
        else:
            import nkeys

            self._pair = nkeys.from_seed(seed.strip().encode())
            self.public_key = self._pair.public_key.decode()

    @classmethod
    def create(cls, role: KeyRole, random: Callable[[int], bytes] = os.urandom) -> KeyPair:
        """Make a new key; `random(n)` returns n random bytes."""
        return cls(write_seed(role, random(SEED_BYTES)))

    @property
    def seed(self) -> str:
        """The secret, as text."""
        return write_seed(self.role, self.secret)

    @property
    def secret(self) -> bytes:
        """The 32 secret bytes. Raises NkeyError after `wipe`."""
        if not self._raw:
            raise NkeyError(KeyFault.NO_SEED, "this key was wiped")
        return self._raw

    @property
    def private_key(self) -> str:
        """The 64-byte Ed25519 private key as text (`P...`). Raises NkeyError for a curve key."""
        self._must_sign()
        return str(self._pair.private_key.decode())

    def sign(self, data: bytes) -> bytes:
        """Return the 64-byte signature of `data`. Raises NkeyError for a curve key or after `wipe`."""
        self._must_sign()
        return bytes(self._pair.sign(data))

    def wipe(self) -> None:
        """Forget the secret; the public key stays."""
        self._raw = b""
        if self._pair is not None:
            self._pair.wipe()
            self._pair = None

    def _must_sign(self) -> None:
        if self._pair is None:
            raise NkeyError(KeyFault.CANNOT_SIGN, f"this {self.role} key cannot sign")

    def __repr__(self) -> str:
        return f"KeyPair({self.public_key})"
