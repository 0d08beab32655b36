"""Checks the files and directories that a start needs, so that `-t` reports what the start would."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from .options import Options
from .tree import ConfigProblem


def problems(options: Options) -> list[ConfigProblem]:
    """Return why a server could not start with these options, as far as the file system shows."""
    where = options.positions
    found: list[ConfigProblem] = []
    jetstream = options.jetstream
    if jetstream.enabled and jetstream.store_dir:
        position = where.get("jetstream.store_dir") or where.get("store_dir")
        found += [ConfigProblem(position, text) for text in _store(Path(jetstream.store_dir))]
    for option, check, what in _FILES:
        path = getattr(options, option)
        code = check(Path(path)) if path else 0
        if code:
            found.append(ConfigProblem(where.get(option), f"{what} {path}: {os.strerror(code)}"))
    return found


def _store(path: Path) -> Iterator[str]:
    """Yield what is wrong with a store directory. It is created if it does not exist."""
    there = path
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not there.is_dir():
        yield f"storage directory is not a directory: {path}"
    elif not os.access(there, os.W_OK | os.X_OK):
        yield f"storage directory is not writable: {path}"


def _file(path: Path) -> int:
    """Return the errno that opening a file for writing would give; 0 for none."""
    if path.is_dir():
        return errno.EISDIR
    if path.exists():
        return 0 if os.access(path, os.W_OK) else errno.EACCES
    return _directory(path.parent)


def _directory(path: Path) -> int:
    """Return the errno that creating a file in a directory would give; 0 for none."""
    if not path.exists():
        return errno.ENOENT
    if not path.is_dir():
        return errno.ENOTDIR
    return 0 if os.access(path, os.W_OK | os.X_OK) else errno.EACCES


_FILES: tuple[tuple[str, Callable[[Path], int], str], ...] = (
    ("log_file", _file, "error opening log file"),
    ("pid_file", _file, "could not write pidfile"),
    ("ports_file_dir", _directory, "error writing ports file in"),
)
