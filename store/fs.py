"""FileSystem: the only access to the disk.

`FileSystem` is what the store asks of a disk, with paths as plain strings and files as descriptors; `Disk` is
the real one. Tests put a fake in its place that tears, loses, flips and fills up. What is promised of each
call is what POSIX promises, no more: data is durable after `sync`, a name (created, renamed, removed) after
`sync_directory`. Every call may raise OSError.
"""

import os
import shutil
from itertools import count
from pathlib import Path
from typing import Protocol

_STRANGE = ".strange"  # the end of a name that `set_aside` gives


class FileSystem(Protocol):
    """What a store asks of a disk."""

    def open(self, path: str, *, create: bool = False) -> int:
        """Open a file for reading and writing, and give its descriptor."""
        ...

    def close(self, file: int) -> None:
        """Close a descriptor."""
        ...

    def read(self, file: int, size: int, offset: int) -> bytes:
        """Read `size` bytes at `offset`, fewer only at the end of the file."""
        ...

    def write(self, file: int, data: bytes, offset: int) -> None:
        """Write all of `data` at `offset`."""
        ...

    def size(self, file: int) -> int:
        """Give a file's length in bytes."""
        ...

    def truncate(self, file: int, size: int) -> None:
        """Cut a file to `size` bytes."""
        ...

    def sync(self, file: int) -> None:
        """Return when all data written to the file, and its length, are on the disk."""
        ...

    def sync_directory(self, path: str) -> None:
        """Return when the names in a directory are on the disk."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a file another name, in one step, in place of the file that had it."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens if there is none."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all below it; nothing happens if there is none."""
        ...

    def names(self, path: str) -> list[str]:
        """List a directory's names, sorted; empty if there is no such directory."""
        ...

    def make_directory(self, path: str) -> None:
        """Make a directory and the missing ones above it, durably; nothing happens if it is there."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of that name."""
        ...


class Disk:
    """The real disk."""

    def open(self, path: str, *, create: bool = False) -> int:
        """Open a file for reading and writing."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o640)

    def close(self, file: int) -> None:
        """Close a descriptor."""
        os.close(file)

    def read(self, file: int, size: int, offset: int) -> bytes:
        """Read `size` bytes at `offset`, fewer only at the end of the file."""
        data = os.pread(file, size, offset)
        if len(data) == size or not data:
            return data
        parts = [data]
        have = len(data)
        while have < size:
            data = os.pread(file, size - have, offset + have)
            if not data:
                break
            parts.append(data)
            have += len(data)
        return b"".join(parts)

    def write(self, file: int, data: bytes, offset: int) -> None:
        """Write all of `data` at `offset`."""
        done = os.pwrite(file, data, offset)
        while done < len(data):
            done += os.pwrite(file, memoryview(data)[done:], offset + done)

    def size(self, file: int) -> int:
        """Give a file's length."""
        return os.fstat(file).st_size

    def truncate(self, file: int, size: int) -> None:
        """Cut a file."""
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        """Wait for the data; the file's times may wait for another day."""
        if hasattr(os, "fdatasync"):
            os.fdatasync(file)
        else:
            os.fsync(file)

    def sync_directory(self, path: str) -> None:
        """Wait for the names."""
        directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def rename(self, source: str, target: str) -> None:
        """Give a file another name."""
        Path(source).replace(target)

    def remove(self, path: str) -> None:
        """Remove a file if it is there."""
        Path(path).unlink(missing_ok=True)

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all below it if it is there."""
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            return

    def names(self, path: str) -> list[str]:
        """List a directory's names."""
        try:
            return sorted(os.listdir(path))  # noqa: PTH208 - names, not paths
        except FileNotFoundError:
            return []

    def make_directory(self, path: str) -> None:
        """Make a directory and the missing ones above it."""
        missing: list[Path] = []
        directory = Path(path)
        while not directory.exists():
            missing.append(directory)
            directory = directory.parent
        for directory in reversed(missing):
            directory.mkdir(mode=0o750, exist_ok=True)
            self.sync_directory(str(directory.parent))

    def exists(self, path: str) -> bool:
        """Whether there is something of that name."""
        return Path(path).exists()


def read_file(fs: FileSystem, path: str) -> bytes:
    """Read a whole file; raises OSError."""
    file = fs.open(path)
    try:
        return fs.read(file, fs.size(file), 0)
    finally:
        fs.close(file)


def write_new(fs: FileSystem, path: str, data: bytes) -> None:
    """Write a whole file, synced, in place of what may be left there; its name is not synced.

    Raises OSError.
    """
    fs.remove(path)
    file = fs.open(path, create=True)
    try:
        fs.write(file, data, 0)
        fs.sync(file)
    finally:
        fs.close(file)


def write_file(fs: FileSystem, path: str, data: bytes) -> None:
    """Write a whole file so that, whatever happens, either the old or the new content is there.

    A directory in its place is set aside. Raises OSError.
    """
    temporary = path + ".tmp"
    write_new(fs, temporary, data)
    try:
        fs.rename(temporary, path)
    except IsADirectoryError:
        set_aside(fs, path)
        fs.rename(temporary, path)
    fs.sync_directory(path.rpartition("/")[0] or ".")


def write_unsynced(fs: FileSystem, path: str, data: bytes) -> None:
    """Write a whole file and sync nothing: for what can be made again.

    A directory in its place is set aside. Raises OSError.
    """
    temporary = path + ".tmp"
    fs.remove(temporary)
    file = fs.open(temporary, create=True)
    try:
        fs.write(file, data, 0)
    finally:
        fs.close(file)
    try:
        fs.remove(path)  # a file that takes the place of another one is synced by some file systems
    except IsADirectoryError:
        set_aside(fs, path)
    fs.rename(temporary, path)


def set_aside(fs: FileSystem, path: str) -> str:
    """Rename what is not the owner's, so that it is kept and never read; gives its new name.

    Raises OSError.
    """
    names = (f"{path}{_STRANGE}{f'.{number}' if number else ''}" for number in count())
    free = next(name for name in names if not fs.exists(name))
    fs.rename(path, free)
    return free
