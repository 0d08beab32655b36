"""What a backup fetches from a server: a stream as a whole, or some of its messages by their sequences.

A server sends a stream as a whole faster, but cannot go on after a cut. Messages by their sequences wait for
a lost connection and for a new leader. Where a consumer decides what a stream keeps, none is made.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from ...cli.blocking import connection_options
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, ExitCode, RemoteError, UnavailableError
from ...client import BlockingConnection, ClientError, ConnectionOptions, NotPermitted
from ...protocol.archive.entries import CONSUMERS, ArchiveEntry, ArchiveReader
from ...protocol.s2 import Unframer
from ...protocol.timestamp import parse_rfc3339
from . import consumer_read
from .consumer_read import ConsumerRefusedError

AHEAD = 100  # requests that wait for their answers
OUTAGE_SECONDS = 60.0  # seconds without a server or a leader
RETRY_WAIT = 0.5
MANY = 100_000  # gaps, beyond which they are not listed
NO_MESSAGE = 10037
CHUNK = 128 * 1024
OURS = CONSUMERS + consumer_read.NAME  # of a backup that was killed
Info = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """What a server is asked for. check: that it checks its files first. window: bytes, 0 for its default."""

    consumers: bool = True
    check: bool = False
    chunk: int = CHUNK
    window: int = 0


class CutError(UnavailableError):
    """The server stopped sending, or the connection was lost."""


class StreamSnapshot:
    """A stream as its server sends it. config, state: at the moment at which it began."""

    def __init__(self, connection: NatsConnection, answer: Info, arrived: Any) -> None:
        self.config: Info = answer["config"]
        self.state: Info = answer["state"]
        self._connection = connection
        self._arrived = arrived
        self._reconnects = connection.nc.stats["reconnects"]

    @classmethod
    async def ask(cls, connection: NatsConnection, stream: str, options: SnapshotOptions) -> StreamSnapshot:
        """Ask for a stream. Waits for a server and for a leader. Raises RemoteError and CutError."""
        return await _patiently(connection, lambda: cls._ask_once(connection, stream, options))

    @classmethod
    async def _ask_once(
        cls, connection: NatsConnection, stream: str, options: SnapshotOptions
    ) -> StreamSnapshot:
        """Ask for a stream, with a subject of its own: what a late answer sends is not mixed with another."""
        from nats.errors import Error

        inbox = connection.nc.new_inbox()
        arrived = await connection.nc.subscribe(inbox)
        request = {
            "deliver_subject": inbox,
            "no_consumers": not options.consumers,
            "jsck": options.check,
            "chunk_size": options.chunk,
            **({"window_size": options.window} if options.window else {}),
        }
        try:
            answer = await connection.js.request(f"STREAM.SNAPSHOT.{stream}", request)
        except BaseException:
            with suppress(Error):  # the connection may be lost
                await arrived.unsubscribe()
            raise
        return cls(connection, answer, arrived)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the data; the server sends on when a chunk was taken. Raises CutError and CliError."""
        chunk_seconds = max(5.0, self._connection.timeout)
        while True:
            try:
                message = await self._arrived.next_msg(timeout=chunk_seconds)
            except asyncio.TimeoutError:  # noqa: UP041 - nats-py's own subclass
                raise CutError(f"the backup stalled: nothing came for {chunk_seconds:g}s") from None
            if self._connection.nc.stats["reconnects"] != self._reconnects:
                raise CutError("the connection was lost")
            headers = message.headers or {}
            if not message.data:
                await self._arrived.unsubscribe()
                status = headers.get("Status", "")
                if status and status != "204":
                    raise CliError(f"the server gave the backup up: {headers.get('Description', status)}")
                return
            yield message.data
            if message.reply:
                await self._connection.nc.publish(message.reply, b"")

    async def head(self) -> list[ArchiveEntry]:
        """Return the consumers, which come before the messages, and have the server send no more.

        Raises CutError, and FrameError and ArchiveError if it is no archive.
        """
        from nats.errors import Error

        unframer, reader = Unframer(), ArchiveReader()
        found: list[ArchiveEntry] = []
        try:
            async for chunk in self.chunks():
                for entry in reader.feed(unframer.feed(chunk)):
                    if entry.seq or entry.last:
                        return found
                    if entry.name.startswith(CONSUMERS) and not entry.name.startswith(OURS):
                        found.append(entry)
        finally:
            with suppress(Error):  # it may have ended, or the connection may be lost
                await self._arrived.unsubscribe()
        raise CutError("the backup ended before its first message")


async def gaps(connection: NatsConnection, stream: str) -> list[tuple[int, int]] | None:
    """Return the sequences that a stream has no more, as ranges; None if there are too many to list.

    Waits for a server and for a leader.
    """
    info = await live_info(connection, stream)
    if int(info["state"].get("num_deleted", 0)) > MANY:
        return None
    info = await live_info(connection, stream, {"deleted_details": True})
    return list(ranges(info["state"].get("deleted") or []))


def ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield ascending numbers as ranges, each as its first and last number."""
    first = last = 0
    for number in numbers:
        if last and number == last + 1:
            last = number
            continue
        if last:
            yield first, last
        first = last = number
    if last:
        yield first, last


async def messages(
    connection: NatsConnection, stream: str, first: int, last: int
) -> AsyncIterator[ArchiveEntry]:
    """Yield the messages from one sequence to another.

    In bulk where a consumer that only reads changes nothing; else, and where none can be made, one by one.
    """
    info = await live_info(connection, stream)
    try:
        options = connection_options(connection.profile)
    except CliError:  # a websocket
        options = None
    if options is not None and info["config"].get("retention", "limits") == "limits":
        with suppress(ConsumerRefusedError, NotPermitted):
            async for found in _by_consumer(connection, options, stream, first, last):
                for entry in found:
                    yield entry
                first = found[-1].seq + 1
            return
    async for entry in _one_by_one(connection, stream, first, last):
        yield entry


async def _by_consumer(
    connection: NatsConnection, options: ConnectionOptions, stream: str, first: int, last: int
) -> AsyncIterator[list[ArchiveEntry]]:
    """Yield messages in lists. Waits for a server and for a leader. Raises ConsumerRefusedError, CutError."""
    failing = 0.0  # since when
    while first <= last:
        opened: BlockingConnection | None = None
        reading: Generator[list[ArchiveEntry]] | None = None
        try:
            opened = await asyncio.to_thread(BlockingConnection.open, options)
            reading = consumer_read.read(opened, connection.profile.api_prefix, stream, first)
            while first <= last and (found := await asyncio.to_thread(next, reading, None)) is not None:
                wanted = [entry for entry in found if entry.seq <= last]
                first, failing = found[-1].seq + 1, 0.0
                if wanted:
                    yield wanted
        except NotPermitted:
            raise
        except ClientError as error:
            failing = failing or time.monotonic()
            if time.monotonic() - failing > OUTAGE_SECONDS:
                raise CutError(str(error)) from None
            await asyncio.sleep(RETRY_WAIT)
        else:
            return
        finally:
            if reading is not None:
                await asyncio.to_thread(reading.close)
            if opened is not None:
                opened.close()


async def _one_by_one(
    connection: NatsConnection, stream: str, first: int, last: int
) -> AsyncIterator[ArchiveEntry]:
    missing = await gaps(connection, stream)
    if missing is None:
        sequence = first
        while sequence <= last:
            found = await _get(connection, stream, {"seq": sequence, "next_by_subj": ">"})
            if found is None or found.seq > last:
                return
            yield found
            sequence = found.seq + 1
        return
    info = await live_info(connection, stream)
    asked: deque[asyncio.Task[ArchiveEntry | None]] = deque()
    try:
        for sequence in _without(max(first, int(info["state"]["first_seq"])), last, missing):
            asked.append(asyncio.ensure_future(_get(connection, stream, {"seq": sequence})))
            if len(asked) >= AHEAD and (found := await asked.popleft()) is not None:
                yield found
        while asked:
            if (found := await asked.popleft()) is not None:
                yield found
    finally:
        for task in asked:
            task.cancel()


async def as_in(connection: NatsConnection, stream: str, entry: ArchiveEntry) -> bool:
    """Return whether a message is in a stream as it was fetched; also if the stream has it no more."""
    found = await _get(connection, stream, {"seq": entry.seq})
    return found is None or found == entry


def _without(first: int, last: int, missing: list[tuple[int, int]]) -> Iterator[int]:
    """Yield the numbers from `first` to `last` that are in no range."""
    for begin, end in [*missing, (last + 1, last + 1)]:
        yield from range(first, min(begin, last + 1))
        first = max(first, end + 1)


async def live_info(connection: NatsConnection, stream: str, query: Info | None = None) -> Info:
    """Return a stream's information. Waits for a server and for a leader."""
    return await _patiently(connection, lambda: connection.js.stream_info(stream, query))


async def _patiently(connection: NatsConnection, ask: Callable[[], Awaitable[T]]) -> T:
    """Return an answer; asks again while there is no server or no leader. Raises RemoteError and CutError."""
    from nats.errors import Error

    began = time.monotonic()
    while True:
        try:
            return await ask()
        except RemoteError as error:
            if error.exit_code is not ExitCode.UNAVAILABLE or time.monotonic() - began > OUTAGE_SECONDS:
                raise
        except (CliError, OSError, Error) as error:
            if connection.nc.is_closed or time.monotonic() - began > OUTAGE_SECONDS:
                raise CutError(str(error)) from None
        await asyncio.sleep(RETRY_WAIT)


async def _get(connection: NatsConnection, stream: str, query: Info) -> ArchiveEntry | None:
    """Return one message; None if there is none. Waits for a server and for a leader."""
    try:
        answer = await _patiently(
            connection, lambda: connection.js.request(f"STREAM.MSG.GET.{stream}", query)
        )
    except RemoteError as error:
        if error.err_code == NO_MESSAGE:
            return None
        raise
    found = answer["message"]
    return ArchiveEntry(
        str(found["subject"]),
        parse_rfc3339(str(found["time"])),
        int(found["seq"]),
        base64.b64decode(found.get("hdrs") or ""),
        base64.b64decode(found.get("data") or ""),
    )
