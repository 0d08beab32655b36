"""Incarnations: which incarnation of a server takes part in a group, stored beside the group's Raft state.

Layout of a group's folder:
- `life`: a line of JSON with a CRC in front, stored twice (`store.copies`).
- `<member id>/`: the Raft state of that incarnation.
- `lost.<member id>/`: the state of the one before, if that ended because something could not be read.

Promises: an id is used for one Raft state only. It is durable, in both files, before anyone learns it. The
fact that a state begins is durable before the state begins, so that a server that finds no state where there
was one begins another incarnation.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from zlib import crc32

from ...protocol.lazy_dataclass import dataclass
from ...store.copies import read_copies, remove_copies, repair, write_copies
from ...store.errors import Damaged, NotFound
from ...store.fs import FileSystem
from ...store.raft import RaftStore
from .announce import node_of

_FILE = "life"
_LOST = "lost."


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One incarnation of this server.

    member: the id.
    founders: those of the group it belongs to, () while it belongs to none.
    """

    member: str
    founders: tuple[str, ...] = ()


class Incarnations:
    """The incarnations of `node` in the group whose folder is `path`.

    All methods block and may raise OSError.

    faults: what `open` could not read, and what it did about that.
    """

    def __init__(self, path: str, node: str, *, fs: FileSystem, random_bytes: Callable[[int], bytes]) -> None:
        self.path = path
        self._node = node
        self._fs = fs
        self._random_bytes = random_bytes
        self.faults: list[str] = []

    def open(self) -> Incarnation:
        """Return the present incarnation, or a new one if there is none that can continue."""
        incarnation = self._read()
        if incarnation is None and not self.faults and self._fs.names(self.path):
            self.faults.append(f"{self.path}/{_FILE} is missing: a new member begins")
        if incarnation is None or node_of(incarnation.member) != self._node:
            return self.renew()
        if incarnation.founders and not self.store(incarnation).exists():
            self.faults.append(
                f"{self.path}/{incarnation.member} has no Raft state any more: a new member begins"
            )
            return self.renew()
        return incarnation

    def store(self, incarnation: Incarnation) -> RaftStore:
        """Return the store of an incarnation's Raft state."""
        return RaftStore(f"{self.path}/{incarnation.member}", fs=self._fs)

    def begin(self, incarnation: Incarnation, founders: tuple[str, ...]) -> Incarnation:
        """Record that a Raft state is about to begin. If it is missing afterwards, it was lost."""
        incarnation = Incarnation(incarnation.member, founders)
        self._write(incarnation)
        return incarnation

    def renew(self) -> Incarnation:
        """Begin another incarnation. The files of the last one are kept under another name."""
        self._fs.make_directory(self.path)
        incarnation = Incarnation(f"{self._node}-{self._random_bytes(4).hex()}")
        self._write(incarnation)
        names = [name for name in self._fs.names(self.path) if name.partition(".")[0] != _FILE]
        left = [name for name in names if not name.startswith(_LOST)]
        if left:
            for old in set(names) - set(left):
                self._fs.remove_tree(f"{self.path}/{old}")
        for name in left:
            self._fs.rename(f"{self.path}/{name}", f"{self.path}/{_LOST}{name}")
        self._fs.sync_directory(self.path)
        return incarnation

    def begun(self) -> bool:
        """Whether there is an incarnation here that belongs to a group."""
        incarnation = self._read(change=False)
        return incarnation is not None and bool(incarnation.founders)

    def remove(self) -> None:
        """Remove the group's files, `life` first, so that what is left is never taken for a member."""
        if self._fs.exists(self.path):
            remove_copies(self._fs, f"{self.path}/{_FILE}")
            self._fs.sync_directory(self.path)
        self._fs.remove_tree(self.path)

    def _read(self, *, change: bool = True) -> Incarnation | None:
        path = f"{self.path}/{_FILE}"
        try:
            found = read_copies(self._fs, path, _decode)
        except NotFound:
            return None
        except Damaged as error:
            self.faults.append(f"{error.where}, and so is its copy: a new member begins")
            return None
        if found.damage:
            self.faults.append(f"{found.damage}: rewritten from the other file")
        if change:
            repair(self._fs, path, found, durable=True)
        return found.value

    def _write(self, incarnation: Incarnation) -> None:
        body = json.dumps([incarnation.member, incarnation.founders]).encode() + b"\n"
        write_copies(self._fs, f"{self.path}/{_FILE}", b"%08x %b" % (crc32(body), body), durable=True)


def _decode(data: bytes, path: str) -> Incarnation:
    checksum, _, body = data.partition(b" ")
    if checksum != b"%08x" % crc32(body):
        raise Damaged(0, f"{path}: checksum mismatch")
    member, founders = json.loads(body)
    return Incarnation(member, tuple(founders))
