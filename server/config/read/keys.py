"""Whether a text is a public nkey: base 32 of a prefix byte, 32 bytes and their CRC-16."""

from __future__ import annotations

import base64
import binascii

_PREFIXES = {"N": 13 << 3, "C": 2 << 3, "O": 14 << 3, "A": 0, "U": 20 << 3, "X": 23 << 3}
_SEED = 18 << 3


def _decode(text: str) -> bytes | None:
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        return None
    if len(raw) < 4 or binascii.crc_hqx(raw[:-2], 0) != int.from_bytes(raw[-2:], "little"):
        return None
    return raw[:-2]


def is_public_key(text: str, letter: str) -> bool:
    """Whether `text` is a public key of a kind: User, Account, Operator, X curve, N server or Cluster."""
    raw = _decode(text)
    return raw is not None and len(raw) == 33 and raw[0] == _PREFIXES[letter]


def is_user_seed(text: str) -> bool:
    """Whether `text` is the seed (`SU...`) of a user."""
    raw = _decode(text)
    if raw is None or len(raw) != 34:
        return False
    return raw[0] & 0xF8 == _SEED and ((raw[0] & 7) << 5 | raw[1] >> 3) == _PREFIXES["U"]
