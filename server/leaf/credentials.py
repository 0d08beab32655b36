"""A remote's credentials: user JWT and seed from a credentials file, and the signature of a hub's nonce."""

from __future__ import annotations

import base64
import re
from pathlib import Path

# Two blocks, each between dashed lines that name it: the JWT first, then the seed.
_BLOCK = re.compile(r"-{3,}[^\n]*-{3,}\r?\n([\w\-.=]+)\r?\n-{3,}[^\n]*-{3,}")


class CredentialsError(Exception):
    """The file cannot be read, or is not a credentials file, or the seed is none."""


def read_credentials(path: str) -> tuple[str, str]:
    """The user JWT and the seed in a credentials file. Raises CredentialsError."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CredentialsError(f"credentials file {path}: {error}") from error
    blocks = _BLOCK.findall(text)
    if len(blocks) < 2:
        raise CredentialsError(f"credentials file {path} is malformed: it needs a JWT and a seed")
    return blocks[0], blocks[1]


def sign(seed: str, nonce: str) -> tuple[str, str]:
    """(public key, signature of the nonce as unpadded URL base64) by the key of `seed`.

    Raises CredentialsError.
    """
    import nkeys

    pair = None
    try:
        pair = nkeys.from_seed(seed.encode())
        raw = pair.sign(nonce.encode())
        return pair.public_key.decode(), base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    except Exception as error:
        raise CredentialsError("malformed seed") from error
    finally:
        if pair is not None:
            pair.wipe()
