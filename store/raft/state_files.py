"""The small files of a Raft member: state, snapshot, and how far the log is known to be synced.

The state is kept twice (`copies`), with both files synced, because a member that cannot read it is no longer
a member, and if most members lost theirs, nobody could ever lead again. A state is promised only once both
files are synced. An older file that was put back does not count; otherwise a member could vote twice.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple
from zlib import crc32

from ...protocol.lazy_dataclass import dataclass
from ..copies import read_copies, write_copies
from ..errors import Damaged, NotFound
from ..fs import FileSystem, read_file, write_file

_FORMAT = b"pyjs-raft-1"
_MARK = struct.Struct("<QQI")


class StoredState(NamedTuple):
    """What the member has promised, and how often it has started; see `HardState` in `raft`."""

    term: int = 0
    vote: str = ""
    boot: int = 0
    recovering: bool = False


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """The application's state after `index`. members: the configuration there, in the caller's form."""

    index: int = 0
    term: int = 0
    members: bytes = b""
    data: bytes = b""


class SyncMark(NamedTuple):
    """The first `length` bytes of segment `number` are synced."""

    number: int
    length: int


def write_state(fs: FileSystem, path: str, state: StoredState) -> None:
    """Replace the state, durably. Raises OSError."""
    write_copies(fs, path, _pack(state._asdict(), b""), durable=True)


def read_state(fs: FileSystem, path: str) -> tuple[StoredState, str]:
    """Read the state. Return it with what is wrong with one of its files, "" if nothing.

    Raises OSError, and Damaged if the state cannot be read or is missing.
    """
    try:
        found = read_copies(fs, path, _decode_state, lambda one: (one.term, one.boot, len(one.vote)))
    except NotFound as error:
        raise Damaged(0, f"{path} is missing") from error
    return found.value, found.damage


def _decode_state(data: bytes, path: str) -> StoredState:
    about, _ = _decode(data, path)
    try:
        return StoredState(**about)
    except TypeError as error:
        raise Damaged(0, f"{path}: {error}") from error


def write_snapshot(fs: FileSystem, path: str, snapshot: StoredSnapshot) -> None:
    """Replace the snapshot, durably. Raises OSError."""
    about = {"index": snapshot.index, "term": snapshot.term, "members": snapshot.members.decode("latin-1")}
    write_file(fs, path, _pack(about, snapshot.data))


def read_snapshot(fs: FileSystem, path: str) -> StoredSnapshot:
    """Read the snapshot. Raises OSError, and Damaged if it cannot be read or is missing."""
    about, data = _unpack(fs, path)
    try:
        return StoredSnapshot(about["index"], about["term"], about["members"].encode("latin-1"), data)
    except KeyError as error:
        raise Damaged(0, f"{path}: {error} is missing") from error


def pack_mark(mark: SyncMark) -> bytes:
    """Return the bytes of a mark. They always have the same length."""
    body = _MARK.pack(mark.number, mark.length, 0)[:-4]
    return body + crc32(body).to_bytes(4, "little")


def read_mark(fs: FileSystem, path: str) -> tuple[SyncMark, str]:
    """Read the mark, and return it with what is wrong with it.

    A mark that cannot be read is returned as (0, 0). Raises OSError.
    """
    if not fs.exists(path):
        return SyncMark(0, 0), f"{path} is missing"
    data = read_file(fs, path)
    if len(data) != _MARK.size or crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
        return SyncMark(0, 0), f"{path} cannot be read"
    number, length, _ = _MARK.unpack(data)
    return SyncMark(number, length), ""


def _pack(about: dict[str, Any], data: bytes) -> bytes:
    body = json.dumps(about).encode() + b"\n" + data
    return b"%b %08x %b" % (_FORMAT, crc32(body), body)


def _unpack(fs: FileSystem, path: str) -> tuple[dict[str, Any], bytes]:
    if not fs.exists(path):
        raise Damaged(0, f"{path} is missing")
    return _decode(read_file(fs, path), path)


def _decode(whole: bytes, path: str) -> tuple[dict[str, Any], bytes]:
    name, _, rest = whole.partition(b" ")
    checksum, _, body = rest.partition(b" ")
    if name != _FORMAT or checksum != b"%08x" % crc32(body):
        raise Damaged(0, f"{path}: checksum mismatch")
    about, _, data = body.partition(b"\n")
    return json.loads(about), data
