"""Save a stream into a folder: as a whole, or what was added since. A save that was cut goes on.

Promises: nothing is written before the server agreed. What a folder has when a save is cut or killed does not
look like a backup, and the next save of the same stream continues it. A complete backup stays as it is until
the new one is complete.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ...cli import render
from ...cli.connection import NatsConnection
from ...cli.errors import CliError
from ...protocol.archive.entries import MAGIC, STATE, ArchiveEntry, ArchiveError, ArchiveReader
from ...protocol.s2 import FrameError, Unframer
from ...protocol.timestamp import format_exact
from ..object.progress import Bar
from .archive import ArchiveFile, BackupDamagedError, BlockSums, FileWriter
from .fetch import CutError, SnapshotOptions, StreamSnapshot, as_in, gaps, live_info, messages
from .folder import DATA, TAR_FILE, UNFINISHED, BackupFolder
from .manifest import BackupManifest, Info, Segment

Say = Callable[[str], object]  # called with a line about what happens


@dataclass(frozen=True, slots=True)
class SaveOptions:
    """How a stream is saved. restart: a save that was cut is not continued. group: see `BackupManifest`."""

    incremental: bool = False
    restart: bool = False
    group: tuple[str, ...] = ()
    snapshot: SnapshotOptions = field(default_factory=SnapshotOptions)


@dataclass(slots=True)
class Saved:
    """What was saved by one call.

    messages: of the file; kept: how many of them a save that was cut had fetched.
    received: bytes as the server sent them.
    """

    manifest: BackupManifest
    file: str = ""
    messages: int = 0
    kept: int = 0
    received: int = 0
    chunks: int = 0


class Save:
    """One save of one stream."""

    def __init__(
        self,
        connection: NatsConnection,
        stream: str,
        folder: BackupFolder,
        options: SaveOptions,
        bar: Bar,
        say: Say,
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._folder = folder
        self._options = options
        self._bar = bar  # is told the bytes of data that were saved
        self._say = say

    async def run(self) -> Saved:
        """Save the stream. Raises CliError, DamagedError and EncryptionError."""
        folder = self._folder
        info = await self._connection.js.stream_info(self._stream)
        created = str(info.get("created", ""))
        unfinished = None if self._options.restart else folder.unfinished()
        if unfinished:
            where = f"a backup that was cut is in {folder.path}"
            if why := await self._why_not(unfinished, info):
                self._say(f"{where}: it does not go on, because {why}")
            else:
                self._say(f"{where}: it goes on, as of {unfinished['taken']}")
                return await self._go_on(unfinished)
        if self._options.incremental:
            if not folder.complete:
                self._say(f"There is no backup in {folder.path} yet: this one has the whole Stream")
                return await self._whole(created)
            return await self._increment(info)
        return await self._whole(created)

    async def _why_not(self, unfinished: Info, info: Info) -> str:
        """Return why a save that was cut cannot go on; "" if it can.

        What is there must be of this stream: a stream that was restored may have the time of creation of the
        one before it, so the last message is compared, too.
        """
        if unfinished["stream"] != self._stream:
            return f"it is of the Stream {unfinished['stream']}"
        if unfinished["created"] != str(info.get("created", "")):
            return "the Stream was created again since"
        if int(info["state"]["last_seq"]) < int(unfinished["state"]["last_seq"]):
            return "the Stream has lost its end since"
        last = await asyncio.to_thread(self._last, unfinished["file"])
        if last is None:
            return "no message had come"
        if not await as_in(self._connection, self._stream, last):
            return f"the Stream has another message {last.seq} now"
        return ""

    def _last(self, file: str) -> ArchiveEntry | None:
        """Return the last whole message of a file that was cut."""
        last = None
        for entry in self._folder.so_far(file):
            last = entry if entry.seq else last
        return last

    # --- the whole stream

    async def _whole(self, created: str) -> Saved:
        snapshot = await StreamSnapshot.ask(self._connection, self._stream, self._options.snapshot)
        self._folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        started = self._start(DATA, created, snapshot.config, snapshot.state)
        with FileWriter(self._folder.part(DATA), self._folder.key) as file:
            received = _Received(file)
            try:
                async for chunk in snapshot.chunks():
                    self._bar(await asyncio.to_thread(received.take, chunk))
                received.end()
            except (CutError, FrameError, ArchiveError, BackupDamagedError) as error:
                if not isinstance(error, CutError):
                    raise CliError(f"what the server sent is damaged: {error}") from None
                if not received.sums.last:
                    raise
                file.close()
                self._say(f"{error}: the backup goes on with message {received.sums.last + 1}")
            else:
                file.close()
                saved = self._published(started, file, received.sums, [])
                saved.received, saved.chunks = received.size, received.chunks
                if self._options.incremental and received.tar:
                    self._say(f"{self._folder.path} is {TAR_FILE}: --incremental cannot add to it later")
                return saved
        return await self._go_on(started)

    def _start(self, file: str, created: str, config: Info, state: Info) -> Info:
        """Note what is being saved, so that it can go on after a cut."""
        started = {
            "stream": self._stream,
            "created": created,
            "taken": format_exact(time.time_ns()),
            "file": file,
            "config": config,
            "state": state,
            "gone": [],
        }
        self._folder.part(file).unlink(missing_ok=True)
        self._folder.write(UNFINISHED, json.dumps(started).encode())
        return started

    def _published(
        self, started: Info, file: FileWriter, sums: BlockSums, before: Iterable[Segment]
    ) -> Saved:
        """Make the backup complete."""
        segment = Segment(started["file"], file.size, file.sha256, tuple(sums.close()))
        manifest = BackupManifest(
            started["created"],
            started["taken"],
            started["config"],
            started["state"],
            [*before, segment],
            [(first, last) for first, last in started["gone"]],
            list(self._options.group),
        )
        self._folder.publish(manifest, segment.file)
        return Saved(manifest, segment.file, segment.messages)

    # --- after a cut, and what was added

    async def _go_on(self, started: Info) -> Saved:
        """Complete a file of which some is there: its whole entries are kept, the other messages fetched."""
        folder, name = self._folder, started["file"]
        before: list[Segment] = []
        if name != DATA:
            manifest = await asyncio.to_thread(folder.manifest)
            before = manifest.segments
            self._bar.expect(_bytes_behind(int(manifest.state["last_seq"]), started["state"]))
        part = folder.part(name)
        again = folder.part("again-" + name)
        with FileWriter(again, folder.key) as file:
            cut = folder.cut_off(name)
            archive = await asyncio.to_thread(ArchiveFile.continued, file, cut, self._bar)
            kept = archive.sums.messages
            again.replace(part)
            await self._fetch(archive, archive.sums.last + 1, int(started["state"]["last_seq"]))
            await self._compare(started, archive.sums.messages)
            archive.close()
        saved = self._published(started, file, archive.sums, before)
        saved.kept = kept
        return saved

    async def _compare(self, started: Info, messages: int) -> None:
        """Tell how the stream has changed since the save began. Raises CliError if it is another one."""
        info = await live_info(self._connection, self._stream)
        state = started["state"]
        if str(info.get("created", "")) != started["created"]:
            raise CliError(
                f"the Stream {self._stream} was created again while it was saved",
                "the same command saves all of it",
            )
        if started["file"] == DATA and messages < int(state["messages"]):
            missing = render.counted(int(state["messages"]) - messages, "message")
            self._say(f"{missing} of {self._stream} went while the backup was cut, and are not in it")
        if _settings(info["config"]) != _settings(started["config"]):
            self._say(
                f"the configuration of {self._stream} has changed: the backup has that of {started['taken']}"
            )

    async def _fetch(self, archive: ArchiveFile, first: int, last: int) -> None:
        async for entry in messages(self._connection, self._stream, first, last):
            archive.add(entry)
            self._bar(_size(entry))

    async def _increment(self, info: Info) -> Saved:
        """Add the messages that are newer than the backup, and what it lost since."""
        folder = self._folder
        if folder.of_nats:
            raise CliError(f"{folder.path} has no manifest: only a backup of pyjs can be added to")
        if closed := folder.why_closed():
            raise CliError(f"the backup in {folder.path} cannot be added to: {closed}")
        manifest = await asyncio.to_thread(folder.manifest)
        if folder.is_tar(manifest):
            raise CliError(
                f"the backup in {folder.path} is {TAR_FILE}: nothing can be added to it",
                "save all of it, without --incremental",
            )
        state, last = info["state"], int(manifest.state["last_seq"])
        if manifest.stream != self._stream:
            raise CliError(f"{folder.path} has a backup of the Stream {manifest.stream}")
        if str(info.get("created", "")) != manifest.created or int(state["last_seq"]) < last:
            raise CliError(
                f"the Stream {self._stream} was created again after the backup in {folder.path}",
                "save all of it, into another directory or without --incremental",
            )
        missing = await gaps(self._connection, self._stream)
        if missing is None:
            raise CliError(
                "the Stream has too many gaps for an increment", "save all of it, without --incremental"
            )
        snapshot = await StreamSnapshot.ask(self._connection, self._stream, self._options.snapshot)
        try:
            head = await snapshot.head()
        except (FrameError, ArchiveError) as error:
            raise CliError(f"what the server sent is damaged: {error}") from None
        state = snapshot.state | {"consumer_count": len(head)}
        started = self._start(
            f"increment-{len(manifest.segments):04}.s2", manifest.created, snapshot.config, state
        )
        started["gone"] = [(first, min(end, last)) for first, end in missing if first <= last]
        self._folder.write(UNFINISHED, json.dumps(started).encode())
        self._bar.expect(_bytes_behind(last, state))
        with FileWriter(folder.part(started["file"]), folder.key) as file:
            archive = ArchiveFile(file)
            for entry in [ArchiveEntry(STATE, body=json.dumps(state).encode()), *head]:
                archive.add(entry)
            await self._fetch(archive, last + 1, int(state["last_seq"]))
            archive.close()
        return self._published(started, file, archive.sums, manifest.segments)


def _settings(config: Info) -> Info:
    """Return a configuration without what servers add to it."""
    return {name: value for name, value in config.items() if name != "metadata"}


def _bytes_behind(last: int, state: Info) -> int:
    """Return about how many bytes a stream has in the messages behind a sequence, by their average size."""
    messages, first = int(state["messages"]), int(state["first_seq"])
    behind = min(messages, int(state["last_seq"]) - max(last, first - 1))
    return int(state["bytes"]) * max(0, behind) // messages if messages else 0


def _size(entry: ArchiveEntry) -> int:
    return len(entry.name) + len(entry.header) + len(entry.body)


class _Received:
    """What a server sends, written as it is and looked through at the same time.

    Servers before 2.15 send another kind of archive, whose messages have no checksums of their own here.
    """

    def __init__(self, file: FileWriter) -> None:
        self.sums = BlockSums()
        self.size = self.chunks = 0
        self._file = file
        self._unframer, self._reader = Unframer(), ArchiveReader()
        self._archive: bool | None = None

    def take(self, chunk: bytes) -> int:
        """Write a chunk; return how many bytes of data it has. Raises FrameError, ArchiveError."""
        self._file.write(chunk)
        self.size += len(chunk)
        self.chunks += 1
        data = self._unframer.feed(chunk)
        if self._archive is None and data:
            self._archive = data.startswith(MAGIC)
        for entry in self._reader.feed(data) if self._archive else ():
            if entry.seq:
                self.sums.feed(entry)
        return len(data)

    @property
    def tar(self) -> bool:
        """Whether it is the kind of archive that servers before 2.15 send."""
        return self._archive is False

    def end(self) -> None:
        """Note that all has come. Raises FrameError and ArchiveError if it was cut short."""
        self._unframer.end()
        if self._archive:
            self._reader.end()
