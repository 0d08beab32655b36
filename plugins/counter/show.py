"""`pyjs counter get`, `view` and `list`: what counters have counted."""

from __future__ import annotations

import click

from ...cli import complete, output, render
from ...cli.command import RequestCommand
from ...cli.connection import connect
from ...cli.errors import NotFoundError, UsageError
from ...cli.output import NAME, Column, Table
from .counters import check_subject, counter_stream, read

COUNTERS = Table("counters", "Counters", (Column("subject", "Subject", NAME),), key="subject")
SUBJECT = click.argument("subject")
STREAM = click.option(
    "--stream", default="", shell_complete=complete.streams, help="The Stream that has the counter."
)


@click.command(cls=RequestCommand)
@output.showing("counter_value")
@SUBJECT
@STREAM
async def get(subject: str, stream: str) -> None:
    """Show the value of a counter."""
    check_subject(subject)
    async with connect() as connection:
        name = str((await counter_stream(connection, stream, subject))["config"]["name"])
        found = await read(connection, name, subject)
    document = {"stream": name, "subject": subject, "value": found.value, "increment": found.increment}
    output.show_page(document, found.value, name=subject)


@click.command(cls=RequestCommand)
@output.showing("counter")
@SUBJECT
@STREAM
async def view(subject: str, stream: str) -> None:
    """Show a counter with the last increment, and with what each source has added."""
    check_subject(subject)
    async with connect() as connection:
        name = str((await counter_stream(connection, stream, subject))["config"]["name"])
        found = await read(connection, name, subject)
    pairs = [("Stream", name), ("Value", found.value), ("Increment", found.increment)]
    lines = [f"Counter {subject}", "", render.fields(pairs), ""]
    if found.sources:
        sources = [
            (f"{origin} > {at}", value)
            for origin, each in found.sources.items()
            for at, value in each.items()
        ]
        lines += ["Sources:", "", render.fields(sources), ""]
    else:
        lines += ["No source information found", ""]
    document = {"stream": name, "subject": subject, **found._asdict()}
    output.show_page(document, "\n".join(lines), name=subject)


@click.command("list", cls=RequestCommand)
@output.listing(COUNTERS, legacy="the subjects")
@click.argument("subject", required=False, default="")
@STREAM
async def list_counters(subject: str, stream: str) -> None:
    """List the counters of a Stream, or of the one that has SUBJECT, which may have wildcards."""
    if not stream and not subject:
        raise UsageError("no stream or subject specified", "name one: 'counter list --stream VOTES'")
    async with connect() as connection:
        info = await counter_stream(connection, stream, subject)
        name = str(info["config"]["name"])
        found = sorted(await connection.js.subjects(name, subject or ">"))
    if not found:
        output.show_none(COUNTERS)
        raise NotFoundError("no counters found", f"{name} has none for {subject}" if subject else "")
    if not output.is_asked_for():
        render.show("\n".join(found))
        return
    output.show(COUNTERS.of([{"subject": each} for each in found]), document=found)
