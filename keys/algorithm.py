"""`ed25519-nkey` as an algorithm of PyJWT: an Ed25519 signature by an nkey.

It is the only algorithm that tokens here may have. The algorithms that PyJWT itself brings are not
registered; what it would load for them, `cryptography`, takes 10 MiB and a tenth of a second.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .apart import apart
from .nkey import Signer, verify

with apart("jwt", without="cryptography"):
    from jwt import InvalidTokenError, PyJWS
    from jwt.algorithms import Algorithm

__all__ = ["JWS", "NAME", "Ed25519Nkey", "InvalidTokenError"]

NAME = "ed25519-nkey"


class Ed25519Nkey(Algorithm):
    """The algorithm: signs with a `Signer`, verifies with a public nkey."""

    def prepare_key(self, key: Any) -> Any:
        """Return the key unchanged: a Signer, or the text of a public key."""
        return key

    def sign(self, msg: bytes, key: Signer) -> bytes:
        """Return the signature of `msg`. The key's own errors pass through."""
        return key.sign(msg)

    def verify(self, msg: bytes, key: str, sig: bytes) -> bool:
        """Return whether `sig` is the signature of `msg` by the public key."""
        return verify(key, msg, sig)

    @staticmethod
    def to_jwk(key_obj: Any, as_dict: bool = False) -> NoReturn:
        """Refuse: nkeys have their own text."""
        raise NotImplementedError("an nkey has no JWK form")

    @staticmethod
    def from_jwk(jwk: str | dict[str, Any]) -> NoReturn:
        """Refuse: nkeys have their own text."""
        raise NotImplementedError("an nkey has no JWK form")


JWS = PyJWS(algorithms=[])
JWS.register_algorithm(NAME, Ed25519Nkey())
