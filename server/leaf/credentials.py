"""A remote's credentials: user JWT and seed from a credentials file, and the signature of a hub's nonce."""

from __future__ import annotations

import base64

from ...keys import IdentityError, KeyPair, KeyRole
from ...keys import read_credentials as read_file


class LeafCredentialsError(Exception):
    """The file cannot be read, or is not a credentials file, or the seed is none."""


def read_credentials(path: str) -> tuple[str, str]:
    """The user JWT and the seed in a credentials file. Raises LeafCredentialsError."""
    try:
        found = read_file(path)
    except IdentityError as error:
        raise LeafCredentialsError(f"credentials file: {error}") from error
    return found.jwt, found.seed


def sign(seed: str, nonce: str) -> tuple[str, str]:
    """(public key, signature of the nonce as unpadded URL base64) by the key of `seed`.

    Raises LeafCredentialsError.
    """
    try:
        pair = KeyPair(seed, KeyRole.USER)
    except IdentityError as error:
        raise LeafCredentialsError(f"malformed seed: {error}") from error
    try:
        return pair.public_key, base64.urlsafe_b64encode(pair.sign(nonce.encode())).rstrip(b"=").decode()
    finally:
        pair.wipe()
