"""A bounded pool of open files, shared by many stores and by their commit threads.

A file in use is pinned and stays open. When there are too many others, the least recently used one is closed.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from .fs import FileSystem


class Handles:
    """Open files by path. Every method may be called from any thread, and raises OSError as the disk does."""

    def __init__(self, fs: FileSystem, limit: int = 64) -> None:
        self._fs = fs
        self._limit = limit
        self._lock = Lock()
        self._open: OrderedDict[str, list[int]] = OrderedDict()  # path -> [descriptor, pins]

    @contextmanager
    def pinned(self, path: str, *, create: bool = False) -> Iterator[int]:
        """Yield the descriptor of a file, opened if necessary, which stays open inside the `with` block."""
        file = self.pin(path, create=create)
        try:
            yield file
        finally:
            self.unpin(path)

    def pin(self, path: str, *, create: bool = False) -> int:
        """Return the descriptor of a file, opened if necessary, which stays open until `unpin`.

        Each `pin` needs its own `unpin`. A commit calls them itself, because `pinned` costs as much as a
        small write.
        """
        surplus: list[int] = []
        with self._lock:
            entry = self._open.get(path)
            if entry is None:
                entry = self._open[path] = [self._fs.open(path, create=create), 0]
            self._open.move_to_end(path)
            entry[1] += 1
            if len(self._open) > self._limit:
                surplus = self._surplus()
        try:
            for file in surplus:
                self._fs.close(file)
        except BaseException:
            self.unpin(path)
            raise
        return entry[0]

    def unpin(self, path: str) -> None:
        """End what `pin` began."""
        with self._lock:
            entry = self._open.get(path)
            if entry is not None and entry[1]:
                entry[1] -= 1

    def read(self, path: str, size: int, offset: int) -> bytes:
        """Read from a file, opened if necessary, as `FileSystem.read` does.

        It is `pinned` with the reading in it, which costs less by half.
        """
        with self._lock:
            entry = self._open.get(path)
            if entry is not None:
                self._open.move_to_end(path)
                entry[1] += 1
        if entry is None:
            with self.pinned(path) as file:
                return self._fs.read(file, size, offset)
        try:
            return self._fs.read(entry[0], size, offset)
        finally:
            with self._lock:
                entry[1] -= 1

    def _surplus(self) -> list[int]:
        surplus = []
        for path in list(self._open):
            if self._open[path][1] == 0:
                surplus.append(self._open.pop(path)[0])
                if len(self._open) <= self._limit:
                    break
        return surplus

    def forget(self, path: str) -> None:
        """Close a file. A pinned file must not be forgotten."""
        with self._lock:
            entry = self._open.pop(path, None)
        if entry is not None:
            self._fs.close(entry[0])

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            entries = list(self._open.values())
            self._open.clear()
        for file, _ in entries:
            self._fs.close(file)

    def __len__(self) -> int:
        return len(self._open)
