"""`pyjs stream edit` and `pyjs stream copy`: a configuration made from another one."""

from __future__ import annotations

from typing import Any

import click

from ...cli import complete, document, output, prompt
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import ExitCode, RemoteError, UsageError, warn
from ...cli.setting import Given, flags
from ...protocol.api.stream import StreamConfig
from ...provision.defaults import stream_defaults
from . import page
from .add import create
from .info import ALL, STREAM, chosen, plain
from .leadership import gathered, steady, stream_asset
from .options import SETTINGS, apply


@click.command(cls=Command)
@output.showing("stream_info")
@click.argument("original", metavar="SOURCE", shell_complete=complete.streams)
@click.argument("destination")
@flags(SETTINGS, "copy")
async def copy(original: str, destination: str, **given: Any) -> None:
    """Create a Stream from another one's configuration and the flags given."""
    _refuse_origins(given)
    async with connect() as connection:
        config = _config_of(await connection.js.stream_info(original))
        config.name = destination
        if config.sealed:
            _unseal(config)
            warn(f"{original} is sealed; {destination} is not, and allows deletes and purges")
        apply(config, given)
        await create(connection, config)


def _unseal(config: StreamConfig) -> None:
    """Undo what sealing has set, since no stream is made sealed. Its age and discard policy are not known."""
    config.sealed = config.deny_delete = config.deny_purge = False


@click.command(cls=Command)
@output.showing("stream_info")
@STREAM
@click.option("--config", "file", type=click.Path(), help="Read the whole configuration from a JSON file.")
@click.option("-f", "--force", is_flag=True, help="Change it without asking.")
@click.option("-i", "--interactive/--no-interactive", default=False, help="Edit it in $EDITOR.")
@click.option("--dry-run", is_flag=True, help="Only show differences; exit 5 if there are any.")
@flags(SETTINGS, "edit")
@ALL
async def edit(
    stream: str,
    file: str | None,
    force: bool,
    interactive: bool,
    dry_run: bool,
    all_streams: bool,
    **given: Any,
) -> int:
    """Change a Stream's configuration by flags, a file or an editor."""
    _refuse_origins(given)
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        found = await connection.js.stream_info(name)
        config = _config_of(found)
        before = document.text(config)
        config = _changed(config, name, file, interactive, given)
        lines = document.differences(before, document.text(config))
        if not lines:
            output.show_page(plain(found), "No difference in configuration", name=name)
            return ExitCode.OK
        click.echo("Differences (-old +new):\n" + "\n".join(lines), err=not output.is_for_people())
        if dry_run:
            return ExitCode.DIFFERS
        if not await prompt.sure(f"Really edit Stream {name}", forced=force):
            return ExitCode.OK
        try:
            await connection.js.request(f"STREAM.UPDATE.{name}", config.to_json())
        except RemoteError as error:
            raise error.while_doing(f"could not edit Stream {name}") from None
        changed = stream_asset(connection, name)
        info = await gathered(changed, await steady(changed))
    output.show_page(plain(info), f"Stream {name} was updated\n\n{page.text(info)}", name=name)
    return ExitCode.OK


def _refuse_origins(given: Given) -> None:
    if given.get("mirror") or given.get("source"):
        raise UsageError("cannot edit mirrors, or sources using the CLI, use --config instead")


def _config_of(info: dict[str, Any]) -> StreamConfig:
    return document.without_reserved(StreamConfig.from_json(info["config"]))


def _changed(
    config: StreamConfig, name: str, file: str | None, interactive: bool, given: Given
) -> StreamConfig:
    if file:
        read = document.read(StreamConfig, file)
        read.name = read.name or name
        # A value that is merely not written would otherwise be reported as a change.
        return stream_defaults(read, lambda _: None)
    if interactive:
        return document.edited(config, f"stream-{config.name}-")
    apply(config, given)
    return config
