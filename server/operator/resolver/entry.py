"""TokenEntry: what is remembered of a token, and whether the token fits the key it is stored under.

A token fits a key if it is a complete account token of that key's account, has no blocking errors, and is
signed by a trusted key. Its dates are not checked here: they are the account's concern.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....keys import Refusal
from ....protocol.lazy_dataclass import dataclass
from ..token_parser import read

if TYPE_CHECKING:
    from ....keys import Trust


class UnfitError(ValueError):
    """Raised for a token that does not fit. The text says why, without the token or any secret."""


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """What is remembered of a token.

    digest: the SHA-256 of the token.
    issued, expires: in seconds since 1970; `expires` is 0 for never.
    id: the token's own id.
    """

    digest: bytes
    issued: int
    expires: int
    id: str

    @classmethod
    def of(cls, key: str, token: str, trust: Trust) -> TokenEntry:
        """Return the entry for a token of account `key`. Raises UnfitError."""
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
        """Whether it should replace the other. Of two issued in one second all servers choose the same."""
        return self.id != other.id and (self.issued, self.id) > (other.issued, other.id)
