"""`pyjs object ls`: the buckets, or the objects of one."""

from __future__ import annotations

import click

from ...cli import complete, output, render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.output import BYTES, NAME, NUMBER, TEXT, TIME, WORD, Column, Table
from ...cli.output.cells import clean
from ...protocol.timestamp import format_exact
from ..kv.bucket_list import show_list, table_of
from .bucket import OBJECT_STORE, open_bucket

BUCKETS = table_of(OBJECT_STORE)
OBJECTS = Table(
    "objects",
    "Bucket Contents",
    (
        Column("name", "Name", NAME),
        Column("size", "Size", BYTES),
        Column("mtime", "Time", TIME),
        Column("description", "Description", TEXT, wide=True),
        Column("chunks", "Chunks", NUMBER, wide=True),
        Column("digest", "Digest", WORD, wide=True),
    ),
    empty="No entries found",
)


@click.command(cls=Command)
@output.listing(BUCKETS, alternative=(OBJECTS,))
@click.argument("bucket", required=False, default="", shell_complete=complete.object_buckets)
@click.option("-n", "--names", is_flag=True, help="Only the names.")
async def ls(bucket: str, names: bool) -> None:
    """List the buckets, or the objects of a bucket."""
    async with connect() as connection:
        if not bucket:
            await show_list(connection, OBJECT_STORE, BUCKETS, only_names=names)
            return
        entries = await (await open_bucket(connection, bucket)).entries()
    found = [entry for entry in entries if not entry.deleted]
    if names:
        for entry in found:
            render.show(clean(entry.name))
        return
    output.show(
        OBJECTS.of(
            {
                "name": entry.name,
                "size": entry.size,
                "mtime": format_exact(entry.mtime),
                "description": entry.description,
                "chunks": entry.chunks,
                "digest": entry.digest,
            }
            for entry in found
        )
    )
