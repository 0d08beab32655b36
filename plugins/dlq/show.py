"""`pyjs dlq show`: a dead letter with its message."""

from __future__ import annotations

import sys

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import NotFoundError
from ...cli.output.cells import clean
from ...cli.proposal import in_hint
from ..kv.text import encoding, moment, printable
from .letter import GONE, DeadLetter, document
from .message import RawMessage
from .queue import STREAM, open_queue
from .selection import LetterSelection


@click.command(cls=Command)
@output.showing("dead_letter")
@STREAM
@click.argument("letter_id", metavar="ID", type=click.IntRange(min=1))
@click.option("--raw", is_flag=True, help="Write only the message's body, unchanged.")
async def show(stream: str, letter_id: int, raw: bool) -> None:
    """Show a dead letter: what happened, and the message as it was published."""
    selection = LetterSelection(ids=(letter_id,))
    async with connect() as connection:
        queue = await open_queue(connection, stream)
        letters = await queue.letters(selection)
        selection.check_found(letters, stream)
        (letter,) = letters
        message = await queue.message(letter)
    if raw:
        if message is None:
            raise gone(letter)
        sys.stdout.buffer.write(message.data)
        sys.stdout.buffer.flush()
        return
    record = {
        **document(letter),
        "headers": {} if message is None else message.headers,
        "data": "" if message is None else printable(message.data),
        "encoding": "" if message is None else encoding(message.data),
    }
    output.show_page(record, _page(letter, message), name=str(letter.id))


def gone(letter: DeadLetter) -> NotFoundError:
    """Return the error for a letter whose message is gone."""
    event = letter.event
    return NotFoundError(
        f"the message of the dead letter {letter.id} is gone",
        f"message {event.sequence} has left {event.stream}, and only an advisory about it was stored",
        f"{in_hint(f'dlq add {event.stream} --copy')} keeps those to come in a mirror",
    )


def _page(letter: DeadLetter, message: RawMessage | None) -> str:
    event = letter.event
    rows: list[tuple[str, object]] = [
        ("Given Up", moment(letter.time)),
        ("Reason", f"{event.reason}: {clean(event.detail)}" if event.detail else event.reason),
        ("Consumer", f"{event.stream} > {event.consumer}"),
        ("Deliveries", event.deliveries),
        ("Sequence", event.sequence),
        ("Message", letter.where),
    ]
    if message is None:
        rows[-1] = ("Message", f"{GONE}: it left {event.stream}, and the server had stored an advisory only")
    else:
        rows[-1:-1] = [("Subject", clean(message.subject)), ("Published", moment(message.time))]
        rows.append(("Size", render.size(len(message.data))))
    lines = [f"Dead letter {letter.id} of {event.stream}", "", render.fields(rows, 12), ""]
    if message is None:
        return "\n".join(lines)
    shown = [f"{clean(name)}: {clean(value)}" for name, values in message.headers.items() for value in values]
    return "\n".join([*lines, *shown, *([""] if shown else []), printable(message.data), ""])
