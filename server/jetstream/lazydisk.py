"""LazyDisk: a disk whose message files are synced periodically.

It serves all streams where the configuration's `sync_interval` asks for it, and otherwise the streams with
`persist_mode: async`.

Promises:
- What was written is synced at the next `flush`, or when its file is closed. Until then an acknowledged
  message survives the end of the process, but not that of the machine.
- Configurations are still synced at once.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING

from ...store.fs import Disk

if TYPE_CHECKING:
    from ..clock import Clock
    from ..logging import Logger
    from ..task_executor import Threads

LAZY = ("/msgs/", "/consumers/")
EAGER = "/meta.json"


class LazyDisk(Disk):
    """A disk that delays the sync of message files. Any thread may call its methods."""

    delays_sync = True

    def __init__(self) -> None:
        self._lock = Lock()
        self._lazy: set[int] = set()  # descriptors of files whose sync is delayed
        self._dirty: set[int] = set()

    def open(self, path: str, *, create: bool = False) -> int:
        """Open a file for reading and writing."""
        file = super().open(path, create=create)
        if EAGER not in path and any(part in path for part in LAZY):
            with self._lock:
                self._lazy.add(file)
        return file

    def sync(self, file: int) -> None:
        """Sync a file now, or at the next `flush` if its sync is delayed."""
        with self._lock:
            if file in self._lazy:
                self._dirty.add(file)
                return
        super().sync(file)

    def sync_now(self, file: int) -> None:
        """Sync a file now in any case."""
        super().sync(file)

    def prompt(self) -> Disk:
        """Return a disk that delays nothing."""
        return Disk()

    def close(self, file: int) -> None:
        """Close a file, and sync it before if that is still due."""
        with self._lock:
            self._lazy.discard(file)
            dirty = file in self._dirty
            self._dirty.discard(file)
        if dirty:
            super().sync(file)
        super().close(file)

    @property
    def dirty(self) -> bool:
        """Whether anything was written that is not synced."""
        return bool(self._dirty)

    def flush(self) -> None:
        """Sync everything that was written.

        Raises the first OSError, after the other files. What could not be synced is due again.
        """
        failed: OSError | None = None
        with self._lock:
            due = list(self._dirty)
        for file in due:
            try:
                self._sync_copy(file)
            except OSError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def _sync_copy(self, file: int) -> None:
        """Sync a file. A copy of the descriptor stays valid if its owner closes the file meanwhile."""
        with self._lock:
            if file not in self._dirty:
                return
            copy = os.dup(file)
            self._dirty.discard(file)
        try:
            super().sync(copy)
        except OSError:
            with self._lock:
                if file in self._lazy:
                    self._dirty.add(file)
            raise
        finally:
            super().close(copy)


class PeriodicSync:
    """Syncs a disk on a worker thread, every `interval` ns, until it is stopped."""

    def __init__(self, disk: LazyDisk, interval: int, clock: Clock, threads: Threads, log: Logger) -> None:
        self._disk = disk
        self._interval = interval
        self._clock = clock
        self._threads = threads
        self._log = log
        self._timer = clock.call_later(interval, self._sync)

    def stop(self) -> None:
        """Stop syncing."""
        self._timer.cancel()

    def _sync(self) -> None:
        if self._disk.dirty:
            self._threads.submit(self._flush)
        self._timer = self._clock.call_later(self._interval, self._sync)

    def _flush(self) -> None:
        try:
            self._disk.flush()
        except OSError as error:
            self._log.error(f"JetStream could not sync: {error}")
