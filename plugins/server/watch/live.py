"""A view that listens: messages come as they are published, and a table is drawn every second.

Promises: what is not a JSON object is left out. A server that sends nothing for 35 s, which is longer than
servers wait between two reports, counts no more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from ....cli import output, words
from ....cli.connection import connect
from ....cli.output import FilledTable
from ....cli.output.cells import clean
from ....cli.output.extent import size
from ....cli.output.terminal import is_terminal
from ....cli.output.watch import repeated
from ....cli.proposal import typed_line

Record = dict[str, Any]
Hear = Callable[[Any], None]
SECOND = 1.0
SILENT_SECONDS = 35.0
FRAME_LINES = 9  # of a table, beside its rows, and of the heading above it
NUMBER = click.option(
    "-n", "--number", type=click.IntRange(min=0), default=0, help="Rows to show (0: what the screen holds)."
)


class LatestDocuments:
    """The latest document of each sender."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._found: dict[tuple[str, ...], tuple[float, Record]] = {}

    def keep(self, document: Record, *key: str) -> None:
        """Keep a document in place of the one before from the same sender."""
        self._found[key] = self._now(), document

    def documents(self) -> list[Record]:
        """Return what was heard lately."""
        oldest = self._now() - SILENT_SECONDS
        self._found = {key: each for key, each in self._found.items() if each[0] > oldest}
        return [document for _, document in self._found.values()]


def document_of(message: Any) -> Record:
    """Return the JSON object of a message; an empty one if it has none."""
    try:
        found = json.loads(message.data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def flow(direction: str) -> Callable[[Any], str]:
    """Return what makes a cell of the messages and bytes that were `sent` or `received`."""
    return lambda each: (
        f"{words.number(each[f'{direction}_msgs'])} / {words.size(each[f'{direction}_bytes'])}"
    )


def flows(document: Record) -> Record:
    """Return the messages and bytes that a document counts, by the fields of the tables."""
    return {
        f"{direction}_{unit}": (document.get(direction) or {}).get(unit, 0)
        for direction in ("sent", "received")
        for unit in ("msgs", "bytes")
    }


def room(number: int) -> int | None:
    """Return how many rows are shown; None for all.

    number: as many as the user asked for; 0 for what the screen holds.
    """
    if not is_terminal():
        return number or None
    most = max(1, size().lines - FRAME_LINES)
    return min(number, most) if number else most


def top(shown: int, known: int) -> str:
    """Return how many of the known rows are shown, for a title."""
    return f"Top {shown}" if shown == known else f"Top {shown} / {known}"


async def follow(
    subjects: Sequence[str], hear: Hear, rows: Callable[[], FilledTable], *, ask: str = ""
) -> None:
    """Listen on subjects and draw a table every second until Ctrl-C.

    ask: a subject whose answers are heard, too, so that something is shown at once.
    """
    async with connect() as connection:

        async def received(message: Any) -> None:
            hear(message)

        for subject in subjects:
            await connection.nc.subscribe(subject, cb=received)
        if ask:
            inbox = connection.nc.new_inbox()
            await connection.nc.subscribe(inbox, cb=received)
            await connection.nc.publish(ask, b"", inbox)
        await connection.nc.flush(connection.timeout)

        async def report() -> None:
            output.show(rows())

        await repeated(report, clean(typed_line()), SECOND)
