"""TokenEntry: what is remembered of a token, and whether the token fits the place it is found in.

A token fits a key when it is an account's token, that account's, whole, without blocking errors, and signed
by a trusted key. Its dates are not checked here: they are the account's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....keys import Refusal
from ..token_parser import read

if TYPE_CHECKING:
    from ....keys import Trust


class UnfitError(ValueError):
    """A token does not fit; the text says why and holds neither token nor secret."""


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """digest: SHA-256 of the token. issued and expires: seconds, expires 0 for never. id: the token's own."""

    digest: bytes
    issued: int
    expires: int
    id: str

    @classmethod
    def of(cls, key: str, token: str, trust: Trust) -> TokenEntry:
        """What to remember of the token of account `key`. Raises UnfitError."""
        parsed = read(token)
        claims = parsed.claims
        if isinstance(claims, Refusal):
            raise UnfitError(claims.detail)
        if claims.sub != key:
            raise UnfitError(f"it is the token of account {claims.sub}, not of {key}")
        if claims.iss not in trust.keys:
            raise UnfitError(f"account {key} is signed by {claims.iss}, which is not trusted")
        if parsed.errors:
            raise UnfitError(f"validation errors: [{' '.join(parsed.errors)}]")
        return cls(parsed.digest, claims.iat, max(claims.exp, 0), claims.jti)

    def newer_than(self, other: TokenEntry) -> bool:
        """Whether it should take the other's place. Of two from the same second all servers pick the same."""
        return self.id != other.id and (self.issued, self.id) > (other.issued, other.id)
