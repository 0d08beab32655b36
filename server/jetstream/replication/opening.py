"""ReplicaOpener: opens a stream's replica over what the disk of its server holds.

Promises: a replica is opened over what the disk holds for certain. Messages that were found damaged are set
aside and never served; the new replica begins with nothing then, and catches up from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ....protocol.api.stream import StreamConfig
from ....store.errors import StoreError
from ....store.file import FileStream
from ....store.identity import ForeignFilesError
from ....store.memory import MemoryStream
from .state import ReplicaStateError

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from .replica import Replica


class ReplicaFiles(Protocol):
    """The files of one stream: its messages, and the document that describes them."""

    def claim(self, group: str) -> None:
        """Have the document say, at its next writing, that the messages are of a replica of that group."""

    def write(self, config: StreamConfig, created: int) -> None:
        """Write the document durably; `created` in ns. Raises OSError."""

    def open_store(self, damaged: Callable[[str], None]) -> FileStream:
        """Open the messages; `damaged` is called where a read finds damage. Raises OSError, StoreError."""

    def log_repairs(self, store: FileStream) -> None:
        """Log what `store` repaired when it was opened."""

    def set_aside(self) -> str:
        """Move the messages elsewhere. Return where they are and for how long, "" if there were none.

        Raises OSError.
        """

    def remove_set_aside(self) -> None:
        """Remove the messages that were set aside. Raises OSError."""


class StoreLoader:
    """Reads a replica's messages on a worker thread, before the replica is opened over them.

    open_store: opens the messages; takes time in proportion to them; raises OSError, StoreError.
    """

    def __init__(self, open_store: Callable[[], FileStream]) -> None:
        self._open_store = open_store
        self._found: FileStream | Exception | None = None

    def read(self) -> None:
        """Read the messages, for a later `take`.

        Blocks. Any thread may call it while nobody else has the files open.
        """
        self.discard()
        try:
            self._found = self._open_store()
        except (OSError, StoreError) as error:
            self._found = error

    def take(self) -> FileStream:
        """Return the messages that were read, or read them now if they were not.

        Raises OSError, StoreError, also if that was the outcome of `read`.
        """
        found, self._found = self._found, None
        if isinstance(found, Exception):
            raise found
        return self._open_store() if found is None else found

    def discard(self) -> None:
        """Close the messages that were read and not taken."""
        found, self._found = self._found, None
        if isinstance(found, FileStream):
            found.abandon()


class ReplicaOpener:
    """Opens the replicas of one stream, one after the other.

    damage: why the replica has to be filled again, "" if it need not.
    due: whether the messages on the disk are damaged and have yet to be set aside.
    """

    def __init__(
        self,
        files: ReplicaFiles,
        group: str,
        make: Callable[[StreamConfig, StreamStore], Replica],
        damaged: Callable[[str], None],
        log_error: Callable[[str], None],
        store: StreamStore | None = None,
    ) -> None:
        """group: the group's name.

        make: makes a replica over a store; raises ReplicaStateError.
        damaged: is called with the place where a read finds damage.
        log_error: logs what is wrong with the stream.
        store: what the group is bootstrapped over, for the first replica; None for what the disk has.
        """
        self.damage = ""
        self.due = False
        self._files = files
        self._group = group
        self._make = make
        self._damaged = damaged
        self._log_error = log_error
        self._store = store
        self._loader = StoreLoader(lambda: files.open_store(damaged))

    def read(self) -> None:
        """Read what is on the disk, for a later `open`.

        Blocks. Any thread may call it while no replica has the files open.
        """
        if self._store is None and not self.due:
            self._loader.read()

    def discard(self) -> None:
        """Close what was read and not opened."""
        self._loader.discard()

    def open(self, config: StreamConfig, created: int) -> Replica:
        """Open a replica; `created` in ns. Raises OSError, StoreError, ReplicaStateError."""
        self._files.claim(self._group)
        store, self._store = self._store, None
        if config.storage != "file":
            return self._make(config, store or MemoryStream())
        self._files.write(config, created)
        if isinstance(store, FileStream):
            store.on_damage = lambda _, where: self._damaged(where)
            return self._make(config, store)
        if not self.due:
            replica = self._over_what_lies_here(config)
            if replica is not None:
                return replica
        kept = self._files.set_aside()
        self.due = False
        if kept:
            self._log_error(f"is started again here; what was damaged is kept in {kept}")
        return self._make(config, self._files.open_store(self._damaged))

    def _over_what_lies_here(self, config: StreamConfig) -> Replica | None:
        """Return a replica over the messages on the disk, or None if they cannot be trusted."""
        try:
            opened = self._loader.take()
        except ForeignFilesError as error:
            self.mark_damaged(str(error))
            return None
        self._files.log_repairs(opened)
        lost = opened.damaged()
        damage = "; ".join(opened.faults) or (f"{len(lost)} messages are lost" if lost else "")
        if not damage:
            try:
                return self._make(config, opened)
            except ReplicaStateError as error:
                damage = str(error)
        opened.abandon()
        self.mark_damaged(damage)
        return None

    def mark_damaged(self, damage: str) -> None:
        """Note and log that the messages here cannot be trusted: the next replica begins with nothing."""
        self.damage = damage
        self.due = True
        self._log_error(f"is damaged here and will be fetched from the other servers: {damage}")

    def filled(self, storage: str) -> None:
        """Note that the replica has been filled, and remove the messages that were set aside."""
        self.damage = ""
        if storage == "file":
            try:
                self._files.remove_set_aside()
            except OSError as error:
                self._log_error(f"what was set aside cannot be removed: {error}")


class FailedReplica:
    """Takes the place of a replica that could not be opened: its group ends with the first entry."""

    durable_index = 0

    def __init__(self, why: str) -> None:
        self._why = why

    def apply(self, entries: Sequence[tuple[int, bytes]], upto: int) -> None:
        """Raise StoreError."""
        raise StoreError(self._why)

    def snapshot(self) -> tuple[int, bytes] | None:
        """Return None: there is never a snapshot."""
        return None

    def restore(self, data: bytes, index: int) -> None:
        """Raise StoreError."""
        raise StoreError(self._why)
