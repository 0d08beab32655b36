"""The store directory of a server, which is created if it does not exist."""

from __future__ import annotations

from pathlib import Path


class DirectoryError(OSError):
    """There can be no store directory at this path; the text is that of nats-server."""


def make_store_directory(path: str) -> None:
    """Create the directory and those above it, unless they exist. Raises DirectoryError."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise DirectoryError(f"Can't start JetStream: storage directory is not a directory: {path}") from None
    except OSError as error:
        text = f"could not create storage directory - {path}: {error.strerror}"
        raise DirectoryError(f"Can't start JetStream: {text}") from error
