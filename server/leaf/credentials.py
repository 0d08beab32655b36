"""A remote's credentials: user JWT and seed from a credentials file, and the signature of a nonce."""

from __future__ import annotations

import base64

from ...keys import IdentityError, KeyPair, KeyRole
from ...keys import read_credentials as read_file


class LeafCredentialsError(Exception):
    """The file cannot be read, it is not a credentials file, or its seed is invalid."""


def read_credentials(path: str) -> tuple[str, str]:
    """Return the user JWT and the seed in a credentials file. Raises LeafCredentialsError."""
    try:
        found = read_file(path)
    except IdentityError as error:
        raise LeafCredentialsError(f"credentials file: {error}") from error
    return found.jwt, found.seed


def sign(seed: str, nonce: str) -> tuple[str, str]:
    """Sign a hub's nonce with the key of `seed`.

    Return (public key, signature in URL base64 without padding). Raises LeafCredentialsError.
    """
    try:
        pair = KeyPair(seed, KeyRole.USER)
    except IdentityError as error:
        raise LeafCredentialsError(f"malformed seed: {error}") from error
    try:
        return pair.public_key, base64.urlsafe_b64encode(pair.sign(nonce.encode())).rstrip(b"=").decode()
    finally:
        pair.wipe()
