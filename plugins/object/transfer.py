"""The data of objects: sent chunk by chunk, and received, verified and written.

Promises: memory is bounded, whatever the size (`WINDOW` bytes wait for acknowledgements); an object becomes
visible when all its chunks are stored, and an interrupted put removes them; a file has its name only when the
whole object is in it, with the right size and digest, and on the disk.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from ...cli import messages, render
from ...cli.errors import CliError, ExitCode, RemoteError, UnavailableError, warn
from ...cli.ordered_consumer import OrderedConsumer
from ...protocol.buckets import object_store
from ...protocol.buckets.object_store import Digest, ObjectInfo
from ...protocol.identifier import new_id
from ..kv.lookup import validated
from .bucket import ObjectBucket

WINDOW = 8 * 1024 * 1024  # bytes sent and not acknowledged yet
ACK_SECONDS = 30.0  # seconds without any acknowledgement
INTERVAL = 0.5  # seconds between looks at the connection
CLEANUP_SECONDS = 10.0
HEARTBEAT = 2.0

Advance = Callable[[int], object]  # called with the number of bytes of each piece


class ChunkWriter:
    """Publishes the chunks of one object in order, and waits for their acknowledgements."""

    def __init__(self, bucket: ObjectBucket, nuid: str) -> None:
        self.chunks = 0
        self._bucket = bucket
        self._nuid = nuid
        self._subject = object_store.chunk_subject(bucket.name, nuid)
        self._sent: dict[str, int] = {}  # bytes by reply subject of what is not acknowledged
        self._waiting = 0  # bytes
        self._failure: Exception | None = None
        self._changed = asyncio.Event()
        self._reconnects = bucket.connection.nc.stats["reconnects"]

    async def start(self) -> None:
        """Listen to the acknowledgements."""
        nc = self._bucket.connection.nc
        self._inbox = nc.new_inbox()
        self._subscription = await nc.subscribe(f"{self._inbox}.*", cb=self._acknowledged)

    async def write(self, piece: bytes) -> None:
        """Send a chunk; wait before it if too much is not acknowledged. Raises what a chunk failed with."""
        while self._waiting and self._waiting + len(piece) > WINDOW:
            await self._progress()
        if self._failure:
            raise self._failure
        self.chunks += 1
        reply = f"{self._inbox}.{self.chunks}"
        self._sent[reply] = len(piece)
        self._waiting += len(piece)
        from nats.errors import Error

        try:
            await self._bucket.connection.nc.publish(self._subject, piece, reply)
        except (OSError, Error) as error:
            raise self._cut(str(error)) from None

    async def finish(self) -> None:
        """Wait until all chunks are stored. Raises what a chunk failed with."""
        while self._sent:
            await self._progress()
        if self._failure:
            raise self._failure

    async def _progress(self) -> None:
        """Wait for another acknowledgement."""
        if self._failure:
            raise self._failure
        self._changed.clear()
        ack_seconds = max(ACK_SECONDS, self._bucket.connection.timeout)
        began = time.monotonic()
        while not self._changed.is_set():
            if self._is_cut():
                raise self._cut()
            if time.monotonic() - began > ack_seconds:
                raise UnavailableError(
                    f"nats: timeout: no chunk was acknowledged for {ack_seconds:g}s",
                    "the object was not stored",
                )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), INTERVAL)

    def _cut(self, reason: str = "") -> UnavailableError:
        return UnavailableError(
            "the connection was lost while chunks were on their way", reason, "the object was not stored"
        )

    def _is_cut(self) -> bool:
        """Return whether acknowledgements may have been lost with a connection."""
        nc = self._bucket.connection.nc
        return not nc.is_connected or nc.stats["reconnects"] != self._reconnects

    async def _acknowledged(self, message: Any) -> None:
        try:
            if (message.headers or {}).get("Status") == "503":
                raise UnavailableError("nats: no response from stream", f"nobody listens to {self._subject}")
            if not self._bucket.is_ours(messages.parse_ack(message.data)):
                return
        except RemoteError as error:
            self._failure = self._failure or self._bucket.explained(error)
        except CliError as error:
            self._failure = self._failure or error
        self._waiting -= self._sent.pop(message.subject, 0)
        self._changed.set()

    async def settled(self) -> bool:
        """Wait until nothing that was sent is on its way any more; return False if that cannot be known.

        What one connection publishes is stored in order: once a message is acknowledged, all before it are.
        """
        from nats.errors import Error

        mark = self._nuid + "end"
        reply = f"{self._inbox}.{mark}"
        with suppress(OSError, Error, TimeoutError):
            async with asyncio.timeout(CLEANUP_SECONDS):
                self._sent[reply] = 0
                await self._bucket.connection.nc.publish(
                    object_store.chunk_subject(self._bucket.name, mark), b"", reply
                )
                while reply in self._sent:
                    self._changed.clear()
                    await self._changed.wait()
            await self._purge(mark)
            return True
        return False

    async def abandon(self) -> None:
        """Remove what was stored."""
        if self.chunks:
            await self.settled()
            if not await self._purge(self._nuid):
                warn(f"chunks that belong to nothing are left on {self._subject}")

    async def _purge(self, nuid: str) -> bool:
        """Remove chunks; while there is no leader, try again for a while. Return whether they are gone."""
        began = time.monotonic()
        while True:
            try:
                await self._bucket.purge(nuid)
            except CliError as error:
                late = time.monotonic() - began > CLEANUP_SECONDS
                if late or error.exit_code is not ExitCode.UNAVAILABLE:
                    return False
                await asyncio.sleep(INTERVAL)
            else:
                return True


async def upload(
    bucket: ObjectBucket, entry: ObjectInfo, pieces: AsyncIterator[bytes], advance: Advance
) -> ObjectInfo:
    """Store an object and return its entry. Raises UnavailableError if another attempt may succeed.

    entry: its name and what belongs to it; size, digest and the like are filled in here.
    pieces: the data, each piece one chunk.
    """
    entry = entry.replace(bucket=bucket.name, nuid=new_id(os.urandom))
    writer, digest = ChunkWriter(bucket, entry.nuid), Digest()
    await writer.start()
    try:
        async for piece in pieces:
            digest.update(piece)
            entry.size += len(piece)
            await writer.write(piece)
            advance(len(piece))
        await writer.finish()
    except BaseException:
        await writer.abandon()
        raise
    entry.chunks, entry.digest = writer.chunks, digest.text()
    try:
        await bucket.write_entry(entry)
    except RemoteError:
        await writer.abandon()
        raise
    except CliError as error:
        await _resolve(bucket, entry, writer, error)
    return entry


async def _resolve(bucket: ObjectBucket, entry: ObjectInfo, writer: ChunkWriter, error: CliError) -> None:
    """Find out whether an entry was stored that nobody acknowledged. Raises CliError if it was not."""
    unknown = CliError(f"whether {entry.name} was stored is unknown: {error.message}", *error.hints)
    if not await writer.settled():
        raise unknown
    try:
        found, _ = await bucket.entry(entry.name, from_leader=True)
    except CliError:
        raise unknown from None
    if found is None or found.nuid != entry.nuid:
        await writer.abandon()
        raise UnavailableError(f"{entry.name} was not stored: {error.message}", *error.hints)


async def pieces_of(stream: BinaryIO, size: int) -> AsyncIterator[bytes]:
    """Yield what a stream holds, `size` bytes at a time. Waiting for a pipe holds up nothing else."""
    descriptor = _waitable(stream)
    if descriptor is None:
        while piece := stream.read(size):
            yield piece
            await asyncio.sleep(0)
        return
    gathered = bytearray()
    while True:
        await _readable(descriptor)
        part = os.read(descriptor, size - len(gathered))
        gathered += part
        if len(gathered) == size or (gathered and not part):
            yield bytes(gathered)
            gathered.clear()
        if not part:
            return


def _waitable(stream: BinaryIO) -> int | None:
    """Return the descriptor of a pipe, a socket or a terminal; None for a file, which is always ready."""
    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):  # no real stream
        return None
    waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
    return descriptor if waits else None


async def _readable(descriptor: int) -> None:
    """Wait until there is something to read. Another read in between would make the caller's one wait."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def download(
    bucket: ObjectBucket, entry: ObjectInfo, write: Callable[[bytes], object], advance: Advance
) -> None:
    """Hand the data of an object to `write`, piece by piece. Raises CliError if they are not all of it."""
    digest, size = Digest(), 0
    if entry.size or entry.chunks:
        reader = OrderedConsumer(
            bucket.connection,
            bucket.stream,
            filters=[object_store.chunk_subject(bucket.name, entry.nuid)],
            heartbeat=HEARTBEAT,
        )
        async with reader:
            async for message in reader.until_end():
                size += len(message.data)
                digest.update(message.data)
                write(message.data)
                advance(len(message.data))
    if size != entry.size:
        raise CliError(
            f"wrote {render.size(size)}, expected {render.size(entry.size)}",
            f"chunks of {entry.name} are missing: was it replaced or deleted just now?"
            if size < entry.size
            else f"{entry.name} has more chunks than its entry says",
        )
    with validated():
        right = digest.matches(entry.digest)
    if not right:
        raise CliError(
            "nats: received a corrupt object, digests do not match",
            f"the entry says {entry.digest}, the data are {digest.text()}",
        )


class Target:
    """The file that an object is saved to: a new one beside it until `commit`, which gives it its name.

    A device or a pipe is written to directly.
    """

    def __init__(self, path: Path) -> None:
        self.direct = path.exists() and not path.is_file()
        # A symbolic link stays, and its file is replaced.
        self._path = path if self.direct else Path(os.path.realpath(path))
        self._draft = self._path if self.direct else self._path.with_name(self._draft_name())

    def _draft_name(self) -> str:
        return f".{self._path.name[:200]}.{secrets.token_hex(4)}.part"

    def __enter__(self) -> Self:
        flags = os.O_WRONLY | (0 if self.direct else os.O_CREAT | os.O_EXCL)
        self._file = os.fdopen(os.open(self._draft, flags, 0o666), "wb")
        self.write = self._file.write
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not self.direct:
            self._draft.unlink(missing_ok=True)

    def commit(self) -> None:
        """Have the data on the disk, then give the file its name."""
        self._file.flush()
        if self.direct:
            return
        if self._path.exists():
            os.fchmod(self._file.fileno(), self._path.stat().st_mode & 0o7777)
        os.fsync(self._file.fileno())
        self._draft.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
