"""`pyjs kv info`: a bucket's settings and state."""

from __future__ import annotations

import click

from ...cli import complete, output
from ...cli.command import RequestCommand
from ...cli.connection import connect
from . import page
from .bucket import open_bucket


@click.command(cls=RequestCommand)
@output.showing("kv_bucket")
@click.argument("bucket", required=False, default="", shell_complete=complete.key_value_buckets)
async def info(bucket: str) -> None:
    """Show a bucket's settings and state."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
    page.show(store.info)
