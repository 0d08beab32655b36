"""What is kept of the files of a disk: extents that were read last, and where those of closed files are."""

from __future__ import annotations

from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .layout import FileHeader
    from .loading import LoadedExtents

MANY = 256  # extents in a file, below which they are found again in no time
MOST = 1 << 20  # extents of closed files
SIZE = 16 << 20  # bytes of content
_OWNERS = count(1)

Key = tuple[int, int]  # a number of `owner`, and the place in the file


class ClosedFiles:
    """Where the extents of closed files are, by the header of the file, which no other file has.

    So a file of many small extents, which a recovery has read, is opened again at once. Any thread may call
    the methods.
    """

    def __init__(self) -> None:
        self._rest = MOST
        self._lock = Lock()
        self._found: dict[FileHeader, tuple[int, LoadedExtents]] = {}

    def take(self, header: FileHeader, size: int) -> LoadedExtents | None:
        """Return what was kept of a file that now has this size, and keep it no longer."""
        with self._lock:
            kept = self._found.pop(header, None)
            if kept is None:
                return None
            self._rest += len(kept[1].map)
        return kept[1] if kept[0] == size else None

    def keep(self, header: FileHeader, found: LoadedExtents) -> None:
        """Keep what is known of a file that is closed, if that is much."""
        if len(found.map) < MANY or found.junk:
            return
        with self._lock:
            former = self._found.pop(header, None)
            self._rest += 0 if former is None else len(former[1].map)
            self._found[header] = (found.tail + found.zeros, found)
            self._rest -= len(found.map)
            while self._rest < 0:
                self._rest += len(self._found.pop(next(iter(self._found)))[1].map)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._found.clear()
            self._rest = MOST


class ExtentCache:
    """At most `size` bytes. Any thread may call its methods."""

    def __init__(self, size: int = SIZE) -> None:
        self._rest = size
        self._lock = Lock()
        self._contents: dict[Key, bytes] = {}

    @staticmethod
    def owner() -> int:
        """Return a number for a file. One that changes in place takes another, to forget what it had."""
        return next(_OWNERS)

    def get(self, key: Key) -> bytes | None:
        """Return the content of an extent, None if it is not here."""
        return self._contents.get(key)

    def keep(self, key: Key, content: bytes) -> None:
        """Keep the content of an extent, and give up those that came first."""
        with self._lock:
            if key in self._contents:
                return
            self._contents[key] = content
            self._rest -= len(content)
            while self._rest < 0:
                oldest = next(iter(self._contents))
                self._rest += len(self._contents.pop(oldest))


class DiskCaches(NamedTuple):
    """Both caches of a disk."""

    extents: ExtentCache
    closed: ClosedFiles
