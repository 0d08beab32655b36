"""Which incarnation of a server takes part in a group: kept beside the group's Raft state.

Layout of a group's folder: `life`, a line of JSON with a CRC in front, kept twice (`store.copies`); `<member
id>/`, the Raft state of that incarnation; `lost.<member id>/`, of the one before, when it ended because
something could not be read.

Promises: an id is used for one Raft state only. It is durable, in both files, before anyone learns it. That
a state begins is durable before it begins: a server that finds no state where there was one begins another
incarnation.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

from ...store.copies import mend, read_copies, remove_copies, write_copies
from ...store.errors import Damaged, NotFound
from ...store.fs import FileSystem
from ...store.raft import RaftStore
from .announce import node_of

_FILE = "life"
_LOST = "lost."


@dataclass(frozen=True, slots=True)
class Incarnation:
    """member: the id. founders: of the group it belongs to, () while it belongs to none."""

    member: str
    founders: tuple[str, ...] = ()


class Incarnations:
    """The incarnations of `node` in the group whose folder is `path`. All calls block and may raise OSError.

    faults: what `open` found that cannot be read, and what came of it.
    """

    def __init__(self, path: str, node: str, *, fs: FileSystem, random_bytes: Callable[[int], bytes]) -> None:
        self.path = path
        self._node = node
        self._fs = fs
        self._random_bytes = random_bytes
        self.faults: list[str] = []

    def open(self) -> Incarnation:
        """The present incarnation, or a new one when there is none that can go on."""
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
        """Where an incarnation's Raft state is."""
        return RaftStore(f"{self.path}/{incarnation.member}", fs=self._fs)

    def begin(self, incarnation: Incarnation, founders: tuple[str, ...]) -> Incarnation:
        """A Raft state is about to begin: from now on its absence is a loss."""
        incarnation = Incarnation(incarnation.member, founders)
        self._write(incarnation)
        return incarnation

    def renew(self) -> Incarnation:
        """Begin another incarnation; what the last one left is kept under another name."""
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
        """Whether an incarnation that belongs to a group is here."""
        incarnation = self._read(change=False)
        return incarnation is not None and bool(incarnation.founders)

    def remove(self) -> None:
        """The group is no more: first its name, so that no half of it is taken for a member."""
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
            self.faults.append(f"{found.damage}: written anew from the other file")
        if change:
            mend(self._fs, path, found, durable=True)
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
