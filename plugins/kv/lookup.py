"""The buckets of an account, of either kind: found by name, or chosen on the terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple

from ...cli import prompt, render
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, NotFoundError, RemoteError, UsageError, close_matches
from ...cli.jetstream import stream_is_gone
from ...cli.loop import need_loop
from ...protocol.buckets.naming import BucketError, check_bucket

Info = dict[str, Any]

HINT_SECONDS = 1.0  # for names that a hint may tell; a user who may not look gets no answer


class BucketKind(NamedTuple):
    """A kind of buckets. prefix: of the names of their streams. command: the family of commands."""

    prefix: str
    name: str
    title: str
    command: str


@contextmanager
def validated() -> Iterator[None]:
    """Turn an invalid name or setting into the error that the user sees."""
    try:
        yield
    except BucketError as error:
        raise UsageError(f"nats: {error.message}", error.reason) from None


async def stream_of(connection: NatsConnection, name: str, kind: BucketKind) -> Info:
    """Return the STREAM.INFO of the stream of a bucket; without a name one is chosen on the terminal.

    Raises CliError if there is no such bucket.
    """
    name = name or await _chosen(connection, kind)
    with validated():
        check_bucket(name)
    try:
        return await connection.js.stream_info(kind.prefix + name)
    except RemoteError as error:
        if not stream_is_gone(error):
            raise
        raise await _not_found(connection, name, kind) from None


async def _chosen(connection: NatsConnection, kind: BucketKind) -> str:
    known = await _names(connection, kind)
    if not known:
        raise NotFoundError(f"no {kind.name} buckets found", f"'{kind.command} add' creates one")
    return await prompt.pick("Bucket", known, argument="<BUCKET>")


async def _names(connection: NatsConnection, kind: BucketKind) -> list[str]:
    streams = await connection.js.stream_names()
    return [each.removeprefix(kind.prefix) for each in streams if each.startswith(kind.prefix)]


async def _not_found(connection: NatsConnection, name: str, kind: BucketKind) -> CliError:
    """Return the error for an unknown bucket, with similar names that exist."""
    near = ""
    async with while_looking_around():
        near = close_matches(name, await _names(connection, kind))
    where = f"there is no bucket {name!r} under {connection.js.prefix}"
    return NotFoundError(
        "nats: bucket not found", near or where, f"'{kind.command} ls' shows those there are"
    )


@asynccontextmanager
async def while_looking_around() -> AsyncIterator[None]:
    """Look for names that a hint may tell: for a moment, and without an error if the user may not look."""
    need_loop()
    import asyncio

    with suppress(CliError, TimeoutError):
        async with asyncio.timeout(HINT_SECONDS):
            yield


def local_time(text: str) -> str:
    """Return an RFC 3339 time as local time, to the second: `2021-06-28 12:52:29`."""
    moment = render.parse_time(text)
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}" if moment else "never"
