"""The state of a configuration's files at some moment, which shows whether they have changed since."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple, TypeAlias


class FileStamp(NamedTuple):
    """The state of a file at some moment. A pipe seems never to change.

    size: bytes.
    modified: ns since 1970.
    """

    inode: int = 0
    size: int = -1
    modified: int = 0

    @classmethod
    def of(cls, path: str) -> FileStamp:
        """Return the present state of a file. Raises OSError."""
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            return cls()
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


Files: TypeAlias = dict[str, FileStamp]  # by path, the configuration file first, then the files it includes


def stamps(files: Files) -> Files:
    """Return the present state of the same files, without those that are gone."""
    found: Files = {}
    for path in files:
        try:
            found[path] = FileStamp.of(path)
        except OSError:
            continue
    return found


def emptied(before: Files, now: Files) -> list[str]:
    """Return the files that are empty now and were not before."""
    return [path for path, stamp in now.items() if stamp.size == 0 and before.get(path, stamp).size != 0]
