"""The manifest: a second file that records what a stream's newest block is known to hold.

A block cannot show that its end was cut off, nor that it is gone. So each commit, once it is synced (on a
disk that delays syncs: written), overwrites the head of `manifest` with the figures that are then valid.
Behind the head it repeats, as DELETE records, what the newest block says about removed messages. The manifest
is never synced itself. After a power cut it may be old or unreadable, which does no harm, because it is
needed only where something is damaged. What it records is always true.

The sidecars of blocks that are gone or damaged record the same (`sidecar.witness`).
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import partial
from struct import Struct
from zlib import crc32

from ...protocol.lazy_dataclass import dataclass
from .. import record
from ..fs import FileSystem, read_file
from ..handles import Handles
from .block import Block
from .header import BlockHeader

NAME = "manifest"
_MAGIC = b"pyjsman2"
_LAYOUT = Struct("<8sQQQIQQQq?Q")  # magic, identity, number, …
_OLD_MAGIC = b"pyjsman1"
_OLD_LAYOUT = Struct("<8sQQIQQQq?Q")  # of the previous version, without an identity
_CHECKSUM = Struct("<I")
_DELETES = _LAYOUT.size + _CHECKSUM.size  # where the deletes begin
_PAIRS = 8192  # deleted ranges in one record


@dataclass(slots=True)
class Witness:
    """What a second file records of a block, and of the stream at that time.

    identity: the stream's identity, 0 if unknown.
    number, generation, seed: those of the block.
    end: how many bytes of the block were written and synced.
    last_seq, last_time: the stream's last sequence, and the time it was stored.
    floor: the first sequence that was not removed.
    tombstones: pairs (first, last) of other removed sequences.
    sidecar: whether the block had a sidecar by then.
    """

    identity: int
    number: int
    generation: int
    seed: int
    end: int
    last_seq: int
    floor: int
    last_time: int
    sidecar: bool = False
    tombstones: "array[int]" = field(default_factory=lambda: array("Q"))

    def names(self, header: BlockHeader) -> bool:
        """Return whether it describes a block with this number and generation."""
        return (self.number, self.generation) == (header.number, header.generation)


def delete_records(pairs: "array[int]", last_seq: int, seed: int) -> Iterator[bytes]:
    """Iterate over encoded records which say that the ranges (first, last) are removed."""
    for start in range(0, len(pairs), 2 * _PAIRS):
        body = record.pairs_to_bytes(pairs[start : start + 2 * _PAIRS])
        yield record.encode(record.DELETE, last_seq, seed, body=body)


class Manifest:
    """The writer of the manifest of one stream."""

    def __init__(self, fs: FileSystem, handles: Handles, directory: str, identity: int = 0) -> None:
        self.path = f"{directory}/{NAME}"
        self._fs = fs
        self._handles = handles
        self._identity = identity
        self._block: Block | None = None  # the block whose deletes are in the file
        self._end = 0

    def note(
        self, block: Block, pairs: "array[int]", last_seq: int, last_time: int, *, sidecar: bool = False
    ) -> Callable[[], None]:
        """Record what is true once the commit that now begins is synced.

        Return a function that writes it then. The function may run in any thread.

        pairs: the ranges that this commit records as removed.
        sidecar: whether the newest block has a sidecar, as after a clean stop.
        """
        fresh = block is not self._block
        if fresh:
            self._block, self._end = block, _DELETES
        at = self._end
        removed = block.tombstones if fresh else pairs
        deletes = b"".join(delete_records(removed, last_seq, block.seed)) if removed else b""
        self._end += len(deletes)
        number, generation = block.header.number, block.header.generation
        size = self._end - _DELETES
        figures = (number, generation, block.seed, block.end, last_seq, block.state_floor, last_time)
        head = _LAYOUT.pack(_MAGIC, self._identity, *figures, sidecar, size)
        return partial(self._write, head + _CHECKSUM.pack(crc32(head)), deletes, at, fresh=fresh)

    def _write(self, head: bytes, deletes: bytes, at: int, *, fresh: bool) -> None:
        """Write the file.

        If the disk refuses, the old one stays. fresh: whether it has deletes of another block.
        """
        try:
            file = self._handles.pin(self.path, create=True)
        except OSError:
            return
        try:
            if fresh and self._fs.size(file) > at:
                self._fs.truncate(file, at)
            if deletes:
                self._fs.write(file, deletes, at)
            self._fs.overwrite(file, head, 0)
        except OSError:
            return
        finally:
            self._handles.unpin(self.path)

    def close(self) -> None:
        """Close the file."""
        self._handles.forget(self.path)


def read_manifest(fs: FileSystem, directory: str) -> tuple[Witness | None, str]:
    """Read the manifest. Return (its content or None, what is wrong with it). Raises OSError."""
    path = f"{directory}/{NAME}"
    if not fs.exists(path):
        return None, f"{path} is missing"
    data = read_file(fs, path)
    old = data.startswith(_OLD_MAGIC)
    magic, layout = (_OLD_MAGIC, _OLD_LAYOUT) if old else (_MAGIC, _LAYOUT)
    head, at = data[: layout.size], layout.size + _CHECKSUM.size
    if data[layout.size : at] != _CHECKSUM.pack(crc32(head)) or not head.startswith(magic):
        return None, f"{path} cannot be read"
    *figures, sidecar, deletes = layout.unpack(head)[1:]
    identity, number, generation, seed, size, last_seq, floor, last_time = (0, *figures) if old else figures
    witness = Witness(identity, number, generation, seed, size, last_seq, floor, last_time, sidecar)
    end = at + deletes
    while at < end and (one := record.decode_at(data, at, witness.seed)) is not None:
        witness.tombstones.extend(record.pairs_from_bytes(one.body))
        at += one.length
    return witness, "" if at == end else f"{path} is damaged"
