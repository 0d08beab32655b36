"""Unlocking a store: whether the keys are right, and what has to change before it is served.

`<store_dir>/encryption`, which is kept twice, says that the store is encrypted, and has what only its key
opens. Promises: with a wrong key, or with none, nothing on the disk changes. Each file that is encrypted, or
gets another key, is replaced or changed in a way that a crash at any moment leaves readable; the next start
goes on. A file in the clear counts only until the store is encrypted; later it is damage.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence

from ...protocol.lazy_dataclass import dataclass
from ..copies import read_copies, repair, write_copies
from ..errors import Damaged, NotFound, StoreError
from ..fs import FileSystem, read_file, write_new
from .disk import ExtentDisk
from .keys import StoreKeys
from .layout import FILE_HEADER, FileHeader

NAME = "encryption"
_FORMAT = b"pyjs-encryption-1"
_SEALED, _SEALING = b"sealed", b"sealing"
_TREES = ("jetstream", "cluster")  # what of a store directory is encrypted


def opened(fs: FileSystem, directory: str, keys: Sequence[str]) -> ExtentDisk:
    """Return a disk that reads a store directory, encrypted or not, by the one of these keys that is its.

    Raises WrongKeyError, Damaged and OSError.
    """
    try:
        headers = read_copies(fs, f"{directory}/{NAME}", _Mark.decode).value.headers
    except NotFound:
        return ExtentDisk(fs, None)
    for key in keys:
        known = StoreKeys(key)
        if all(map(known.opens, headers)):
            return ExtentDisk(fs, known)
    raise WrongKeyError(
        f"{directory} is encrypted, and {'the key is another one' if keys else 'needs its key'}"
    )


class WrongKeyError(StoreError):
    """The store cannot be opened with these keys. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """The contents of the file `encryption`.

    sealed: whether no file is in the clear any more.
    headers: of files without content. The keys must open all of them; two while the key is exchanged.
    """

    sealed: bool
    headers: list[FileHeader]

    def encode(self) -> bytes:
        words = [_FORMAT, _SEALED if self.sealed else _SEALING]
        words += [base64.b64encode(header.encode()) for header in self.headers]
        return b" ".join(words) + b"\n"

    @classmethod
    def decode(cls, data: bytes, path: str) -> _Mark:
        words = data.split()
        if len(words) < 3 or words[0] != _FORMAT or words[1] not in {_SEALED, _SEALING}:
            raise Damaged(0, f"{path} cannot be read")
        headers = []
        for word in words[2:]:
            copies = FileHeader.copies(_base64(word))
            if not copies:
                raise Damaged(0, f"{path} is damaged")
            headers.append(copies[0])
        return cls(words[1] == _SEALED, headers)


def _base64(word: bytes) -> bytes:
    try:
        return base64.b64decode(word, validate=True)
    except ValueError:
        return b""


@dataclass(slots=True)
class Unlocking:
    """What `unlock` has to do, and tells.

    directory: the store directory.
    notice, warn: where a line for the log goes.
    """

    fs: FileSystem
    directory: str
    keys: StoreKeys
    notice: Callable[[str], None]
    warn: Callable[[str], None]

    def run(self) -> None:
        """Check the keys, and encrypt what is not encrypted by the present one.

        Raises WrongKeyError and OSError.
        """
        mark = self._read()
        if mark is None:
            mark = self._begin()
        elif not all(self.keys.opens(header) for header in mark.headers):
            raise WrongKeyError(self._wrong())
        header, _ = self.keys.create()
        if any(self.keys.moved(one) for one in mark.headers):
            self._write(_Mark(mark.sealed, [*mark.headers[:1], header]))
            self._move()
            self._write(_Mark(mark.sealed, [header]))
        elif len(mark.headers) > 1:
            self._write(_Mark(mark.sealed, [header]))
        if not mark.sealed:
            self._seal()
            self._write(_Mark(sealed=True, headers=[header]))

    def _wrong(self) -> str:
        return f"{self.directory} is encrypted with another key; nothing was changed"

    @property
    def _path(self) -> str:
        return f"{self.directory}/{NAME}"

    def _read(self) -> _Mark | None:
        try:
            found = read_copies(self.fs, self._path, _Mark.decode)
        except NotFound:
            return None
        except Damaged as error:
            self.warn(f"{error.where}, and so is its copy")
            return None
        if found.damage:
            self.warn(f"{found.damage}, and is rewritten")
            repair(self.fs, self._path, found, durable=True)
        return found.value

    def _write(self, mark: _Mark) -> None:
        write_copies(self.fs, self._path, mark.encode(), durable=True)

    def _begin(self) -> _Mark:
        """Find out what a store without a mark is: new, in the clear, or one that lost the mark."""
        plain, headers = "", []
        for path in self._files():
            first = self._first(path)
            copies = FileHeader.copies(first)
            if copies and copies[0].cipher:
                headers.append(copies[0])
            elif first:
                plain = path
        if headers and not any(map(self.keys.opens, headers)):
            raise WrongKeyError(self._wrong())
        if headers and plain:
            raise WrongKeyError(
                f"{self._path} is missing, and {plain} is not encrypted, as others are; nothing was changed"
            )
        if headers:
            self.warn(f"{self._path} is missing, and is rewritten")
        former = [header for header in headers if self.keys.moved(header)]
        mark = _Mark(bool(headers), former[:1] or [self.keys.create()[0]])
        self._write(mark)
        return mark

    def _files(self) -> Iterator[str]:
        for tree in _TREES:
            yield from self._below(f"{self.directory}/{tree}")

    def _below(self, path: str) -> Iterator[str]:
        """Iterate over the files of a folder and its folders."""
        for name in self.fs.names(path):
            inside = f"{path}/{name}"
            try:
                self.fs.names(inside)
            except NotADirectoryError:
                if not name.endswith(".tmp"):  # what a crash left incomplete
                    yield inside
            else:
                yield from self._below(inside)

    def _first(self, path: str) -> bytes:
        file = self.fs.open(path)
        try:
            return self.fs.read(file, FILE_HEADER, 0)
        finally:
            self.fs.close(file)

    def _seal(self) -> None:
        """Encrypt the files that are in the clear."""
        clear, sealed = ExtentDisk(self.fs, None), ExtentDisk(self.fs, self.keys)
        count = 0
        for path in self._files():
            first = self._first(path)
            copies = FileHeader.copies(first)
            if not first or (copies and copies[0].cipher):
                continue
            if not count:
                self.notice(f"Encrypting {self.directory}, which may take long")
            temporary = path + ".tmp"
            write_new(sealed, temporary, read_file(clear, path))
            self.fs.rename(temporary, path)
            self.fs.sync_directory(path.rpartition("/")[0])
            count += 1
        if count:
            self.notice(f"Encrypted {count} files in {self.directory}")

    def _move(self) -> None:
        """Give the files of the former key headers of the present one, one copy after the other."""
        count = 0
        for path in self._files():
            moved = next(filter(None, map(self.keys.moved, FileHeader.copies(self._first(path)))), None)
            if moved is None:
                continue
            file = self.fs.open(path)
            try:
                half = FILE_HEADER // 2
                for start in (0, half):
                    self.fs.write(file, moved.encode()[:half], start)
                    self.fs.sync(file)
            finally:
                self.fs.close(file)
            count += 1
        self.notice(f"{count} files in {self.directory} now have the new key")
