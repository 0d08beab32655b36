"""`pyjs consumer reset` and `unpin`: where a consumer continues, and which client it is bound to."""

from __future__ import annotations

import click

from ...cli import prompt, render
from ...cli.command import FORCE, Command
from ...cli.connection import connect
from ...cli.errors import CliError, NotFoundError, RemoteError, close_matches
from ..stream.info import ALL, STREAM
from . import page
from .info import CONSUMER, chosen


@click.command(cls=Command)
@STREAM
@CONSUMER
@click.option("--sequence", type=click.IntRange(min=0), default=0, help="Go on with this stream sequence.")
@FORCE
@ALL
async def reset(stream: str, consumer: str, sequence: int, force: bool, all_streams: bool) -> None:
    """Set a Consumer back: to its acknowledgement floor, or to a stream sequence."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        await connection.js.consumer_info(stream, consumer)
        if not await prompt.sure("Really reset the consumer", forced=force):
            return
        try:
            await connection.js.request(
                f"CONSUMER.RESET.{stream}.{consumer}", {"seq": sequence} if sequence else None
            )
        except RemoteError as error:
            raise error.while_doing("could not reset Consumer") from None
        info = await connection.js.consumer_info(stream, consumer)
    render.show(page.state_text(info))


@click.command(cls=Command)
@STREAM
@CONSUMER
@click.argument("group", required=False, default="")
@FORCE
@ALL
async def unpin(stream: str, consumer: str, group: str, force: bool, all_streams: bool) -> None:
    """Release the client that a priority group is pinned to."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        info = await connection.js.consumer_info(stream, consumer)
        if info["config"].get("priority_policy") != "pinned_client":
            raise CliError("consumer is not a pinned priority consumer")
        pinned = {
            each["group"]: each["pinned_client_id"]
            for each in info.get("priority_groups") or []
            if each.get("pinned_client_id")
        }
        if not pinned:
            raise CliError("no priority groups have pinned clients")
        group = await prompt.pick("Group", sorted(pinned), given=group, argument="<GROUP>")
        if group not in pinned:
            raise NotFoundError(f'no client is pinned to the group "{group}"', close_matches(group, pinned))
        question = f"Really unpin client from group {stream} > {consumer} > {group}"
        if not await prompt.sure(question, forced=force):
            return
        try:
            await connection.js.request(f"CONSUMER.UNPIN.{stream}.{consumer}", {"group": group})
        except RemoteError as error:
            raise error.while_doing("could not unpin") from None
    render.show(f"Unpinned client {pinned[group]} from Priority Group {stream} > {consumer} > {group}")
