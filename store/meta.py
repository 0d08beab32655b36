"""The folders of the streams' and consumers' configurations, and what is found in them on recovery.

Layout: `<store_dir>/jetstream/<account>/streams/<stream>/{meta.json, msgs/…, consumers/<name>/{meta.json,
state}}`. A meta file is one line with the format, a CRC-32 and the asset's name, then a JSON object: the
caller's, kept as it is. It is replaced in one step and is durable when the call returns. It is kept twice
(`copies`), and the listings mend one from the other; what no copy can tell is reported with its name and
stays where it is; nothing is ever dropped for being unreadable. So is what others put here: files, and
folders with another asset's meta file, as copies have. Names that begin with a dot and are not of ours are
passed over.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote
from zlib import crc32

from .consumer import STATE, FileConsumer
from .copies import COPY, mend, read_copies, write_copies
from .errors import Damaged, NotFound
from .file import FileStream
from .fs import Disk, FileSystem
from .handles import Handles

META = "meta.json"
_LOST = "lost.msgs"
_STAGING = ".restoring"
_FORMAT = "pyjs-meta-1"
_TAKEN_AWAY = re.compile(r"\..+\.[0-9]+", re.DOTALL)  # what `_take_away` calls it
_LONGEST = 200  # bytes of a directory name, well below the 255 that file systems take

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asset:
    """One stream or consumer found on the disk: its document, or what is wrong with it.

    mended: what was wrong with one of the document's two files, which was written anew from the other.
    """

    name: str
    document: Document | None
    damage: str = ""
    mended: str = ""


def directory_name(name: str) -> str:
    """Turn any name into one that is safe as a directory's: what is unsafe is percent-encoded.

    A very long one is cut and gets a hash; its whole name is in its meta file.
    """
    safe = quote(name, safe="$=")
    if safe.startswith("."):
        safe = "%2E" + safe[1:]
    if len(safe) > _LONGEST:
        safe = safe[: _LONGEST - 33] + "~" + hashlib.sha256(name.encode()).hexdigest()[:32]
    return safe or "%"


def _encode(name: str, document: Document) -> bytes:
    text = json.dumps(document, ensure_ascii=False).encode() + b"\n"
    named = f"{quote(name, safe='$')}\n".encode()
    return f"{_FORMAT} {crc32(named + text):08x} ".encode() + named + text


def _decode(data: bytes, path: str) -> tuple[str, Document]:
    """Read a meta file, which belongs into the folder it lies in. Raises Damaged."""
    first, _, rest = data.partition(b" ")
    checksum, _, covered = rest.partition(b" ")
    if first != _FORMAT.encode():
        raise Damaged(0, f"{path}: not a meta file of this format")
    if checksum != f"{crc32(covered):08x}".encode():
        raise Damaged(0, f"{path}: checksum mismatch")
    named, _, text = covered.partition(b"\n")
    name = unquote(named.decode())
    if directory_name(name) != path.split("/")[-2]:
        raise Damaged(0, f"{path}: belongs to '{name}'")
    return name, json.loads(text)


def _write(fs: FileSystem, directory: str, name: str, document: Document) -> None:
    """Store an asset's document durably, in place of an older one; raises OSError."""
    fs.make_directory(directory)
    write_copies(fs, f"{directory}/{META}", _encode(name, document))


def _list(fs: FileSystem, directory: str) -> list[Asset]:
    found = [_find(fs, directory, entry) for entry in _entries(fs, directory)]
    return [asset for asset in found if asset is not None]


def _entries(fs: FileSystem, directory: str) -> Iterator[str]:
    """Name the folders of assets; what was taken away goes for good."""
    for entry in fs.names(directory):
        if _TAKEN_AWAY.fullmatch(entry):
            fs.remove_tree(f"{directory}/{entry}")  # its removal was cut short
        elif not entry.startswith("."):
            yield entry


def _find(fs: FileSystem, directory: str, entry: str) -> Asset | None:
    """Read one asset and mend its document; None: there is none."""
    path = f"{directory}/{entry}/{META}"
    try:
        try:
            read = read_copies(fs, path, _decode)
        except NotFound:
            # An asset becomes one with its meta file: a folder without is a creation that never ended,
            # unless it holds data.
            if not _holds_data(fs, f"{directory}/{entry}"):
                return None
            return Asset(unquote(entry), None, f"{path} is missing, and so is its copy")
        with suppress(OSError):  # a disk that is full must not keep it from being served
            mend(fs, path, read)
        return Asset(*read.value, mended=read.fault)
    except (Damaged, OSError) as fault:
        return Asset(unquote(entry), None, str(fault))


def _holds_data(fs: FileSystem, folder: str) -> bool:
    names = fs.names(folder)
    return STATE in names or STATE + COPY in names or any(fs.names(f"{folder}/msgs"))


def _lost_names() -> Iterator[str]:
    """Where messages are set aside: lost.msgs, lost.msgs.2, lost.msgs.3, …"""
    yield _LOST
    for number in itertools.count(2):
        yield f"{_LOST}.{number}"


def _take_away(fs: FileSystem, parent: str, entry: str) -> str:
    """Take an asset's folder away in one step, so that it cannot come back half; "" if there is none.

    Gives where it is: it is to be removed, and is by the next start.
    """
    path = f"{parent}/{entry}"
    if not fs.exists(path):
        return ""
    names = (f"{parent}/.{entry}.{number}" for number in itertools.count())
    gone = next(name for name in names if not fs.exists(name))
    fs.rename(path, gone)
    fs.sync_directory(parent)
    return gone


def _remove(fs: FileSystem, parent: str, entry: str) -> None:
    gone = _take_away(fs, parent, entry)
    if gone:
        fs.remove_tree(gone)


class AccountDirectory:
    """The streams and consumers of one account on the disk. All calls may raise OSError."""

    def __init__(self, path: str, fs: FileSystem, handles: Handles) -> None:
        self.path = path
        self._fs = fs
        self._handles = handles

    def _stream(self, stream: str) -> str:
        return f"{self.path}/streams/{directory_name(stream)}"

    def _consumer(self, stream: str, consumer: str) -> str:
        return f"{self._stream(stream)}/consumers/{directory_name(consumer)}"

    def is_new(self) -> bool:
        """Tell whether nothing was ever stored here; what the disk does not let see is not new."""
        try:
            return not self._fs.exists(self.path)
        except OSError:
            return False

    def streams(self) -> list[Asset]:
        """List all streams, damaged ones too; mends documents."""
        return _list(self._fs, f"{self.path}/streams")

    def read_stream(self, stream: str) -> Asset | None:
        """Find one stream, changing nothing; None: there is none."""
        try:
            return Asset(*read_copies(self._fs, f"{self._stream(stream)}/{META}", _decode).value)
        except NotFound:
            return None
        except (Damaged, OSError) as fault:
            return Asset(stream, None, str(fault))

    def set_aside(self, stream: str) -> str:
        """Keep a stream's messages under another name, which is never read; gives where, "" for none.

        Those kept before stay too: a second damage, found while the first is mended, may leave less.
        """
        folder = self._stream(stream)
        messages = f"{folder}/msgs"
        if not self._fs.exists(messages):
            return ""
        free = next(name for name in _lost_names() if not self._fs.exists(f"{folder}/{name}"))
        self._fs.rename(messages, f"{folder}/{free}")
        self._fs.sync_directory(folder)
        return f"{folder}/{free}"

    def copies(self, stream: str) -> list[str]:
        """Name the folders that hold messages of a stream, those that were set aside too."""
        folder = self._stream(stream)
        names = sorted(self._fs.names(folder)) if self._fs.exists(folder) else []
        kept = [name for name in names if name in ("msgs", _LOST) or name.startswith(f"{_LOST}.")]
        return [f"{folder}/{name}" for name in kept]

    def let_go(self, stream: str) -> None:
        """Remove all that was set aside."""
        folder = self._stream(stream)
        for name in self._fs.names(folder):
            if name == _LOST or name.startswith(f"{_LOST}."):
                self._fs.remove_tree(f"{folder}/{name}")

    def write_stream(self, stream: str, document: Document) -> None:
        """Store a stream's document durably; the first time this makes the stream exist."""
        _write(self._fs, self._stream(stream), stream, document)

    def open_stream(
        self, stream: str, *, on_damage: Callable[[int, str], None] | None = None, exact: bool = False
    ) -> FileStream:
        """Open a stream's messages; see `FileStream`."""
        directory = f"{self._stream(stream)}/msgs"
        return FileStream(directory, fs=self._fs, handles=self._handles, on_damage=on_damage, exact=exact)

    def staging(self) -> "AccountDirectory":
        """A place for streams that are not whole yet; `unstage` forgets what a server left there."""
        return AccountDirectory(f"{self.path}/{_STAGING}", self._fs, self._handles)

    def adopt(self, staging: "AccountDirectory", stream: str) -> None:
        """Take a stream over from there, in one step; its stores must be closed."""
        target = self._stream(stream)
        self._fs.make_directory(f"{self.path}/streams")
        self._fs.rename(staging._stream(stream), target)
        self._fs.sync_directory(f"{self.path}/streams")

    def unstage(self) -> None:
        """Remove what was left of streams that never became whole."""
        self._fs.remove_tree(f"{self.path}/{_STAGING}")

    def remove_stream(self, stream: str) -> None:
        """Remove a stream with its consumers; its stores must be closed."""
        _remove(self._fs, f"{self.path}/streams", directory_name(stream))

    def take_away_stream(self, stream: str) -> str:
        """The same in one step, but for the files: give the folder that `destroy` is to remove, or ""."""
        return _take_away(self._fs, f"{self.path}/streams", directory_name(stream))

    def destroy(self, folder: str) -> None:
        """Remove what was taken away; in any thread."""
        self._fs.remove_tree(folder)

    def consumers(self, stream: str) -> list[Asset]:
        """List all consumers of a stream, damaged ones too; mends documents."""
        return _list(self._fs, f"{self._stream(stream)}/consumers")

    def write_consumer(self, stream: str, consumer: str, document: Document) -> None:
        """Store a consumer's document durably; the first time this makes the consumer exist."""
        _write(self._fs, self._consumer(stream, consumer), consumer, document)

    def open_consumer(self, stream: str, consumer: str) -> FileConsumer:
        """Open a consumer's state; see `FileConsumer`."""
        return FileConsumer(self._consumer(stream, consumer), fs=self._fs, handles=self._handles)

    def remove_consumer(self, stream: str, consumer: str) -> None:
        """Remove a consumer; its store must be closed."""
        _remove(self._fs, f"{self._stream(stream)}/consumers", directory_name(consumer))


class Storage:
    """A server's `<store_dir>/jetstream`: accounts, and the descriptors that all their stores share."""

    def __init__(self, store_dir: str, *, fs: FileSystem | None = None, open_files: int = 256) -> None:
        self.path = f"{store_dir}/jetstream"
        self._fs: FileSystem = Disk() if fs is None else fs
        self._handles = Handles(self._fs, open_files)

    def accounts(self) -> list[str]:
        """Name the accounts that have something on the disk."""
        return [unquote(entry) for entry in _entries(self._fs, self.path)]

    def remove_account(self, name: str) -> None:
        """Remove an account's folder with all that is in it; its stores must be closed. Raises OSError."""
        _remove(self._fs, self.path, directory_name(name))

    def account(self, name: str) -> AccountDirectory:
        """Give an account's folder; it is made when something is written."""
        return AccountDirectory(f"{self.path}/{directory_name(name)}", self._fs, self._handles)

    def close(self) -> None:
        """Close the shared descriptors; all stores must be closed."""
        self._handles.close()
