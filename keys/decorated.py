"""Tokens and seeds between dashed lines, as tools print and store them.

A credentials file holds one of each.
"""

from __future__ import annotations

import re
from dataclasses import field

from ..protocol.lazy_dataclass import dataclass
from .errors import CredentialsError, IdentityError
from .nkey import KeyPair, KeyRole
from .token import payload_of

_BLOCK = re.compile(r"-{3,}[^\n]*-{3,}\r?\n([\w\-.=]+)\r?\n-{3,}[^\n]*-{3,}(?:\r?\n|\Z)", re.ASCII)
_SEED_ROLES = (KeyRole.OPERATOR, KeyRole.ACCOUNT, KeyRole.USER)
_RULE = "*" * 61
_NOTICE = """************************* IMPORTANT *************************
NKEY Seed printed below can be used to sign and prove identity.
NKEYs are sensitive and should be treated as secrets."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user's token and seed. `repr` does not show the seed."""

    jwt: str
    seed: str = field(repr=False)

    @property
    def key(self) -> KeyPair:
        """The user's key."""
        return KeyPair(self.seed)


def decorate_jwt(token: str, kind: str = "") -> str:
    """Return a token between lines that name its kind, by default the one in its payload.

    Raises TokenError.
    """
    if not kind:
        payload = payload_of(token)
        body = payload.get("nats")
        kind = str((body.get("type") if isinstance(body, dict) else "") or payload.get("type") or "generic")
    word = kind.upper()
    return f"-----BEGIN NATS {word} JWT-----\n{token}\n------END NATS {word} JWT------\n\n"


def decorate_seed(seed: str) -> str:
    """Return a seed between lines that name its role: operator, account or user. Raises NkeyError."""
    key = KeyPair(seed, *_SEED_ROLES)
    word = key.role.word.upper()
    block = f"-----BEGIN {word} NKEY SEED-----\n{key.seed}\n------END {word} NKEY SEED------\n"
    return f"{_NOTICE}\n\n{block}\n{_RULE}\n"


def undecorate_jwt(text: str) -> str:
    """Return the token in a text: the one of the first block, or the whole text if it has no block."""
    found = _BLOCK.search(text)
    return found[1] if found else text.strip()


def undecorate_seed(text: str, *roles: KeyRole) -> KeyPair:
    """Return the key in a text: the one of the second block, or of the first line that begins like a seed.

    Raises CredentialsError if there is none, NkeyError for a damaged seed or for one whose role is not in
    `roles`.
    """
    blocks = _BLOCK.findall(text)
    if len(blocks) > 1:
        return KeyPair(blocks[1], *(roles or _SEED_ROLES))
    for line in text.splitlines():
        if line.strip()[:2] in {"SO", "SA", "SU"}:
            return KeyPair(line.strip(), *(roles or _SEED_ROLES))
    raise CredentialsError("no nkey seed found")


def format_credentials(token: str, seed: str) -> str:
    """Return the text of a credentials file: a user's token and its seed.

    Raises IdentityError if they do not match.
    """
    from .claims import UserClaims
    from .token import decode

    claims = decode(token, UserClaims, v1=True)
    key = KeyPair(seed, KeyRole.USER)
    if key.public_key != claims.sub:
        raise CredentialsError("the seed is not that of the token's user")
    return decorate_jwt(token, UserClaims.KIND) + decorate_seed(key.seed)


def parse_credentials(text: str) -> Credentials:
    """Parse the text of a credentials file, without checking the token's signature and dates.

    Raises CredentialsError if it has no token or no seed, or if the seed is damaged or belongs to another
    user.
    """
    blocks = _BLOCK.findall(text)
    if len(blocks) < 2:
        raise CredentialsError("not a credentials file: it needs a JWT and a seed, each between dashed lines")
    try:
        key = KeyPair(blocks[1], KeyRole.USER)
        subject = payload_of(blocks[0]).get("sub")
    except IdentityError as error:
        raise CredentialsError(f"damaged credentials: {error}") from None
    if subject != key.public_key:
        raise CredentialsError("damaged credentials: the seed is not that of the JWT's user")
    return Credentials(blocks[0], key.seed)
