"""`pyjs object info`: a bucket's settings and state, or an object."""

from __future__ import annotations

import click

from ...cli import complete, output
from ...cli.command import Command
from ...cli.connection import connect
from . import page
from .bucket import open_bucket


@click.command(cls=Command)
@output.showing("object_bucket or object")
@click.argument("bucket", required=False, default="", shell_complete=complete.object_buckets)
@click.argument("name", metavar="[FILE]", required=False, default="")
async def info(bucket: str, name: str) -> None:
    """Show a bucket's settings and state, or what is known of an object."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        entry = await store.existing(name) if name else None
    if entry is None:
        page.show_bucket(store.info)
    else:
        page.show_object(entry, store.name)
