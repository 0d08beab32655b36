"""Archives as files: written, read, and summed up block by block.

An archive is what nats-server 2.15 sends for a backup (`protocol/archive`). Promises: a file that was closed
is on the disk; memory does not grow with the file; messages come in the order of their sequences, or
DamagedError is raised.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ...protocol import s2
from ...protocol.archive.entries import (
    CONSUMERS,
    END,
    MAGIC,
    STATE,
    ArchiveEntry,
    ArchiveError,
    ArchiveReader,
)
from ...protocol.s2 import FrameError, Unframer
from .encryption import BackupKey, EncryptionError, Sealer, opened

BLOCK = 1000  # messages of which one checksum is kept
PIECE = 128 * 1024  # bytes that are read at once


class BackupDamagedError(ValueError):
    """A file of a backup is not what it was."""


@dataclass(frozen=True, slots=True)
class BlockDigest:
    """Up to `BLOCK` messages in a row: the first and last sequence, how many, and the SHA-256 of all."""

    first: int
    last: int
    messages: int
    sha256: str

    def to_json(self) -> list[Any]:
        """Return it as a row of a manifest."""
        return [self.first, self.last, self.messages, self.sha256]


@dataclass(slots=True)
class BlockSums:
    """Sums up messages that are fed in the order of their sequences."""

    blocks: list[BlockDigest] = field(default_factory=list)
    last: int = 0  # the sequence of the last message
    _first: int = 0
    _count: int = 0
    _sum: Any = field(default_factory=hashlib.sha256)

    @property
    def messages(self) -> int:
        """How many messages were taken."""
        return sum(block.messages for block in self.blocks) + self._count

    def feed(self, entry: ArchiveEntry) -> None:
        """Take the next message. Raises DamagedError if its sequence is not above the last one."""
        if entry.seq <= self.last:
            raise BackupDamagedError(f"message {entry.seq} stands after {self.last}")
        self._first = self._first or entry.seq
        self.last = entry.seq
        self._count += 1
        self._sum.update(entry.encode())
        if self._count == BLOCK:
            self.close()

    def close(self) -> list[BlockDigest]:
        """End the last block, and return all."""
        if self._count:
            self.blocks.append(BlockDigest(self._first, self.last, self._count, self._sum.hexdigest()))
        self._first = self._count = 0
        self._sum = hashlib.sha256()
        return self.blocks


class FileWriter:
    """Writes a file, encrypted if a key is given.

    size, sha256: of what is on the disk, known after `close`.
    """

    def __init__(self, path: Path, key: BackupKey | None) -> None:
        self.path = path
        self.size = 0
        self.sha256 = ""
        self._sum = hashlib.sha256()
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        self._sealer = Sealer(key) if key else None
        if self._sealer:
            self._put(self._sealer.header)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        """Append data."""
        self._put(self._sealer.feed(data) if self._sealer else data)

    def close(self) -> None:
        """End the file, and wait until it is on the disk."""
        if self._sealer:
            self._put(self._sealer.end())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self.sha256 = self._sum.hexdigest()

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._sum.update(data)
        self.size += len(data)


class ArchiveFile:
    """Writes an archive entry by entry; `sums` has the checksums of its messages.

    fresh: whether the file is empty.
    """

    def __init__(self, file: FileWriter, *, fresh: bool = True) -> None:
        self.sums = BlockSums()
        self._file = file
        self._buffer = bytearray(MAGIC if fresh else b"")
        if fresh:
            file.write(s2.begin())

    @classmethod
    def continued(cls, file: FileWriter, cut: Iterator[bytes], advance: Callable[[int], object]) -> Self:
        """Return an archive that begins with the whole entries of one that was cut.

        Its chunks are taken as they are: to frame their data again would take as long as to receive it.
        """
        archive = cls(file, fresh=False)
        held: deque[tuple[bytes, bytes]] = deque()  # chunks with an incomplete entry, and their data
        unframer, reader = Unframer(), ArchiveReader()
        after = 0  # bytes of data in the held chunks behind the first one
        end = 0
        try:
            for chunk in s2.split(cut):
                data = unframer.feed(chunk)
                advance(len(data))
                held.append((chunk, data))
                after += len(data) if len(held) > 1 else 0
                for entry in reader.feed(data):
                    if entry.last:
                        end = len(END.encode())
                    elif entry.seq:
                        archive.sums.feed(entry)
                while held and after >= reader.waiting + end:
                    file.write(held.popleft()[0])
                    after -= len(held[0][1]) if held else 0
        except (FrameError, ArchiveError, EncryptionError):
            pass  # what follows is no part of it
        rest = b"".join(data for _, data in held)
        archive._buffer += rest[: len(rest) - reader.waiting - end]
        return archive

    def add(self, entry: ArchiveEntry) -> None:
        """Append an entry."""
        if entry.seq:
            self.sums.feed(entry)
        self._buffer += entry.encode()
        while len(self._buffer) >= s2.CHUNK:
            self._file.write(s2.snappy_chunk(bytes(self._buffer[: s2.CHUNK])))
            del self._buffer[: s2.CHUNK]

    def close(self) -> None:
        """Append the entry that ends an archive, and end the file."""
        self.add(END)
        if self._buffer:
            self._file.write(s2.snappy_chunk(bytes(self._buffer)))
        self._file.close()


def pieces(path: Path, key: BackupKey | None, total: Any = None) -> Iterator[bytes]:
    """Yield the data of a file, decrypted if need be. Raises EncryptionError and OSError.

    total: a hash that is given all bytes of the file.
    """
    with path.open("rb") as raw:
        if total is not None:
            while piece := raw.read(PIECE):
                total.update(piece)
            raw.seek(0)
        encrypted = path.suffix == ".enc"
        yield from opened(raw, key) if encrypted else iter(lambda: raw.read(PIECE), b"")


def entries(data: Iterator[bytes]) -> Iterator[ArchiveEntry]:
    """Yield the entries of an archive, up to the empty one. Raises DamagedError where it is damaged."""
    unframer, reader = Unframer(), ArchiveReader()
    try:
        for piece in data:
            for entry in reader.feed(unframer.feed(piece)):
                if not entry.last:
                    yield entry
        unframer.end()
        reader.end()
    except (FrameError, ArchiveError, EncryptionError) as error:
        raise BackupDamagedError(str(error)) from None


def is_readable(data: Iterator[bytes]) -> bool:
    """Return whether data is an archive as servers from 2.15 on make them; older ones made tar files."""
    unframer, found = Unframer(), b""
    try:
        while len(found) < len(MAGIC) and (piece := next(data, b"")):
            found += unframer.feed(piece)
    except FrameError as error:
        raise BackupDamagedError(str(error)) from None
    if len(found) < len(MAGIC):
        raise BackupDamagedError("it was cut short")
    return found.startswith(MAGIC)


def is_head(entry: ArchiveEntry) -> bool:
    """Return whether an entry is the state or a consumer, which stand before the messages."""
    return not entry.seq and (entry.name == STATE or entry.name.startswith(CONSUMERS))
