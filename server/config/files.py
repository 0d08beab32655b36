"""The files of a configuration as they were at some moment: what tells whether they have changed since."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple, TypeAlias


class Stamp(NamedTuple):
    """A file at some moment. modified: ns since 1970. A pipe seems never to change."""

    inode: int = 0
    size: int = -1
    modified: int = 0

    @classmethod
    def of(cls, path: str) -> Stamp:
        """The file as it is now. Raises OSError."""
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            return cls()
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


Files: TypeAlias = dict[str, Stamp]  # by path, the configuration file first, then what it includes


def stamps(files: Files) -> Files:
    """The same files as they are now; without those that are gone."""
    found: Files = {}
    for path in files:
        try:
            found[path] = Stamp.of(path)
        except OSError:
            continue
    return found


def emptied(before: Files, now: Files) -> list[str]:
    """Those that are empty now and were not before."""
    return [path for path, stamp in now.items() if stamp.size == 0 and before.get(path, stamp).size != 0]
