"""`pyjs stream info` and `pyjs stream state`."""

from __future__ import annotations

from typing import Any

import click

from ...cli import complete, output, prompt
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import UsageError
from . import page

STREAM = click.argument("stream", required=False, default="", shell_complete=complete.streams)


def _of_group_too(context: click.Context, _param: click.Parameter, value: bool) -> bool:
    """Return whether `--all` was given; it may come after `stream` as well."""
    return value or bool(context.parent and context.parent.params.get("all_streams"))


ALL = click.option(
    "-a",
    "--all",
    "all_streams",
    is_flag=True,
    callback=_of_group_too,
    help="Include Streams of KV and object stores.",
)
INTERNAL = ("KV_", "OBJ_", "MQTT_", "$MQTT_")


def is_internal(name: str) -> bool:
    """Return whether a stream belongs to a KV bucket, an object store or MQTT."""
    return name.startswith(INTERNAL)


async def chosen(connection: NatsConnection, given: str, *, everything: bool = False) -> str:
    """Return the stream to work on: the one given, else one chosen from a list."""
    if given:
        return given
    names = await connection.js.stream_names() if prompt.interactive() else ["…"]
    shown = [name for name in names if everything or not is_internal(name)]
    return await prompt.pick("Stream", shown, argument="<STREAM>")


async def loaded(
    connection: NatsConnection, given: str, *, select: bool = True, everything: bool = False
) -> dict[str, Any]:
    """Return the information of the stream given or chosen."""
    if not given and not select:
        raise UsageError("no Stream name supplied", "give it as <STREAM>")
    return await connection.js.stream_info(await chosen(connection, given, everything=everything))


@click.command(cls=RequestCommand)
@output.showing("stream_info")
@STREAM
@click.option("--state", "only_state", is_flag=True, help="Show only the state.")
@click.option("--no-select", is_flag=True, help="Do not offer a list to choose from.")
@ALL
async def info(stream: str, only_state: bool, no_select: bool, all_streams: bool) -> None:
    """Show a Stream's configuration and state."""
    async with connect() as connection:
        found = await loaded(connection, stream, select=not no_select, everything=all_streams)
    _show(found, only_state=only_state)


@click.command(cls=RequestCommand)
@output.showing("stream_info")
@STREAM
@click.option("--no-select", is_flag=True, help="Do not offer a list to choose from.")
@ALL
async def state(stream: str, no_select: bool, all_streams: bool) -> None:
    """Show a Stream's state only."""
    async with connect() as connection:
        found = await loaded(connection, stream, select=not no_select, everything=all_streams)
    _show(found, only_state=True)


def _show(found: dict[str, Any], *, only_state: bool) -> None:
    text = page.state_text(found) if only_state else page.text(found)
    output.show_page(plain(found), text, name=found["config"]["name"])


def plain(info: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the fields of the protocol: its type and paging."""
    return {key: value for key, value in info.items() if key not in ("type", "total", "offset", "limit")}
