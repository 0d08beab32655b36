"""`pyjs stream add`: create a stream by questions, flags or a document."""

from __future__ import annotations

from typing import Any

import click

from ...cli import document, output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RemoteError
from ...cli.setting import Given, flags
from ...protocol.api.stream import StreamConfig
from . import origin, page, questions, validation
from .info import plain
from .leadership import gathered, stream_asset
from .options import SETTINGS, apply


@click.command(cls=Command)
@output.showing("stream_info")
@click.argument("stream", required=False, default="")
@click.option("--config", "file", type=click.Path(), help="Read the configuration from a JSON file.")
@click.option("--validate", is_flag=True, help="Only validate the configuration; create nothing.")
@click.option("--output", "into", metavar="FILE", help="Only write the configuration to a file.")
@flags(SETTINGS, "add")
@click.option("--defaults", is_flag=True, help="Take the default for what no flag gives.")
async def add(
    stream: str,
    file: str | None,
    validate: bool,
    into: str | None,
    defaults: bool,
    **given: Any,
) -> None:
    """Create a Stream. What no flag gives is asked."""
    async with connect() as connection:
        config = await described(connection, stream, file, given, defaults)
        if validate or into:
            validation.validate(config)
        if validate:
            render.show(document.text(config))
            render.show(f"\nConfiguration is a valid Stream matching {validation.SCHEMA}")
            return
        if into:
            document.write(into, config)
            return
        await create(connection, config)


async def described(
    connection: NatsConnection, stream: str, file: str | None, given: Given, defaults: bool
) -> StreamConfig:
    """Return the configuration given by a file, or by flags and answers."""
    if file:
        config = document.read(StreamConfig, file)
        config.name = stream or config.name
        overlay = ("subjects", "tag", "tags", "cluster", "description", "replicas")
        apply(config, {name: given.get(name) for name in overlay})
        return config
    config = StreamConfig(
        name=stream, max_consumers=-1, max_msgs=-1, max_bytes=-1, max_msgs_per_subject=-1, max_msg_size=-1
    )
    config.num_replicas = 1
    config.allow_direct = True
    apply(config, given)
    required = not given.get("max_bytes") and await requires_size(connection)
    await questions.ask(config, given, requires_size=required, defaults=defaults)
    await origin.resolve(config, given, defaults=defaults)
    return document.without_reserved(config)


async def requires_size(connection: NatsConnection) -> bool:
    """Return whether the account demands a maximum size; False if unknown, since creating then reports it."""
    try:
        info = await connection.js.request("INFO")
    except CliError:
        return False
    return bool((info.get("limits") or {}).get("max_bytes_required"))


async def create(connection: NatsConnection, config: StreamConfig) -> None:
    """Create a stream and show it."""
    name = config.name
    validation.validate_name(name)
    try:
        info = plain(await connection.js.request(f"STREAM.CREATE.{name}", config.to_json()))
    except RemoteError as error:
        raise error.while_doing("could not create Stream") from None
    info = await gathered(stream_asset(connection, name), info)
    text = f"Stream {name} was created\n\n{page.text(info, created=True)}"
    output.show_page(info, text, name=name)
