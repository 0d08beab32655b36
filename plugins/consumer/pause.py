"""`pyjs consumer pause` and `resume`: suspending delivery for a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click

from ...cli import prompt, render
from ...cli.command import FORCE, RequestCommand
from ...cli.connection import connect
from ...cli.errors import CliError, RemoteError
from ...protocol.timestamp import format_rfc3339
from ..stream.info import ALL, STREAM
from .info import CONSUMER, chosen
from .options import until


@click.command(cls=RequestCommand)
@STREAM
@CONSUMER
@click.argument("moment", metavar="[UNTIL]", required=False, default="")
@FORCE
@ALL
async def pause(stream: str, consumer: str, moment: str, force: bool, all_streams: bool) -> None:
    """Deliver nothing until a time, or for a duration."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        await connection.js.consumer_info(stream, consumer)
        if not moment:
            offered = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%d %H:%M:%S}"
            moment = await prompt.text(
                "Pause until (time or duration)",
                flag="<UNTIL>",
                default=offered,
                required=True,
                check=_moment,
                explain=f"A duration such as 1h30m, or a time in UTC such as '{offered}'",
            )
        end = format_rfc3339(until(moment))
        question = f"Really pause Consumer {stream} > {consumer} until {render.when(end)}"
        if not await prompt.sure(question, forced=force):
            return
        try:
            answer = await connection.js.request(f"CONSUMER.PAUSE.{stream}.{consumer}", {"pause_until": end})
        except RemoteError as error:
            raise error.while_doing("could not pause Consumer") from None
    if not answer.get("paused"):
        raise CliError("consumer failed to pause, perhaps a time in the past was given")
    remaining = render.span(answer.get("pause_remaining", 0))
    render.show(f"Paused {stream} > {consumer} until {render.when(answer['pause_until'])} ({remaining})")


def _moment(answer: str) -> str:
    try:
        until(answer)
    except CliError as error:
        raise ValueError(error.message) from None
    return answer


@click.command(cls=RequestCommand)
@STREAM
@CONSUMER
@FORCE
@ALL
async def resume(stream: str, consumer: str, force: bool, all_streams: bool) -> None:
    """End a pause."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        info = await connection.js.consumer_info(stream, consumer)
        if not info.get("paused"):
            raise CliError("consumer is not paused")
        if not await prompt.sure(f"Really resume Consumer {stream} > {consumer}", forced=force):
            return
        try:
            await connection.js.request(f"CONSUMER.PAUSE.{stream}.{consumer}", {})
        except RemoteError as error:
            raise error.while_doing("could not resume Consumer") from None
    end = render.when(info["config"].get("pause_until", ""))
    render.show(f"Consumer {stream} > {consumer} was resumed while previously paused until {end}")
