"""`pyjs object watch`: the changes of a bucket as they come."""

from __future__ import annotations

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import CliError, warn
from ...cli.messages import StoredMessage
from ...cli.ordered_consumer import OrderedConsumer
from ...cli.output import BYTES, NAME, NUMBER, TIME, WORD, Column, Table
from ...cli.output.cells import clean
from ...cli.output.terminal import styled
from ...protocol.timestamp import format_exact
from ..kv.bucket import EVERYTHING
from ..kv.following import Show, follow, one_by_one, show_change
from ..kv.text import moment
from .bucket import BUCKET, open_bucket, read_entry

CHANGES = Table(
    "object_changes",
    "Changes",
    (
        Column("bucket", "Bucket", NAME),
        Column("name", "Name", NAME),
        Column("operation", "Op", WORD),
        Column("mtime", "Time", TIME),
        Column("size", "Size", BYTES),
        Column("chunks", "Chunks", NUMBER),
    ),
)


@click.command(cls=Command)
@output.listing(CHANGES)
@BUCKET
async def watch(bucket: str) -> None:
    """Show the objects of a bucket, and then each change, until Ctrl-C."""
    one_by_one()
    async with connect() as connection:

        async def opened(_again: bool) -> tuple[OrderedConsumer, Show]:
            store = await open_bucket(connection, bucket)
            return store.reader(EVERYTHING, outage_seconds=None), _show

        await follow(connection, bucket, opened)


def _show(message: StoredMessage) -> None:
    try:
        entry = read_entry(message)
    except CliError as error:
        warn(" ".join((error.message, *error.hints)))
        return
    operation = "DEL" if entry.deleted else "PUT"
    word = styled(operation, "red" if entry.deleted else "green")
    line = f"[{moment(entry.mtime)}] {word} {clean(entry.bucket)} > {clean(entry.name)}"
    if not entry.deleted:
        line += f": {render.size(entry.size)} bytes in {render.number(entry.chunks)} chunks"
    fields = ("bucket", "name", "size", "chunks")
    record = {name: getattr(entry, name) for name in fields}
    record |= {"operation": operation, "mtime": format_exact(entry.mtime)}
    show_change(CHANGES, record, line)
