"""StoreLoader: a replica's messages, read on a worker thread before the replica is opened over them."""

from __future__ import annotations

from collections.abc import Callable

from ....store.errors import StoreError
from ....store.file import FileStream


class StoreLoader:
    """open_store: reads what lies on the disk, which costs by what is stored; raises OSError, StoreError."""

    def __init__(self, open_store: Callable[[], FileStream]) -> None:
        self._open_store = open_store
        self._found: FileStream | Exception | None = None

    def read(self) -> None:
        """Read it, for `take`. Blocks; in any thread, while nobody else has the files open."""
        self.let_go()
        try:
            self._found = self._open_store()
        except (OSError, StoreError) as error:
            self._found = error

    def take(self) -> FileStream:
        """What was read, or else what lies there now. Raises OSError, StoreError."""
        found, self._found = self._found, None
        if isinstance(found, Exception):
            raise found
        return self._open_store() if found is None else found

    def let_go(self) -> None:
        """Let go of what was read and not taken."""
        found, self._found = self._found, None
        if isinstance(found, FileStream):
            found.abandon()
