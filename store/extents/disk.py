"""ExtentDisk: a disk that keeps its files as extents.

It is a `FileSystem` above another one. Whoever uses it sees the content; what lies below is encrypted if
there are keys. Promises:

- With keys, nothing is written in the clear, and nothing is read that these keys did not seal: a file in the
  clear is damage like any other.
- Without keys only what `packing` writes is compressed. Compressed and plain files are read alike.
- What a crash leaves is what it would leave of the content, at most one extent less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..fs import FileSystem
from .layout import FILE_HEADER, FileHeader, is_extents

if TYPE_CHECKING:
    from .cache import DiskCaches
    from .file import ExtentFile
    from .keys import ExtentSealer, StoreKeys

_DIRECT = ("read", "write", "write_each", "overwrite", "sync")
_MOST_WARNINGS = 1000  # of which it is known that they were given
_SCATTERED = 4096  # bytes of content in an extent, below which it is worth to write a file again


class ExtentDisk:
    """A `FileSystem` above `below`. Any thread may call its methods; one at a time writes a file.

    keys: None for files in the clear. compress: whether files that are created are compressed.
    warn: called, in any thread, with what is damaged and does no harm.
    """

    def __init__(
        self,
        below: FileSystem,
        keys: StoreKeys | None,
        *,
        compress: bool = False,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self._below = below
        self.delays_sync = below.delays_sync
        self.seals = keys is not None
        self._keys = keys
        self.compress = compress
        self._warn = warn
        self._warned: set[str] = set()
        self._files: dict[int, ExtentFile] = {}
        self._caches: DiskCaches | None = None
        if keys is None:  # until a file of extents is opened, nothing stands between the store and its files
            vars(self).update({name: getattr(below, name) for name in _DIRECT})

    def packing(self, *, compress: bool) -> ExtentDisk:
        """Return the same disk for whole files, which are compressed if `compress` is set."""
        return ExtentDisk(self._below, self._keys, compress=True, warn=self._warn) if compress else self

    def gains(self, path: str, *, compress: bool) -> bool:
        """Return whether a file would be smaller, or opened sooner, if `packing` wrote it."""
        file = self.open(path)
        try:
            opened = self._files.get(file)
            if opened is None:
                return compress
            if opened.waste > opened.size() // 4:
                return True
            scattered = opened.extents * _SCATTERED > opened.size()
            return not opened.compressed and (compress or scattered)
        finally:
            self.close(file)

    def prompt(self) -> ExtentDisk:
        """Return the same disk, with every sync at once. The files that are open on one are so on both."""
        if not self.delays_sync:
            return self
        disk = ExtentDisk(self._below.prompt(), self._keys, compress=self.compress, warn=self._warn)
        disk._files = self._files
        for name in _DIRECT if self._keys is None else ():
            vars(disk).pop(name, None)  # what it has open may be opened by the other
        return disk

    def open(self, path: str, *, create: bool = False) -> int:
        """Open a file for reading and writing, and return its descriptor."""
        file = self._below.open(path, create=create)
        try:
            opened = self._opened(path, file)
        except BaseException:
            self._below.close(file)
            raise
        if opened is not None:
            self._files[file] = opened
            for name in _DIRECT:
                vars(self).pop(name, None)
        return file

    def _opened(self, path: str, file: int) -> ExtentFile | None:
        """Read the extents of a file. Return None for one that is in the clear."""
        size = self._below.size(file)
        first = self._below.read(file, FILE_HEADER, 0) if size else b""
        if self._keys is None and not (is_extents(first) or (self.compress and not size)):
            return None
        from .cache import ClosedFiles, DiskCaches, ExtentCache
        from .file import ExtentFile

        self._caches = caches = self._caches or DiskCaches(ExtentCache(), ClosedFiles())
        known = self._known(first, path)
        readable = not size or known is not None
        header, sealer = known or self._fresh()
        return ExtentFile(
            self._below, file, header, sealer, caches, readable=readable, compress=self.compress
        )

    def _known(self, first: bytes, path: str) -> tuple[FileHeader, ExtentSealer] | None:
        """Return the header of a file that begins with these bytes, and what seals its extents."""
        from .keys import ChecksumSealer

        copies = FileHeader.copies(first)
        if len(copies) == 1 and len(first) == FILE_HEADER:
            self._tell(f"{path}: one of the two headers of the file is damaged, the other counts")
        for header in copies:
            sealer: ExtentSealer | None = None
            if self._keys is not None:
                sealer = self._keys.sealer(header)
            elif not header.cipher:
                sealer = ChecksumSealer()
            if sealer is not None:
                return header, sealer
        return None

    def _tell(self, damage: str) -> None:
        if self._warn is not None and damage not in self._warned:
            if len(self._warned) < _MOST_WARNINGS:
                self._warned.add(damage)
            self._warn(damage)

    def _fresh(self) -> tuple[FileHeader, ExtentSealer]:
        from .keys import ChecksumSealer

        if self._keys is None:
            return FileHeader(0, int(self.compress)), ChecksumSealer()
        return self._keys.create(compressed=self.compress)

    def close(self, file: int) -> None:
        """Close a descriptor."""
        opened = self._files.pop(file, None)
        if opened is not None:
            opened.close()
        self._below.close(file)

    def read(self, file: int, size: int, offset: int) -> bytes:
        """Read `size` bytes at `offset`, fewer only at the end of the file."""
        opened = self._files.get(file)
        return self._below.read(file, size, offset) if opened is None else opened.read(size, offset)

    def write(self, file: int, data: bytes, offset: int) -> None:
        """Write all of `data` at `offset`."""
        opened = self._files.get(file)
        if opened is None:
            self._below.write(file, data, offset)
        else:
            opened.write(data, offset)

    def write_each(self, file: int, parts: Sequence[bytes], offset: int) -> None:
        """Write all of these one after the other."""
        opened = self._files.get(file)
        if opened is None:
            self._below.write_each(file, parts, offset)
        else:
            opened.write(b"".join(parts), offset)

    def overwrite(self, file: int, data: bytes, offset: int) -> None:
        """Write in the place of the same number of bytes."""
        opened = self._files.get(file)
        if opened is None:
            self._below.overwrite(file, data, offset)
        else:
            opened.overwrite(data, offset)

    def rewrite(self, file: int, offset: int) -> None:
        """Write what is there from `offset` on again."""
        opened = self._files.get(file)
        if opened is None:
            self._below.rewrite(file, offset)
        else:
            opened.rewrite(offset)

    def size(self, file: int) -> int:
        """Return a file's length in bytes."""
        opened = self._files.get(file)
        return self._below.size(file) if opened is None else opened.size()

    def truncate(self, file: int, size: int) -> None:
        """Cut a file to `size` bytes."""
        opened = self._files.get(file)
        if opened is None:
            self._below.truncate(file, size)
        else:
            opened.truncate(size)

    def sync(self, file: int) -> None:
        """Return when the data is on the disk, or will be if the disk below delays it."""
        opened = self._files.get(file)
        if opened is None:
            self._below.sync(file)
        else:
            opened.sync(self._below)

    def sync_now(self, file: int) -> None:
        """Return when the data is on the disk."""
        self._below.sync_now(file)

    def sync_directory(self, path: str) -> None:
        """Return when the names in a directory are on the disk."""
        self._below.sync_directory(path)

    def rename(self, source: str, target: str) -> None:
        """Rename a file in one step."""
        self._below.rename(source, target)

    def remove(self, path: str) -> None:
        """Remove a file if it exists."""
        self._below.remove(path)

    def remove_tree(self, path: str) -> None:
        """Remove a directory and everything below it if it exists."""
        self._below.remove_tree(path)

    def names(self, path: str) -> list[str]:
        """List the names in a directory, sorted."""
        return self._below.names(path)

    def make_directory(self, path: str) -> None:
        """Create a directory and its missing parents, durably."""
        self._below.make_directory(path)

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory with that name."""
        return self._below.exists(path)
