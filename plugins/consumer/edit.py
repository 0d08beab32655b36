"""`pyjs consumer edit` and `pyjs consumer copy`: a configuration made from another one."""

from __future__ import annotations

from typing import Any

import click

from ...cli import complete, document, output, prompt
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import CliError, ExitCode, UsageError
from ...cli.setting import Given, flags
from ...protocol.api.consumer import ConsumerConfig
from ..stream.info import ALL, STREAM, plain
from . import page, validation
from .add import create
from .info import CONSUMER, chosen
from .options import SETTINGS, apply


@click.command(cls=Command)
@output.showing("consumer_info")
@click.argument("stream", shell_complete=complete.streams)
@click.argument("consumer", metavar="SOURCE", shell_complete=complete.consumers)
@click.argument("destination")
@flags(SETTINGS, "copy")
@ALL
async def copy(stream: str, consumer: str, destination: str, all_streams: bool, **given: Any) -> None:
    """Create a Consumer from another one's configuration and the flags given."""
    del all_streams  # nothing is chosen from a list here
    async with connect() as connection:
        config = _config_of(await connection.js.consumer_info(stream, consumer))
        config.pause_until = 0
        config.durable_name, config.name = destination, ""
        if given.get("ephemeral"):
            config.durable_name, config.name = "", destination
        _apply(config, given)
        if not config.deliver_subject:
            config.idle_heartbeat, config.flow_control, config.deliver_group = 0, False, ""
        validation.validate(config)
        info = plain(await create(connection, stream, config))
    output.show_page(info, page.text(info), name=info["name"])


@click.command(cls=Command)
@output.showing("consumer_info")
@STREAM
@CONSUMER
@click.option("--config", "file", type=click.Path(), help="Read the whole configuration from a JSON file.")
@click.option("-f", "--force", is_flag=True, help="Change it without asking.")
@click.option("-i", "--interactive/--no-interactive", default=False, help="Edit it in $EDITOR.")
@click.option("--dry-run", is_flag=True, help="Only show differences; exit 5 if there are any.")
@flags(SETTINGS, "edit")
@ALL
async def edit(
    stream: str,
    consumer: str,
    file: str | None,
    force: bool,
    interactive: bool,
    dry_run: bool,
    all_streams: bool,
    **given: Any,
) -> int:
    """Change a durable Consumer's configuration by flags, a file or an editor."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        found = await connection.js.consumer_info(stream, consumer)
        config = _config_of(found)
        if not config.durable_name:
            raise CliError("only durable consumers can be edited")
        before, wait = document.text(config), config.ack_wait
        config = _changed(config, file, interactive, given)
        if (
            given.get("backoff") != "none"
            and config.backoff
            and given.get("wait")
            and config.ack_wait != wait
        ):
            raise CliError("consumers with backoff policies do not support editing Ack Wait")
        lines = document.differences(before, document.text(config))
        if not lines:
            output.show_page(plain(found), "No difference in configuration", name=consumer)
            return ExitCode.OK
        click.echo("Differences (-old +new):\n" + "\n".join(lines), err=not output.is_for_people())
        if dry_run:
            return ExitCode.DIFFERS
        validation.validate(config)
        if not await prompt.sure(f"Really edit Consumer {stream} > {consumer}", forced=force):
            return ExitCode.OK
        info = plain(await create(connection, stream, config, "update"))
    output.show_page(info, page.text(info), name=consumer)
    return ExitCode.OK


def _config_of(info: dict[str, Any]) -> ConsumerConfig:
    return document.without_reserved(ConsumerConfig.from_json(info["config"]))


def _apply(config: ConsumerConfig, given: Given) -> None:
    try:
        apply(config, given)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _changed(config: ConsumerConfig, file: str | None, interactive: bool, given: Given) -> ConsumerConfig:
    if file:
        read = document.read(ConsumerConfig, file)
        read.durable_name = config.durable_name
        read.name = config.name
        return read
    if interactive:
        return document.edited(config, f"consumer-{config.durable_name}-")
    _apply(config, given)
    return config
