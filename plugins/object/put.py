"""`pyjs object put`: a file or stdin stored as an object."""

from __future__ import annotations

import asyncio
import posixpath
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import click

from ...cli import output, prompt, render
from ...cli.command import FORCE, Command
from ...cli.connection import connect
from ...cli.errors import NotFoundError, RefusedError, UnavailableError, UsageError, warn
from ...cli.proposal import in_hint
from ...protocol.buckets.object_store import CHUNK_SIZE, MAX_CHUNK_SIZE, ObjectInfo, ObjectOptions
from ..messaging.body import parse_headers
from . import page
from .bucket import BUCKET, ObjectBucket, open_bucket
from .progress import progress
from .transfer import Advance, pieces_of, upload

ATTEMPTS = 3
RETRY_WAIT = 2.0  # seconds: a cluster elects a leader within one or two


@click.command(cls=Command)
@output.showing("object")
@BUCKET
@click.argument("file", required=False, default="", type=click.Path())
@click.option("--name", default="", help="The name of the object (default: the path of the file).")
@click.option("--description", default="", help="A description of the object.")
@click.option("-H", "--header", "headers", multiple=True, metavar="K:V", help="Add a header to the object.")
@click.option("--chunk-size", type=click.IntRange(0, MAX_CHUNK_SIZE), default=0, help="Bytes of a chunk.")
@click.option("--progress/--no-progress", "shown", default=True, help="Show progress on a terminal.")
@FORCE
async def put(
    bucket: str,
    file: str,
    name: str,
    description: str,
    headers: tuple[str, ...],
    chunk_size: int,
    shown: bool,
    force: bool,
) -> None:
    """Store a file; without one, what stdin holds. Nobody sees the object before it is whole."""
    if not name and not file:
        raise UsageError("--name is required when reading from stdin")
    name = clean(name or file)
    parsed = parse_headers(headers)
    with ExitStack() as opened:
        stream, total = _opened(file, opened)
        async with connect() as connection:
            store = await open_bucket(connection, bucket)
            size = _chunk_size(store, chunk_size)
            _fits(store, total)
            if not force and not await _replaced(store, name):
                return
            entry = ObjectInfo(name=name, description=description, options=ObjectOptions(max_chunk_size=size))
            if parsed:
                entry.extra["headers"] = parsed
            with progress(shown and not connection.js.trace, name, total) as advance:
                stored = await _stored(store, entry, stream, advance)
            found, _ = await store.entry(name)
    page.show_object(found or stored, bucket)


async def _stored(store: ObjectBucket, entry: ObjectInfo, stream: BinaryIO, advance: Advance) -> ObjectInfo:
    """Store an object. What fails for a moment, such as a change of the leader, has a file sent again."""
    assert entry.options is not None
    begin = stream.tell() if stream.seekable() else None
    sent = 0

    def counted(size: int) -> None:
        nonlocal sent
        sent += size
        advance(size)

    for _ in range(1 if begin is None else ATTEMPTS - 1):
        try:
            return await upload(store, entry, pieces_of(stream, entry.options.max_chunk_size), counted)
        except UnavailableError as error:
            if begin is None:
                raise
            warn(f"{error.message}: {entry.name} is sent again from its beginning")
        await asyncio.sleep(RETRY_WAIT)
        stream.seek(begin)
        advance(-sent)
        sent = 0
    return await upload(store, entry, pieces_of(stream, entry.options.max_chunk_size), counted)


def clean(name: str) -> str:
    """Return the name of an object: a path without `.`, `..` and `//` where they say nothing."""
    shortest = posixpath.normpath(name)
    return "/" + shortest.lstrip("/") if shortest.startswith("//") else shortest


def _opened(file: str, opened: ExitStack) -> tuple[BinaryIO, int | None]:
    """Return what to read, and its size if that is known."""
    if not file:
        return sys.stdin.buffer, None
    path = Path(file)
    if not path.exists():
        raise NotFoundError(f"path '{file}' does not exist")
    if path.is_dir():
        raise UsageError(f"{file} is a directory", "an object is one file; 'tar' makes one of a directory")
    return opened.enter_context(path.open("rb")), path.stat().st_size if path.is_file() else None


def _chunk_size(store: ObjectBucket, given: int) -> int:
    """Return the size of the chunks: the one given, or the usual one as far as the server takes it."""
    limit: int = store.connection.nc.max_payload
    what = "a message of this server"
    if 0 < store.config.get("max_msg_size", -1) < limit:
        limit, what = store.config["max_msg_size"], "a message of this bucket's stream"
    if given > limit:
        raise UsageError(f"--chunk-size {given} is too big", f"{what} has {limit} bytes at most")
    return given or min(CHUNK_SIZE, limit)


def _fits(store: ObjectBucket, total: int | None) -> None:
    """Raise CliError for a file that is larger than the bucket may become."""
    limit = int(store.config.get("max_bytes", -1))
    if total is not None and 0 < limit < total:
        raise RefusedError(
            f"the file has {render.size(total)}, and {store.name} holds {render.size(limit)} at most",
            f"{in_hint(f'object edit {store.name} --max-bucket-size')} changes that",
        )


async def _replaced(store: ObjectBucket, name: str) -> bool:
    """Return whether the object may be stored: there is none of that name, or it may be replaced."""
    found, _ = await store.entry(name)
    if found is None or found.deleted:
        return True
    if output.is_for_people():
        render.show(page.object_page(found, store.name) + "\n")
    return await prompt.sure(f"Replace existing file {store.name} > {name}", forced=False)
