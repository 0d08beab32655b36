"""Credentials files: reading them, and writing them atomically for their owner only."""

from __future__ import annotations

from pathlib import Path

from . import files
from .decorated import Credentials, format_credentials, parse_credentials
from .errors import CredentialsError


def read_credentials(path: str | Path) -> Credentials:
    """Read a credentials file. Raises FolderError, or CredentialsError that names the file."""
    place = Path(path).expanduser()
    try:
        return parse_credentials(files.read(place))
    except CredentialsError as error:
        raise CredentialsError(f"{place}: {error}") from None


def write_credentials(path: str | Path, token: str, seed: str) -> None:
    """Write a credentials file in one step, with mode 0600.

    Raises IdentityError; an existing file is then unchanged.
    """
    files.write(Path(path).expanduser(), format_credentials(token, seed))
