"""`pyjs object add` and `pyjs object edit`: buckets made and changed."""

from __future__ import annotations

from typing import Any

import click

from ...cli import document, output
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.proposal import in_hint
from ...cli.setting import flags
from ...protocol.api.stream import StreamConfig
from ...protocol.buckets.config import ObjectStoreConfig
from ..kv.add import create_stream, stream_config, update_stream
from ..kv.settings import SHARED, apply_shared
from . import page
from .bucket import BUCKET, open_bucket


@click.command(cls=Command)
@output.showing("object_bucket")
@click.argument("bucket")
@flags(SHARED, "add")
async def add(bucket: str, **given: Any) -> None:
    """Create a bucket."""
    config = ObjectStoreConfig(bucket=bucket)
    apply_shared(config, given)
    stream = stream_config(config)
    async with connect() as connection:
        page.show_bucket(
            await create_stream(connection, stream, f"{in_hint(f'object edit {bucket}')} changes it")
        )


@click.command(cls=Command)
@output.showing("object_bucket")
@BUCKET
@flags(SHARED, "edit")
async def edit(bucket: str, **given: Any) -> None:
    """Change a bucket's settings; what no flag gives stays as it is."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        before = document.without_reserved(StreamConfig.from_json(store.config))
        config = ObjectStoreConfig.of(before)
        apply_shared(config, given)
        page.show_bucket(await update_stream(connection, stream_config(config, before)))
