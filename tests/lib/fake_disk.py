"""A disk in memory that fails the way real ones do.

It separates what a program sees from what would survive: data is safe after `sync`, names after
`sync_directory`. `crash` discards the rest, but not neatly: of what was not synced an arbitrary part
survives, the last write torn. `kill` is the end of the process alone: everything written is still there.
Beyond that, single operations can be made to fail (`fail`), space to run out (`space`), and bits to flip
(`flip`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Choose = Callable[[int], int]  # returns a number from 0 to its argument, both included
SECTOR = 512


class PowerCut(BaseException):
    """The power was cut in the middle of an operation; `FakeDisk.crash` decides what is left."""


@dataclass
class Inode:
    seen: bytearray = field(default_factory=bytearray)
    safe: bytes = b""
    unsynced: list[tuple[int, bytes | None]] = field(
        default_factory=list
    )  # (offset, data), (size, None): cut


def _apply(data: bytearray, offset: int, change: bytes | None) -> None:
    if change is None:
        del data[offset:]
        data.extend(bytes(max(0, offset - len(data))))
        return
    if offset > len(data):
        data.extend(bytes(offset - len(data)))
    data[offset : offset + len(change)] = change


class FakeDisk:
    """Implements `pyjs.store.fs.FileSystem`."""

    delays_sync = seals = False

    def __init__(self) -> None:
        self.seen: dict[str, Inode] = {}
        self.safe: dict[str, Inode] = {}
        self.changes: list[tuple[str, Inode | None]] = []  # names set (to None: removed) and not synced
        self.directories: set[str] = {"", "/"}
        self.files: dict[int, Inode] = {}
        self._next_file = 3
        self.most_open = 0
        self.space: int | None = None
        self.syncs = 0
        self.writes = 0
        # As on Linux: a failed sync is reported once; what it should have written counts as written from then
        # on, and is seen until the power is cut.
        self.forgets = False
        self._failures: list[tuple[str, int, str]] = []
        self._left: int | None = None

    # -- faults

    def fail(self, operation: str, code: int = errno.EIO, *, path: str = "") -> None:
        """Make the next `operation` (on a path that contains `path`) raise OSError with this code."""
        self._failures.append((operation, code, path))

    def cut_after(self, operations: int | None) -> None:
        """Cut the power at the operation after so many; None: never."""
        self._left = operations

    def flip(self, path: str, offset: int, mask: int = 1) -> None:
        """Flip bits of a byte on the medium itself."""
        inode = self.seen[path]
        inode.seen[offset] ^= mask
        safe = bytearray(inode.safe)
        if offset < len(safe):
            safe[offset] ^= mask
            inode.safe = bytes(safe)

    def kill(self) -> None:
        """End the process: its descriptors are gone, its writes are not."""
        self.files.clear()
        self._failures.clear()
        self.space = self._left = None

    def crash(self, choose: Choose, *, lose_sectors: bool = False) -> None:
        """Cut the power; `choose` decides what survives of everything that was not synced.

        With `lose_sectors`, sectors of an unsynced write can be missing (zeros) before others that are there.
        """
        self.kill()
        survive = choose(len(self.changes))
        names = dict(self.safe)
        for path, inode in self.changes[:survive]:
            if inode is None:
                names.pop(path, None)
            else:
                names[path] = inode
        for inode in {id(one): one for one in [*names.values(), *self.seen.values()]}.values():
            data = bytearray(inode.safe)
            count = choose(len(inode.unsynced)) if inode.unsynced else 0
            for offset, change in inode.unsynced[:count]:
                _apply(data, offset, change)
            if count < len(inode.unsynced):
                offset, change = inode.unsynced[count]
                if change is not None:
                    kept = bytearray(change[: choose(len(change))])
                    if lose_sectors:
                        for start in range(-(offset % SECTOR), len(kept), SECTOR):
                            if choose(3) == 0:
                                sector = slice(max(start, 0), start + SECTOR)
                                kept[sector] = bytes(len(kept[sector]))
                    _apply(data, offset, bytes(kept))
            inode.seen, inode.safe = data, bytes(data)
            inode.unsynced = []
        self.seen, self.safe = dict(names), dict(names)
        self.changes = []

    def _check(self, operation: str, of: str | Inode) -> None:
        """Raise an error if one is due; `of` is a path, or a file that has one."""
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise PowerCut
        if not self._failures:
            return
        path = of if isinstance(of, str) else self._path_of(of)
        for place, (failing, code, where) in enumerate(self._failures):
            if failing == operation and where in path:
                del self._failures[place]
                raise OSError(code, os.strerror(code), path)

    def _check_file(self, path: str) -> None:
        if path in self.directories:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)

    def _path_of(self, inode: Inode) -> str:
        return next((path for path, one in self.seen.items() if one is inode), "")

    # -- the file system

    def open(self, path: str, *, create: bool = False) -> int:
        self._check("open", path)
        self._check_file(path)
        if path not in self.seen:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            if path.rpartition("/")[0] not in self.directories:
                raise FileNotFoundError(errno.ENOENT, "no such directory", path)
            self._name(path, Inode())
        number = self._next_file
        self._next_file += 1
        self.files[number] = self.seen[path]
        self.most_open = max(self.most_open, len(self.files))
        return number

    def _name(self, path: str, inode: Inode | None) -> None:
        if inode is None:
            del self.seen[path]
        else:
            self.seen[path] = inode
        self.changes.append((path, inode))

    def close(self, file: int) -> None:
        del self.files[file]

    def read(self, file: int, size: int, offset: int) -> bytes:
        inode = self.files[file]
        self._check("read", inode)
        return bytes(inode.seen[offset : offset + size])

    def write(self, file: int, data: bytes, offset: int) -> None:
        inode = self.files[file]
        self._check("write", inode)
        self.writes += 1
        if self.space is not None:
            taken = data[: self.space]
            self.space -= len(taken)
            self._write(inode, offset, taken)
            if len(taken) < len(data):
                raise OSError(errno.ENOSPC, "no space left")
            return
        self._write(inode, offset, data)

    def write_each(self, file: int, parts: Sequence[bytes], offset: int) -> None:
        self.write(file, b"".join(parts), offset)

    def overwrite(self, file: int, data: bytes, offset: int) -> None:
        self.write(file, data, offset)

    def rewrite(self, file: int, offset: int) -> None:
        self.write(file, self.read(file, self.size(file) - offset, offset), offset)

    def _write(self, inode: Inode, offset: int, data: bytes | None) -> None:
        inode.unsynced.append((offset, data))
        _apply(inode.seen, offset, data)

    def size(self, file: int) -> int:
        return len(self.files[file].seen)

    def truncate(self, file: int, size: int) -> None:
        self._check("truncate", self.files[file])
        if self.space is not None:
            self.space += max(0, self.size(file) - size)
        self._write(self.files[file], size, None)

    def sync(self, file: int) -> None:
        inode = self.files[file]
        try:
            self._check("sync", inode)
        except OSError:
            if self.forgets:
                inode.unsynced = []
            raise
        self.syncs += 1
        if self.forgets:
            safe = bytearray(inode.safe)
            for offset, change in inode.unsynced:
                _apply(safe, offset, change)
            inode.safe = bytes(safe)
        else:
            inode.safe = bytes(inode.seen)
        inode.unsynced = []

    def sync_now(self, file: int) -> None:
        self.sync(file)

    def prompt(self) -> FakeDisk:
        return self

    def packing(self, *, compress: bool) -> FakeDisk:
        return self

    def gains(self, path: str, *, compress: bool) -> bool:
        return False

    def sync_directory(self, path: str) -> None:
        self._check("sync_directory", path)
        left = []
        for name, inode in self.changes:
            if name.rpartition("/")[0] != path:
                left.append((name, inode))
            elif inode is None:
                self.safe.pop(name, None)
            else:
                self.safe[name] = inode
        self.changes = left

    def rename(self, source: str, target: str) -> None:
        self._check("rename", target)
        if source in self.directories:
            # One change, and durable at once: nobody continues without having synced the folder it is in.

            def moved_to(path: str) -> str:
                return target + path[len(source) :] if path.startswith(source + "/") else path

            self.seen = {moved_to(path): inode for path, inode in self.seen.items()}
            self.safe = {moved_to(path): inode for path, inode in self.safe.items()}
            self.changes = [(moved_to(path), inode) for path, inode in self.changes]
            moved = {one for one in self.directories if one == source or one.startswith(source + "/")}
            self.directories -= moved
            self.directories |= {target + one[len(source) :] for one in moved}
            return
        self._check_file(target)
        inode = self.seen[source]
        # One change of names: a crash keeps both halves or none.
        del self.seen[source]
        self.seen[target] = inode
        self.changes.append((target, inode))
        self.changes.append((source, None))

    def remove(self, path: str) -> None:
        self._check("remove", path)
        self._check_file(path)
        if path in self.seen:
            self._name(path, None)

    def remove_tree(self, path: str) -> None:
        self._check("remove_tree", path)
        for name in [name for name in self.seen if name.startswith(path + "/")]:
            self._name(name, None)
        self.directories = {one for one in self.directories if one != path and not one.startswith(path + "/")}

    def names(self, path: str) -> list[str]:
        self._check("names", path)
        inside = [
            name[len(path) + 1 :] for name in [*self.seen, *self.directories] if name.startswith(path + "/")
        ]
        return sorted({name.partition("/")[0] for name in inside if name})

    def make_directory(self, path: str) -> None:
        self._check("make_directory", path)
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            self.directories.add("/".join(parts[:end]))

    def exists(self, path: str) -> bool:
        return path in self.seen or path in self.directories
