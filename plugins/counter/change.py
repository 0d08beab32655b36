"""`pyjs counter increment` and `decrement`: add to a counter, or subtract from it."""

from __future__ import annotations

import click

from ...cli import output
from ...cli.command import RequestCommand
from ...cli.connection import connect
from .counters import add, check_subject, counter_stream, whole

NEGATIVE = {"ignore_unknown_options": True}  # so that -5 is a value


@click.command(cls=RequestCommand, context_settings=NEGATIVE)
@output.showing("counter_value")
@click.argument("subject")
@click.argument("value")
async def increment(subject: str, value: str) -> None:
    """Add VALUE to a counter, and show what it is now."""
    await _change(subject, whole(value))


@click.command(cls=RequestCommand, context_settings=NEGATIVE)
@output.showing("counter_value")
@click.argument("subject")
@click.argument("value")
async def decrement(subject: str, value: str) -> None:
    """Subtract VALUE from a counter, and show what it is now."""
    number = whole(value)
    await _change(subject, number[1:] if number.startswith("-") else f"-{number}")


async def _change(subject: str, number: str) -> None:
    check_subject(subject)
    async with connect() as connection:
        stream = str((await counter_stream(connection, "", subject))["config"]["name"])
        ack = await add(connection, subject, number)
    document = {"stream": stream, "subject": subject, "value": ack.value, "increment": number}
    output.show_page(document, ack.value, name=subject)
