"""Files of keys and tokens: written atomically, and secrets readable by their owner only.

A write goes to a hidden file beside the target, which is synced and then renamed to the target. After a crash
there is either the old file or the new one. Functions raise FolderError with the path, never OSError.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from .errors import DamagedError, FolderError, NotFoundError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
MAX_FILE = 4 * 1024 * 1024  # a token has at most 1 MiB


def make_folder(path: Path) -> None:
    """Create a folder and its parents, accessible to their owner only. Existing folders keep their modes."""
    missing = [path, *path.parents]
    try:
        for folder in reversed(missing):
            if not folder.is_dir():
                folder.mkdir(mode=PRIVATE_FOLDER)
    except OSError as error:
        raise FolderError(f"cannot create the directory {path}: {error.strerror}") from error


def write(path: Path, content: str | bytes, mode: int = PRIVATE_FILE) -> None:
    """Write a file in one step. Raises FolderError; the old content then stays."""
    make_folder(path.parent)
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        temporary = ""
        sync_folder(path.parent)
    except OSError as error:
        raise FolderError(f"cannot write {path}: {error.strerror}") from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def read(path: Path) -> str:
    """Read a small text file.

    Raises NotFoundError, DamagedError (empty, too large, not UTF-8) or FolderError.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        raise NotFoundError(f"{path} does not exist") from None
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror}") from error
    if not raw.strip():
        raise DamagedError(f"{path} is empty: it was not written completely")
    if len(raw) > MAX_FILE:
        raise DamagedError(f"{path} is larger than any file of keys or tokens")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise DamagedError(f"{path} is not text") from None


def remove(path: Path) -> bool:
    """Remove a file; return False if there was none. Raises FolderError."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FolderError(f"cannot remove {path}: {error.strerror}") from error
    return True


def names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted, without hidden ones; none if the folder does not exist.

    Raises FolderError.
    """
    try:
        return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise FolderError(f"cannot read the directory {folder}: {error.strerror}") from error


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable, after files were made, renamed or removed. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
