"""`pyjs reply`: answers requests with a text, an echo of the request, or a command's output."""

from __future__ import annotations

import asyncio
import random

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import UsageError
from ...cli.param import DURATION
from .answers import Answers
from .body import HEADER, flat, header_lines, parse_headers

QUEUE = "NATS-RPLY-22"
SECOND = 1_000_000_000


@click.command(cls=Command)
@click.argument("subject")
@click.argument("body", required=False, default=None)
@click.option("--echo", is_flag=True, help="Answer with what the request holds.")
@click.option(
    "--command",
    metavar="COMMAND",
    help="Answer with this command's output. {{0}} is the first token, {{Request}} the body.",
)
@click.option("-q", "--queue", default=QUEUE, show_default=True, help="Queue group to answer in.")
@click.option(
    "--sleep", type=DURATION, default=0, metavar="MAX", help="Wait up to this long before an answer."
)
@HEADER
@click.option("--count", type=click.IntRange(min=0), default=0, help="End after this many requests.")
async def reply(
    subject: str,
    body: str | None,
    echo: bool,
    command: str | None,
    queue: str,
    sleep: int,
    headers: tuple[str, ...],
    count: int,
) -> None:
    """Answer the requests of a subject, until Ctrl-C or --count."""
    ways = sum((body is not None, echo, command is not None))
    if ways > 1:
        raise UsageError("requests are answered in one way only", "give a body, --echo or --command")
    if not ways:
        render.log("No body or command supplied, enabling echo mode")
    answers = Answers(body, command, flat(parse_headers(headers)))
    async with connect() as connection:
        received = await connection.nc.subscribe(subject, queue)
        await connection.nc.flush(connection.timeout)
        render.log(f'Listening on "{subject}" in group "{queue}"')
        number = 0
        async for message in received.messages:
            render.log(f'[#{number}] Received on subject "{message.subject}":')
            render.show(header_lines(message) + "\n" + message.data.decode(errors="replace"))
            number += 1
            if sleep:
                await asyncio.sleep(random.uniform(0, sleep / SECOND))
            if message.reply:
                answer = await answers.to(message, number - 1)
                await connection.nc.publish(message.reply, answer.data, headers=answer.headers or None)
                await connection.nc.flush(connection.timeout)
            if count and number >= count:
                return
