"""Small files that decide what exists: each is kept twice, `<name>` and `<name>.copy`.

Promises: as long as one of the two is whole, its content is found; of two whole ones the first counts, which
is written first, unless the copy has a later revision: then the first is an older one put back. Reading
changes nothing and gives what is wrong with either (it may be a directory, too); `mend` writes the bad one
anew. The copy is for damage, not for crashes: who need not have it durable leaves its sync to the system.
What was written with a copy ends with a newline: without one it is of a version that made no copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from errno import EIO, EISDIR
from typing import Generic, TypeVar

from .errors import Damaged, NotFound
from .fs import FileSystem, read_file, write_file, write_unsynced

COPY = ".copy"
UNREADABLE = {EIO, EISDIR}  # errors of one file, of which the other one may be whole
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CopyRead(Generic[T]):
    """What was read, and its bytes. damage: what is wrong with one of the two files, "" for nothing.

    whole, copied: whether the first file is, and whether its copy is the same. other: what the file says that
    does not count, None if it is not whole.
    """

    value: T
    data: bytes
    damage: str
    whole: bool
    copied: bool
    other: T | None = None


def write_copies(fs: FileSystem, path: str, data: bytes, *, durable: bool = False) -> None:
    """Replace a file, durably, and its copy, with `data` that ends with a newline. Raises OSError.

    durable: the copy is synced, too.
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

    revision: what grows each time the content is written anew, if the content has one.
    Raises NotFound when there is neither, Damaged when none is whole, and OSError.
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


def mend(fs: FileSystem, path: str, found: CopyRead[T], *, durable: bool = False) -> None:
    """Write the file that is not whole, or not there, from the one that is. Raises OSError."""
    if not found.whole:
        write_file(fs, path, found.data)
    if not found.copied:
        (write_file if durable else write_unsynced)(fs, path + COPY, found.data)


def remove_copies(fs: FileSystem, path: str) -> None:
    """Remove both; while the first one is there, nothing is gone. Raises OSError."""
    fs.remove(path + COPY)
    fs.remove(path)


def _read(fs: FileSystem, path: str, decode: Callable[[bytes, str], T]) -> tuple[tuple[T, bytes] | None, str]:
    """(value and bytes, "") or (None, what is wrong); (None, "") when it is not there. Raises OSError."""
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
