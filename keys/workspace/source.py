"""A token's text from a file or a URL, as flags name it."""

from __future__ import annotations

from pathlib import Path

from .. import files
from ..decorated import undecorate_jwt
from . import accountserver


def load(where: str) -> str:
    """Return the text of a file, or of a document at an http or https URL.

    Raises NotFoundError, FolderError, or WorkspaceError for a URL that does not return a document.
    """
    if accountserver.is_http(where):
        return accountserver.load(where)
    return files.read(Path(where).expanduser())


def load_token(where: str) -> str:
    """Return the token in a file or document: decorated, in credentials, or bare. Raises as `load` does."""
    return undecorate_jwt(load(where))
