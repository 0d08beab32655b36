"""`pyjs consumer info` and `pyjs consumer state`, and choosing the consumer that a command works on."""

from __future__ import annotations

from typing import Any

import click

from ...cli import complete, output, prompt
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import NotFoundError, UsageError
from ..stream.info import ALL, STREAM, plain
from ..stream.info import chosen as chosen_stream
from . import page

CONSUMER = click.argument("consumer", required=False, default="", shell_complete=complete.consumers)
NO_SELECT = click.option("--no-select", is_flag=True, help="Do not offer a list to choose from.")


async def chosen(
    connection: NatsConnection, stream: str, consumer: str, *, everything: bool = False
) -> tuple[str, str]:
    """Return the stream and the consumer to work on: those given, else those chosen from lists."""
    stream = await chosen_stream(connection, stream, everything=everything)
    if consumer:
        return stream, consumer
    if not prompt.interactive():
        return stream, await prompt.pick("Consumer", ["…"], argument="<CONSUMER>")
    await connection.js.stream_info(stream)
    names = await connection.js.consumer_names(stream)
    if not names:
        raise NotFoundError(f"no Consumers are defined for Stream {stream}")
    return stream, await prompt.pick("Consumer", names, argument="<CONSUMER>")


async def _loaded(stream: str, consumer: str, *, select: bool, everything: bool) -> dict[str, Any]:
    if not select and not (stream and consumer):
        raise UsageError(
            "no Stream name supplied" if not stream else "no Consumer name supplied",
            "give it as " + ("<STREAM>" if not stream else "<CONSUMER>"),
        )
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=everything)
        return plain(await connection.js.consumer_info(stream, consumer))


@click.command(cls=RequestCommand)
@output.showing("consumer_info")
@STREAM
@CONSUMER
@NO_SELECT
@ALL
async def info(stream: str, consumer: str, no_select: bool, all_streams: bool) -> None:
    """Show a Consumer's configuration and state."""
    found = await _loaded(stream, consumer, select=not no_select, everything=all_streams)
    output.show_page(found, page.text(found), name=found["name"])


@click.command(cls=RequestCommand)
@output.showing("consumer_info")
@STREAM
@CONSUMER
@NO_SELECT
@ALL
async def state(stream: str, consumer: str, no_select: bool, all_streams: bool) -> None:
    """Show a Consumer's state only."""
    found = await _loaded(stream, consumer, select=not no_select, everything=all_streams)
    output.show_page(found, page.state_text(found), name=found["name"])
