"""The store directory of a server: made when it is not there."""

from __future__ import annotations

from pathlib import Path


class DirectoryError(OSError):
    """There can be no store directory at this path."""


def make_store_directory(path: str) -> None:
    """Make the directory, and those above it. Raises DirectoryError, in the words of nats-server."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise DirectoryError(f"Can't start JetStream: storage directory is not a directory: {path}") from None
    except OSError as error:
        text = f"could not create storage directory - {path}: {error.strerror}"
        raise DirectoryError(f"Can't start JetStream: {text}") from error
