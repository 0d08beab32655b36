"""A stream's group commit: what one call writes and syncs, while the stream goes on.

The order makes every crash harmless. A block is synced before the file of the next one exists. Blocks are
removed and messages overwritten only when the record that says so is synced.
"""

from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress

from ...protocol.lazy_dataclass import dataclass
from .. import record
from ..fs import FileSystem, write_file, write_unsynced
from ..handles import Handles
from . import sidecar
from .block import Block, BlockWrite
from .ownership import sidecar_path


@dataclass(slots=True)
class Erasure:
    """A message whose bytes must be overwritten."""

    path: str
    offset: int
    data: bytes


def erasure(block: Block, offset: int, length: int, seq: int, time: int) -> Erasure:
    """Return the `Erasure` that overwrites a message with a record of the same length without contents."""
    body = bytes(length - record.FIXED)
    return Erasure(block.path, offset, record.encode(record.ERASED, seq, block.seed, time=time, body=body))


QUICK_BYTES = 1 << 20  # bytes that are written in less than a millisecond, unless the disk is behind


class StreamCommit:
    """One commit of a `FileStream`; see `store.stream.Commit`."""

    def __init__(self, fs: FileSystem, handles: Handles, directory: str, last_seq: int) -> None:
        self._fs = fs
        self._handles = handles
        self._directory = directory
        self.last_seq = last_seq
        self.error: BaseException | None = None
        self.done = False
        self.little = self.prompt = False
        self.writes: list[BlockWrite] = []
        # Blocks that are sealed now, with their lengths and the stream's subjects at this commit.
        self.sidecars: list[tuple[Block, array[int], list[str]]] = []
        self.erasures: list[Erasure] = []
        self.removals: list[str] = []
        self.note: Callable[[], None] | None = None  # writes the manifest, after the blocks are synced

    def run(self) -> None:
        """Write and sync. Called once, in any thread. Raises OSError."""
        try:
            for write in self.writes:
                self._write(write)
            if self.note is not None:
                self.note()
            for block, lengths, names in self.sidecars:
                leave_sidecar(self._fs, block, lengths, names)
            for erasure in self.erasures:
                with self._handles.pinned(erasure.path) as file:
                    self._fs.write(file, erasure.data, erasure.offset)
                    self._fs.sync(file)
            for path in self.removals:
                remove_block(self._fs, self._handles, path)
            self.done = True
        except BaseException as error:
            self.error = error
            raise

    def _write(self, write: BlockWrite) -> None:
        if write.header:
            self._fs.make_directory(self._directory)
            write_file(self._fs, write.block.path, write.header)
        if write.parts or write.cut:
            path = write.block.path
            file = self._handles.pin(path)
            try:
                if write.parts:
                    self._fs.write_each(file, write.parts, write.offset)
                if write.cut:
                    self._fs.truncate(file, write.end)
                elif write.ahead:
                    self._write_ahead(file, write)
                self._fs.sync(file)
            finally:
                self._handles.unpin(path)

    def _write_ahead(self, file: int, write: BlockWrite) -> None:
        """Write zeros behind what was written, unless the disk has no room for them."""
        try:
            self._fs.write(file, bytes(write.ahead), write.end)
        except OSError:
            self._fs.truncate(file, write.end)  # what some of them took is for others


def cut_zeros(fs: FileSystem, handles: Handles, block: Block) -> None:
    """Cut off the zeros that were written ahead of the end of a block. Raises OSError."""
    if block.reserved:
        with handles.pinned(block.path) as file:
            fs.truncate(file, block.end)
        block.reserved = 0


def leave_sidecar(fs: FileSystem, block: Block, lengths: "array[int]", names: Sequence[str]) -> None:
    """Write the sidecar of a block unless it exists. It can be rebuilt, so it need not be durable."""
    if block.indexed == block.end:
        return
    data = sidecar.encode(block, lengths, names)
    with suppress(OSError):
        write_unsynced(fs, sidecar_path(block.path), data)


def remove_block(fs: FileSystem, handles: Handles, path: str) -> None:
    """Remove a block file that is no longer needed.

    If the disk refuses, the file is found again on the next opening, and removed then or with a later commit.
    """
    handles.forget(path)
    try:
        fs.remove(path)
        fs.remove(sidecar_path(path))
    except OSError:
        return
