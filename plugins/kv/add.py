"""`pyjs kv add` and `pyjs kv edit`: buckets made and changed."""

from __future__ import annotations

from typing import Any

import click

from ...cli import document, output
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import RefusedError, RemoteError, warn
from ...cli.proposal import in_hint
from ...cli.setting import flags
from ...protocol.api.stream import StreamConfig
from ...protocol.buckets.config import KeyValueConfig, ObjectStoreConfig
from ...protocol.buckets.key_value import bucket_name
from ..stream.leadership import gathered, stream_asset
from . import page
from .bucket import open_bucket
from .lookup import validated
from .settings import SETTINGS, apply
from .values import BUCKET

NAME_TAKEN = 10058


@click.command(cls=Command)
@output.showing("kv_bucket")
@click.argument("bucket")
@flags(SETTINGS, "add")
async def add(bucket: str, **given: Any) -> None:
    """Create a bucket."""
    config = KeyValueConfig(bucket=bucket)
    apply(config, given)
    stream = stream_config(config)
    async with connect() as connection:
        if config.marker_ttl:
            await require_key_ttls(connection)
        page.show(await create_stream(connection, stream, f"{in_hint(f'kv edit {bucket}')} changes it"))


@click.command(cls=Command)
@output.showing("kv_bucket")
@BUCKET
@flags(SETTINGS, "edit")
async def edit(bucket: str, **given: Any) -> None:
    """Change a bucket's settings; what no flag gives stays as it is."""
    async with connect() as connection:
        store = await open_bucket(connection, bucket)
        before = document.without_reserved(StreamConfig.from_json(store.config))
        config = KeyValueConfig.of(before)
        apply(config, given)
        if config.marker_ttl and not before.allow_msg_ttl:
            await require_key_ttls(connection)
        info = await update_stream(connection, stream_config(config, before))
    if before.mirror is not None and config.mirror is None:
        origin = bucket_name(before.mirror.name)
        warn(f"what {bucket} copied from {origin} keeps the subjects of {origin}: it cannot be read any more")
    page.show(info)


def stream_config(
    config: KeyValueConfig | ObjectStoreConfig, base: StreamConfig | None = None
) -> StreamConfig:
    """Return the configuration of a bucket's stream. Raises CliError for invalid settings."""
    with validated():
        return config.stream(base)


async def require_key_ttls(connection: NatsConnection) -> None:
    """Raise CliError if the server cannot let keys expire one by one."""
    if await connection.js.level() < 1:
        raise RefusedError(
            "nats: limit marker TTLs not supported by server",
            f"the server, version {connection.greeting.get('version', '?')}, has JetStream's API level 0",
        )


async def create_stream(connection: NatsConnection, config: StreamConfig, taken: str) -> dict[str, Any]:
    """Create the stream of a bucket, and return its information.

    taken: what to do about a bucket of the same name with other settings.
    """
    try:
        info = await connection.js.request(f"STREAM.CREATE.{config.name}", config.to_json())
    except RemoteError as error:
        if error.err_code == NAME_TAKEN:
            raise error.while_doing("nats: bucket name already in use", taken) from None
        raise error.while_doing("could not create the bucket") from None
    return await gathered(stream_asset(connection, config.name), info)


async def update_stream(connection: NatsConnection, config: StreamConfig) -> dict[str, Any]:
    """Change the stream of a bucket, and return its information."""
    try:
        info = await connection.js.request(f"STREAM.UPDATE.{config.name}", config.to_json())
    except RemoteError as error:
        raise error.while_doing("could not change the bucket") from None
    return await gathered(stream_asset(connection, config.name), info)
