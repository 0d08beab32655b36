"""The exceptions for keys, tokens, credentials and folders.

Their texts never contain a seed or a token, since they may be logged. `IdentityError` is the common base
class. The trust chain does not raise: it returns a `chain.Refusal`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

# Seeds (complete or mistyped), private keys and tokens: they get into errors if given as a name or path.
_SECRET = re.compile(r"\b(?:S[ACNOUX][A-Z2-7]{40,}|P[A-Z2-7]{90,}|eyJ[\w-]+\.[\w-]+\.[\w-]*)")


def without_secrets(text: str) -> str:
    """Return a text in which `<secret>` stands in place of each seed, private key and token."""
    return _SECRET.sub("<secret>", text)


def is_secret(text: str) -> bool:
    """Return whether `text` contains a seed, a private key or a token, or something very similar."""
    return _SECRET.search(text.upper()) is not None or _SECRET.search(text) is not None


class IdentityError(ValueError):
    """A key, token, credentials file or folder is not valid here."""

    def __init__(self, text: str = "") -> None:
        super().__init__(without_secrets(text))


class KeyFault(StrEnum):
    """Why a text is not the expected key."""

    NOT_A_KEY = "not-a-key"
    CHECKSUM = "checksum"
    WRONG_ROLE = "wrong-role"
    SEED_GIVEN = "seed-given"
    NO_SEED = "no-seed"
    CANNOT_SIGN = "cannot-sign"


class NkeyError(IdentityError):
    """A text is not the nkey that is expected here; `fault` says why."""

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
    """A JWT cannot be accepted or made; `fault` says why."""

    def __init__(self, fault: TokenFault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


class CredentialsError(IdentityError):
    """A decorated file holds no JWT or no seed, or the two do not belong together."""


class FolderError(IdentityError):
    """A folder of keys or tokens cannot be read or written; the text names the file."""


class WorkspaceError(IdentityError):
    """The operation is not possible in this workspace; the text says what would help.

    report: what was found out before the error, if that says more (a `workspace.report.OperationReport`).
    """

    def __init__(self, text: str, report: Any = None) -> None:
        super().__init__(text)
        self.report = report


class NotFoundError(FolderError):
    """The operator, account, user or key is not stored here."""


class DamagedError(FolderError):
    """A stored file is incomplete, or is not what its path says."""


class ForeignError(FolderError):
    """The folder belongs to another operator, another tool, or an older layout."""
