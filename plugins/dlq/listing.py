"""`pyjs dlq ls`: the streams whose dead letters are kept, or the letters of one."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import warn
from ...cli.output import BYTES, LIST, NAME, NUMBER, SPAN, TEXT, TIME, WORD, Column, Record, Table
from ...protocol import dead_letters
from ...protocol.dead_letters import STREAM_PREFIX
from ..stream.listing import collected, inaccessible
from . import page
from .letter import GONE, document
from .queue import STREAM, open_queue
from .selection import LetterSelection, filters

QUEUES = Table(
    "dead_letter_queues",
    "Dead Letters",
    (
        Column("stream", "Stream", NAME),
        Column("consumers", "Consumers", LIST),
        Column("letters", "Letters", NUMBER),
        Column("bytes", "Size", BYTES),
        Column("last_letter", "Last Letter", SPAN),
        Column("queue", "Kept In", NAME, wide=True),
    ),
    key="stream",
    empty="No dead letters are kept",
    spare=("bytes", "consumers"),
)


def _reason(record: Record) -> str:
    detail = str(record["detail"])
    return f"{record['reason']}: {detail}" if detail else str(record["reason"])


LETTERS = Table(
    "dead_letters",
    "Dead Letters",
    (
        Column("id", "ID", NUMBER, show=lambda record: str(record["id"])),
        Column("time", "Time", TIME),
        Column("consumer", "Consumer", NAME),
        Column("reason", "Reason", TEXT, show=_reason),
        Column("deliveries", "Deliveries", NUMBER),
        Column("subject", "Subject", NAME),
        Column("sequence", "Sequence", NUMBER, show=lambda record: str(record["sequence"])),
        Column("bytes", "Size", BYTES),
        Column("message", "Message", WORD),
        Column("detail", "Detail", TEXT, wide=True),
        Column("published", "Published", TIME, wide=True),
        Column("stream", "Stream", NAME, wide=True),
    ),
    key="id",
    empty="No dead letters found",
    spare=("bytes", "sequence", "message", "deliveries", "time"),
)


@click.command(cls=RequestCommand, needs_loop=lambda given: bool(given["stream"]))
@output.listing(QUEUES, alternative=(LETTERS,))
@STREAM
@filters
async def ls(stream: str, **given: Any) -> None:
    """List the Streams with dead letters; or the letters of a Stream, all or those that are selected."""
    selection = LetterSelection.of(given)
    async with connect() as connection:
        if not stream:
            await _show_queues(connection)
            return
        queue = await open_queue(connection, stream)
        letters = await queue.letters(selection)
    title = f"Dead Letters of {stream}"
    output.show(LETTERS.of([document(letter) for letter in letters], title=title))
    gone = sum(letter.where == GONE for letter in letters)
    if gone:
        warn(
            f"{page.counted(gone)} without a message: it has left {stream}, "
            "and the server had stored an advisory only"
        )


async def _show_queues(connection: NatsConnection) -> None:
    streams, missing = await collected(connection)
    records = []
    for info in streams:
        name = str(info["config"]["name"])
        source = dead_letters.source_of(name, info["config"].get("subjects") or [])
        if source:
            letters = await page.count(connection, name)
            records.append({**page.record_of(info, source), "letters": letters})
    absent = [name for name in missing if name.startswith(STREAM_PREFIX)]
    output.show(QUEUES.of(records), aside=inaccessible(absent))
