"""FileSystem: the only access to the disk.

`FileSystem` is what the store needs from a disk, with paths as plain strings and files as descriptors. `Disk`
is the real one. Tests replace it by a fake that tears, loses, flips and fills up. Each call promises what
POSIX promises, and no more. Data is durable after `sync`, and a name (created, renamed, removed) after
`sync_directory`. Every call may raise OSError.
"""

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Protocol

_STRANGE = ".strange"  # the end of a name that `set_aside` chooses
_LARGE = 2048  # bytes from which on it costs more to copy a part than to tell the kernel of it
_MOST_PARTS = 512  # that one call writes; every system takes 1,024


class FileSystem(Protocol):
    """What a store needs from a disk.

    delays_sync: whether `sync` returns at once for message files, which are synced later.
    seals: whether files are encrypted.
    """

    delays_sync: bool
    seals: bool

    def open(self, path: str, *, create: bool = False) -> int:
        """Open a file for reading and writing, and return its descriptor."""
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

    def write_each(self, file: int, parts: Sequence[bytes], offset: int) -> None:
        """Write all of these one after the other, from `offset` on, as `write` would write them joined."""
        ...

    def overwrite(self, file: int, data: bytes, offset: int) -> None:
        """Write in the place of the same number of bytes. A crash may lose both."""
        ...

    def rewrite(self, file: int, offset: int) -> None:
        """Write what is there from `offset` on again, as it is."""
        ...

    def size(self, file: int) -> int:
        """Return a file's length in bytes."""
        ...

    def truncate(self, file: int, size: int) -> None:
        """Cut a file to `size` bytes."""
        ...

    def sync(self, file: int) -> None:
        """Return when all data written to the file, and its length, are on the disk."""
        ...

    def sync_now(self, file: int) -> None:
        """Do the same, also where `delays_sync`."""
        ...

    def prompt(self) -> "FileSystem":
        """Return the same disk, with every sync at once."""
        ...

    def packing(self, *, compress: bool) -> "FileSystem":
        """Return the same disk for whole files, which are compressed if it can."""
        ...

    def gains(self, path: str, *, compress: bool) -> bool:
        """Return whether a file would be smaller, or opened sooner, if `packing` wrote it."""
        ...

    def sync_directory(self, path: str) -> None:
        """Return when the names in a directory are on the disk."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Rename a file in one step. It replaces a file that has the new name."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file. Nothing happens if it does not exist."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory and everything below it. Nothing happens if it does not exist."""
        ...

    def names(self, path: str) -> list[str]:
        """List the names in a directory, sorted. Empty if the directory does not exist."""
        ...

    def make_directory(self, path: str) -> None:
        """Create a directory and its missing parents, durably. Nothing happens if it exists."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory with that name."""
        ...


class Disk:
    """The real disk."""

    delays_sync = seals = False

    def open(self, path: str, *, create: bool = False) -> int:
        """Open a file for reading and writing, and return its descriptor."""
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

    def write_each(self, file: int, parts: Sequence[bytes], offset: int) -> None:
        """Write all of these one after the other. Large ones are not joined first, which would copy them."""
        size = sum(map(len, parts))
        if size < len(parts) * _LARGE or not hasattr(os, "pwritev"):
            data = b"".join(parts)
            done = os.pwrite(file, data, offset)
            if done < size:
                self.write(file, data[done:], offset + done)
            return
        for start in range(0, len(parts), _MOST_PARTS):
            some = parts[start : start + _MOST_PARTS]
            wanted, done = sum(map(len, some)), os.pwritev(file, some, offset)
            if done < wanted:  # a signal came, or the disk is full
                self.write(file, b"".join(some)[done:], offset + done)
            offset += wanted

    def overwrite(self, file: int, data: bytes, offset: int) -> None:
        """Write in the place of the same number of bytes."""
        done = os.pwrite(file, data, offset)
        if done < len(data):
            self.write(file, data[done:], offset + done)

    def rewrite(self, file: int, offset: int) -> None:
        """Write what is there from `offset` on again, as it is."""
        self.write(file, self.read(file, self.size(file) - offset, offset), offset)

    def size(self, file: int) -> int:
        """Return a file's length in bytes."""
        return os.fstat(file).st_size

    def truncate(self, file: int, size: int) -> None:
        """Cut a file to `size` bytes."""
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        """Return when the data is on the disk. The file's times need not be."""
        if hasattr(os, "fdatasync"):
            os.fdatasync(file)
        else:
            os.fsync(file)

    def sync_now(self, file: int) -> None:
        """Do the same: nothing is delayed here."""
        self.sync(file)

    def prompt(self) -> "FileSystem":
        """Return the same disk, with every sync at once."""
        return self

    def packing(self, *, compress: bool) -> "FileSystem":
        """Return the same disk, which cannot compress."""
        return self

    def gains(self, path: str, *, compress: bool) -> bool:
        """Return False."""
        return False

    def sync_directory(self, path: str) -> None:
        """Return when the names in a directory are on the disk."""
        directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def rename(self, source: str, target: str) -> None:
        """Rename a file in one step. It replaces a file that has the new name."""
        Path(source).replace(target)

    def remove(self, path: str) -> None:
        """Remove a file if it exists."""
        Path(path).unlink(missing_ok=True)

    def remove_tree(self, path: str) -> None:
        """Remove a directory and everything below it if it exists."""
        import shutil  # here: it imports what compresses, and few servers remove a folder

        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            return

    def names(self, path: str) -> list[str]:
        """List the names in a directory, sorted."""
        try:
            return sorted(os.listdir(path))  # noqa: PTH208 - names, not paths
        except FileNotFoundError:
            return []

    def make_directory(self, path: str) -> None:
        """Create a directory and its missing parents, durably."""
        missing: list[Path] = []
        directory = Path(path)
        while not directory.exists():
            missing.append(directory)
            directory = directory.parent
        for directory in reversed(missing):
            directory.mkdir(mode=0o750, exist_ok=True)
            self.sync_directory(str(directory.parent))

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory with that name."""
        return Path(path).exists()


def read_file(fs: FileSystem, path: str) -> bytes:
    """Return the contents of a file. Raises OSError."""
    file = fs.open(path)
    try:
        return fs.read(file, fs.size(file), 0)
    finally:
        fs.close(file)


def write_new(fs: FileSystem, path: str, data: bytes) -> None:
    """Write a complete file and sync it, in place of any remains. Its name is not synced.

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
    """Write a complete file so that, whatever happens, either the old or the new content is there.

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
    """Write a complete file without any sync, for content that can be made again.

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
        fs.remove(path)  # some file systems sync a file that replaces another one
    except IsADirectoryError:
        set_aside(fs, path)
    fs.rename(temporary, path)


def set_aside(fs: FileSystem, path: str) -> str:
    """Rename a file that is not the owner's, so that it is kept but never read. Return its new path.

    Raises OSError.
    """
    names = (f"{path}{_STRANGE}{f'.{number}' if number else ''}" for number in count())
    free = next(name for name in names if not fs.exists(name))
    fs.rename(path, free)
    return free
