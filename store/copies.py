"""Small files that decide what exists. Each is kept twice, as `<name>` and `<name>.copy`.

Promises: as long as one of the two is intact, its content is found. If both are intact, the first counts,
which is written first. If the copy has a later revision, however, the copy counts, because the first is then
an older file that was put back. Reading changes nothing, and reports what is wrong with either file (it may
even be a directory). `repair` rewrites the bad one. The copy protects against damage, not against crashes, so
a caller that does not need it durable leaves its sync to the system. Content that was written with a copy
ends with a newline. Content without one comes from a version that made no copies.
"""

from __future__ import annotations

from collections.abc import Callable
from errno import EIO, EISDIR
from typing import Generic, TypeVar

from ..protocol.lazy_dataclass import dataclass
from .errors import Damaged, NotFound
from .fs import FileSystem, read_file, write_file, write_unsynced

COPY = ".copy"
UNREADABLE = {EIO, EISDIR}  # errors that affect one file, while the other one may be intact
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CopyRead(Generic[T]):
    """What was read from the two files.

    value, data: the content, decoded and as bytes.
    damage: what is wrong with one of the two files, "" if nothing.
    whole: whether the first file is intact and counts.
    copied: whether the copy has the same content.
    other: the content of the file that does not count, None if it is not intact.
    """

    value: T
    data: bytes
    damage: str
    whole: bool
    copied: bool
    other: T | None = None


def write_copies(fs: FileSystem, path: str, data: bytes, *, durable: bool = False) -> None:
    """Replace a file, durably, and its copy. `data` must end with a newline. Raises OSError.

    durable: whether the copy is synced, too.
    """
    assert data.endswith(b"\n")
    write_file(fs, path, data)
    (write_file if durable else write_unsynced)(fs, path + COPY, data)


def read_copies(
    fs: FileSystem,
    path: str,
    decode: Callable[[bytes, str], T],
    revision: Callable[[T], tuple[int, ...]] = lambda _: (),
) -> CopyRead[T]:
    """Read a file from itself or its copy. `decode(data, path)` raises Damaged.

    revision: returns a value that grows whenever the content is written, if the content has one.

    Raises NotFound if neither file exists, Damaged if none is intact, and OSError.
    """
    first, damage = _read(fs, path, decode)
    second, copy_damage = _read(fs, path + COPY, decode)
    if first is not None and second is not None and revision(first[0]) < revision(second[0]):
        return CopyRead(*second, f"{path} is older than its copy", whole=False, copied=True, other=first[0])
    if first is not None:
        same = second is not None and first[1] == second[1]
        if second is not None and not same:
            copy_damage = f"{path}{COPY} is older than the file itself"
        elif second is None and not copy_damage and first[1].endswith(b"\n"):
            copy_damage = f"{path}{COPY} is missing"
        other = None if second is None else second[0]
        return CopyRead(*first, copy_damage, whole=True, copied=same, other=other)
    if second is not None:
        return CopyRead(*second, damage or f"{path} is missing", whole=False, copied=True)
    if damage or copy_damage:
        raise Damaged(0, damage or copy_damage)
    raise NotFound(path)


def repair(fs: FileSystem, path: str, found: CopyRead[T], *, durable: bool = False) -> None:
    """Rewrite the file that is damaged or missing from the other one. Raises OSError."""
    if not found.whole:
        write_file(fs, path, found.data)
    if not found.copied:
        (write_file if durable else write_unsynced)(fs, path + COPY, found.data)


def remove_copies(fs: FileSystem, path: str) -> None:
    """Remove both files, the first one last: until then the content still exists. Raises OSError."""
    fs.remove(path + COPY)
    fs.remove(path)


def _read(fs: FileSystem, path: str, decode: Callable[[bytes, str], T]) -> tuple[tuple[T, bytes] | None, str]:
    """Return (value and bytes, "") or (None, what is wrong); (None, "") if there is no file.

    Raises OSError.
    """
    if not fs.exists(path):
        return None, ""
    try:
        data = read_file(fs, path)
        return (decode(data, path), data), ""
    except Damaged as cause:
        return None, cause.where
    except OSError as error:
        if error.errno not in UNREADABLE:
            raise
        return None, f"{path}: {error.strerror}"
