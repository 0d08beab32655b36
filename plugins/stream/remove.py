"""`pyjs stream purge`, `rm`, `rmm` and `seal`, which cannot be undone. Each asks first unless `--force`."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, prompt, render
from ...cli.command import FORCE, RequestCommand
from ...cli.connection import connect
from ...cli.errors import RemoteError, UsageError
from . import page
from .info import ALL, STREAM, chosen, plain


@click.command(cls=RequestCommand)
@output.showing("stream_info")
@STREAM
@FORCE
@click.option("--subject", default="", metavar="SUBJECT", help="Only messages of this subject.")
@click.option("--seq", type=click.IntRange(min=1), help="Only messages before this sequence.")
@click.option("--keep", type=click.IntRange(min=1), help="Keep this many messages.")
@ALL
async def purge(
    stream: str,
    force: bool,
    subject: str,
    seq: int | None,
    keep: int | None,
    all_streams: bool,
) -> None:
    """Remove messages from a Stream: all, or by subject, sequence, number to keep."""
    if seq and keep:
        raise UsageError("sequence and keep cannot be combined when purging")
    query: dict[str, Any] = {"filter": subject, "seq": seq, "keep": keep}
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        await connection.js.stream_info(name)
        if not await prompt.sure(f"Really purge Stream {name}", forced=force):
            return
        request = {key: value for key, value in query.items() if value}
        try:
            answer = await connection.js.request(f"STREAM.PURGE.{name}", request or None)
        except RemoteError as error:
            raise error.while_doing("could not purge Stream") from None
        info = await connection.js.stream_info(name)
    purged = f"Purged {render.number(answer.get('purged', 0))} messages from {name}"
    output.show_page(plain(info), f"{purged}\n\n{page.state_text(info)}", name=name)


@click.command(cls=RequestCommand)
@STREAM
@FORCE
@ALL
async def rm(stream: str, force: bool, all_streams: bool) -> None:
    """Delete a Stream and all its messages."""
    if force and not stream:
        raise UsageError("--force requires a stream name", "give it as <STREAM>")
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        if not force:
            await connection.js.stream_info(name)
        if not await prompt.sure(f"Really delete Stream {name}", forced=force):
            return
        try:
            await connection.js.request(f"STREAM.DELETE.{name}")
        except RemoteError as error:
            explained = await connection.js.explained(error, stream=name)
            raise explained.while_doing("could not remove Stream") from None


@click.command(cls=RequestCommand)
@STREAM
@click.argument("sequence", metavar="[ID]", required=False, type=click.IntRange(min=1))
@FORCE
@ALL
async def rmm(stream: str, sequence: int | None, force: bool, all_streams: bool) -> None:
    """Erase one message of a Stream."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        number = sequence or await prompt.text(
            "Message Sequence to remove", flag="<ID>", required=True, check=_positive
        )
        await connection.js.stream_info(name)
        if not await prompt.sure(f"Really remove message {number} from Stream {name}", forced=force):
            return
        try:
            await connection.js.request(f"STREAM.MSG.DELETE.{name}", {"seq": number})
        except RemoteError as error:
            raise error.while_doing(f"could not remove message {number} of {name}") from None


def _positive(answer: str) -> int:
    if not answer.isdecimal() or int(answer) < 1:
        raise ValueError("a positive message ID is required")
    return int(answer)


@click.command(cls=RequestCommand)
@STREAM
@FORCE
@ALL
async def seal(stream: str, force: bool, all_streams: bool) -> None:
    """Make a Stream read-only; it can never be changed or unsealed again."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        config = (await connection.js.stream_info(name))["config"]
        question = f"Really seal Stream {name}, sealed streams can not be unsealed or modified"
        if not await prompt.sure(question, forced=force):
            return
        try:
            await connection.js.request(f"STREAM.UPDATE.{name}", {**config, "sealed": True})
        except RemoteError as error:
            raise error.while_doing("could not seal Stream") from None
        info = await connection.js.stream_info(name)
    render.show(page.text(info))
