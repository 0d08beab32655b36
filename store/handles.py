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
        with self._lock:
            entry = self._open.get(path)
            if entry is None:
                entry = self._open[path] = [self._fs.open(path, create=create), 0]
            self._open.move_to_end(path)
            entry[1] += 1
            surplus = self._surplus()
        try:
            for file in surplus:
                self._fs.close(file)
            yield entry[0]
        finally:
            with self._lock:
                entry[1] -= 1

    def _surplus(self) -> list[int]:
        surplus = []
        for path in list(self._open) if len(self._open) > self._limit else ():
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
