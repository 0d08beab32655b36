"""What can go wrong with identity, as exceptions. Texts never hold a seed or a token: they may be logged.

`IdentityError` is the common parent. The trust chain does not raise: it returns a `chain.Refusal`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

# Seeds (whole or mistyped), private keys, tokens: they come in errors where a name or path was expected.
_SECRET = re.compile(r"\b(?:S[ACNOUX][A-Z2-7]{40,}|P[A-Z2-7]{90,}|eyJ[\w-]+\.[\w-]+\.[\w-]*)")


def is_secret(text: str) -> bool:
    """Whether a seed, private key or token stands in `text`, or what is very much like one."""
    return _SECRET.search(text.upper()) is not None or _SECRET.search(text) is not None


class IdentityError(ValueError):
    """A key, token, credentials file or folder is not what it must be."""

    def __init__(self, text: str = "") -> None:
        super().__init__(_SECRET.sub("<secret>", text))


class KeyFault(StrEnum):
    """Why a text is not the key that was wanted."""

    NOT_A_KEY = "not-a-key"
    CHECKSUM = "checksum"
    WRONG_ROLE = "wrong-role"
    SEED_GIVEN = "seed-given"
    NO_SEED = "no-seed"
    CANNOT_SIGN = "cannot-sign"


class NkeyError(IdentityError):
    """A text is not the nkey that is wanted here; `fault` says why."""

    def __init__(self, fault: KeyFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


class TokenFault(StrEnum):
    """Why a text is not a token that may be used."""

    TOO_LARGE = "too-large"
    MALFORMED = "malformed"
    ALGORITHM = "algorithm"
    VERSION = "version"
    KIND = "kind"
    ISSUER = "issuer"
    SUBJECT = "subject"
    CONTENT = "content"
    SIGNATURE = "signature"


class TokenError(IdentityError):
    """A JWT is not acceptable, or cannot be made; `fault` says why."""

    def __init__(self, fault: TokenFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


class CredentialsError(IdentityError):
    """A decorated file holds no JWT or no seed, or the two do not belong together."""


class FolderError(IdentityError):
    """A folder of keys or tokens cannot be read or written; the text names the file."""


class WorkspaceError(IdentityError):
    """What was asked for cannot be done in this workspace; the text says what would help.

    `report`: what was found out on the way, where that says more (a `workspace.report.Report`).
    """

    def __init__(self, text: str, report: Any = None) -> None:
        super().__init__(text)
        self.report = report


class NotFoundError(FolderError):
    """The operator, account, user or key is not stored here."""


class DamagedError(FolderError):
    """A stored file is half-written, or is not what its place says."""


class ForeignError(FolderError):
    """The folder belongs to another operator, another tool, or an older layout."""
