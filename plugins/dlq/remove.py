"""`pyjs dlq rm`: dead letters deleted, or no longer kept."""

from __future__ import annotations

from typing import Any

import click

from ...cli import prompt, render
from ...cli.command import FORCE, Command
from ...cli.connection import connect
from ...cli.errors import InterruptedRunError
from ...cli.loop import interruptions
from ...protocol import dead_letters
from . import page
from .queue import STREAM, Queue, open_queue
from .selection import FILTERS, IDS, LetterSelection, filters


@click.command("rm", cls=Command)
@STREAM
@IDS
@filters
@click.option("--all", "everything", is_flag=True, help="All dead letters of the Stream.")
@FORCE
async def remove(stream: str, ids: tuple[int, ...], everything: bool, force: bool, **given: Any) -> None:
    """Delete dead letters: by their ids, by filters or all.

    With none of these, no more are kept: the Streams DLQ_… and DLQCOPY_… are deleted, with all that they
    hold. `dlq stop` leaves them.
    """
    selection = LetterSelection.of(given, ids)
    async with connect() as connection:
        queue = await open_queue(connection, stream)
        if ids or everything or any(given[name] for name in FILTERS):
            await _delete_letters(queue, selection, force=force)
            return
        count = page.counted(await page.count(connection, queue.name))
        question = f"Keep no dead letters of {queue.source} any more, and delete what there is ({count})?"
        if not await prompt.sure(question, forced=force):
            render.show("Skipping delete")
            return
        await connection.js.request(f"STREAM.DELETE.{queue.name}")
        if await page.has_copy(connection, queue.source):
            await connection.js.request(f"STREAM.DELETE.{dead_letters.COPY_PREFIX}{queue.source}")


async def _delete_letters(queue: Queue, selection: LetterSelection, *, force: bool) -> None:
    letters = await queue.letters(selection)
    selection.check_found(letters, queue.source)
    count = page.counted(len(letters))
    if letters and not await prompt.sure(f"Delete {count} of {queue.source}?", forced=force):
        render.show("Skipping delete")
        return
    done = 0
    try:
        for letter in letters:
            await queue.remove(letter)
            done += 1
    except interruptions():
        raise InterruptedRunError(f"{render.number(done)} of {count} were deleted") from None
    render.show(f"Deleted {count} of {queue.source}")
