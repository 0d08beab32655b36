"""Verify a backup: every message is read and compared with the manifest, and with the live stream.

Promises: all files are read to their end, or to where they cannot be read on; each fault is told with the
file and the messages it concerns; nothing is changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ...cli.connection import NatsConnection
from ...cli.errors import CliError
from ...protocol.archive.entries import ArchiveEntry, ArchiveError, ArchiveReader
from ...protocol.s2 import FrameError, Unframer
from .archive import BackupDamagedError, BlockDigest, BlockSums, is_readable, pieces
from .encryption import EncryptionError
from .fetch import SnapshotOptions, StreamSnapshot
from .folder import DATA, DOCUMENT, MANIFEST, TAR_FILE, BackupFolder
from .manifest import BackupManifest, Segment, fault_of

Advance = Callable[[int], object]
MANY = 20  # faults that are told


@dataclass(slots=True)
class Verified:
    """What a look at a backup found. messages: how many were read. checked: whether there was a manifest."""

    manifest: BackupManifest | None = None
    messages: int = 0
    checked: bool = False
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verify(folder: BackupFolder, advance: Advance) -> Verified:
    """Read a whole backup."""
    found = Verified()
    try:
        manifest = found.manifest = folder.manifest()
    except FileNotFoundError:
        found.faults.append(_without_manifest(folder))
        return found
    except (BackupDamagedError, EncryptionError) as error:
        found.faults.append(f"the manifest cannot be read: {error}")
        return found
    found.checked = bool(manifest.segments)
    if not found.checked:
        found.notes.append("there is no manifest: only the form was checked")
        _read(folder, Segment(DATA, -1, "", ()), found, advance)
        return found
    _order(manifest, found)
    for segment in manifest.segments:
        _read(folder, segment, found, advance)
    _documents(folder, manifest, found)
    return found


def _without_manifest(folder: BackupFolder) -> str:
    if not folder.path.is_dir():
        return "it is missing"
    if folder.unfinished() is not None:
        return "it is not complete: the backup was cut. The same command goes on with it"
    if any(BackupFolder(each).complete for each in folder.path.iterdir() if each.is_dir()):
        return "it is the backup of an account, which 'account restore' loads"
    return folder.why_closed() or (f"{MANIFEST} is missing" if folder.begun else "there is no backup")


def _runs(segment: Segment, wrong: list[BlockDigest]) -> str:
    """Return the messages of blocks in words; blocks that follow each other in the file are one run."""
    runs: list[list[int]] = []
    before = None
    for block in segment.blocks:
        if block in wrong:
            if before in wrong and runs:
                runs[-1][1] = block.last
            else:
                runs.append([block.first, block.last])
        before = block
    shown = ", ".join(f"{first}-{last}" for first, last in runs[:MANY])
    return shown + (", …" if len(runs) > MANY else "")


def _order(manifest: BackupManifest, found: Verified) -> None:
    """Note a file whose messages are not all behind those of the files before it."""
    last = 0
    for segment in manifest.segments:
        for block in segment.blocks:
            if block.first <= last:
                found.faults.append(
                    f"{segment.file}: it begins with message {block.first}, not behind {last}"
                )
            last = max(last, block.last)


def _read(folder: BackupFolder, segment: Segment, found: Verified, advance: Advance) -> None:
    """Read a file, and note how it differs from what the manifest says."""
    total, sums = hashlib.sha256(), BlockSums()
    fault = ""
    try:
        if not is_readable(pieces(folder.named(segment.file), folder.key)):
            found.notes.append(f"{segment.file} is of a server before 2.15: only its checksum was compared")
            for piece in pieces(folder.named(segment.file), folder.key, total):
                advance(len(piece))
        else:
            for entry in folder.entries(segment.file, total):
                advance(len(entry.name) + len(entry.header) + len(entry.body))
                if entry.seq:
                    sums.feed(entry)
                    found.messages += 1
    except (BackupDamagedError, EncryptionError) as error:
        behind = f"behind message {sums.last}" if sums.last else "at all"
        fault = f"it cannot be read {behind}: {error}"
    except FileNotFoundError:
        fault = "it is missing"
    except OSError as error:
        fault = str(error)
    if segment.sha256:
        blocks = sums.close()
        wrong = [want for want in segment.blocks if want not in set(blocks)]
        if wrong:
            fault = fault or "messages differ from the manifest"
            fault += f"; affected: {_runs(segment, wrong)}"
        elif not fault and (total.hexdigest() != segment.sha256 or len(blocks) != len(segment.blocks)):
            fault = "it does not agree with its checksum"
    if fault:
        found.faults.append(f"{segment.file}: {fault}")


def _documents(folder: BackupFolder, manifest: BackupManifest, found: Verified) -> None:
    """Note whether `backup.json`, which other tools read, is of this backup."""
    if folder.key:
        return
    try:
        name = json.loads((folder.path / DOCUMENT).read_bytes())["config"]["name"]
    except FileNotFoundError:
        found.notes.append(f"{DOCUMENT} is missing, which nats needs for a restore")
    except (OSError, ValueError, KeyError, TypeError) as error:
        found.faults.append(f"{DOCUMENT}: it cannot be read: {fault_of(error)}")
    else:
        if name != manifest.stream:
            found.faults.append(f"{DOCUMENT}: it is of the Stream {name}, not {manifest.stream}")


@dataclass(slots=True)
class Compared:
    """A backup beside the live stream. different, missing: sequences of messages, the first ones."""

    same: int = 0
    different: list[int] = field(default_factory=list)  # another content under the same sequence
    missing: list[int] = field(default_factory=list)  # in the stream, not in the backup
    removed: int = 0  # in the backup, no more in the stream
    newer: int = 0  # than the backup

    @property
    def differs(self) -> bool:
        """Whether the backup is not what the stream was."""
        return bool(self.different or self.missing)


async def compare(
    connection: NatsConnection, folder: BackupFolder, manifest: BackupManifest, stream: str, advance: Advance
) -> Compared:
    """Compare a backup with the live stream, message by message. Raises CliError and DamagedError."""
    if folder.is_tar(manifest):
        raise CliError(f"{folder.path} has {TAR_FILE}: its messages cannot be compared")
    snapshot = await StreamSnapshot.ask(connection, stream, SnapshotOptions(consumers=False))
    beside = _Beside(folder.messages(manifest), int(manifest.state["last_seq"]))
    unframer, reader = Unframer(), ArchiveReader()

    def take(chunk: bytes) -> int:
        data = unframer.feed(chunk)
        for entry in reader.feed(data):
            if entry.seq:
                beside.feed(entry)
        return len(data)

    try:
        async for chunk in snapshot.chunks():
            advance(await asyncio.to_thread(take, chunk))
        reader.end()
    except (FrameError, ArchiveError) as error:
        raise CliError(f"what the server sent cannot be compared: {error}") from None
    await asyncio.to_thread(beside.end)
    return beside.found


class _Beside:
    """Two streams of messages in the order of their sequences, side by side."""

    def __init__(self, saved: Iterator[ArchiveEntry], last: int) -> None:
        self.found = Compared()
        self._saved = saved
        self._last = last
        self._next = next(saved, None)

    def feed(self, live: ArchiveEntry) -> None:
        """Take the next message of the live stream."""
        found = self.found
        while self._next is not None and self._next.seq < live.seq:
            found.removed += 1
            self._next = next(self._saved, None)
        if live.seq > self._last:
            found.newer += 1
        elif self._next is None or self._next.seq > live.seq:
            found.missing.append(live.seq)
        else:
            if self._next == live:
                found.same += 1
            else:
                found.different.append(live.seq)
            self._next = next(self._saved, None)

    def end(self) -> None:
        """Note that the live stream has no more messages."""
        while self._next is not None:
            self.found.removed += 1
            self._next = next(self._saved, None)
