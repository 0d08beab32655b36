"""`pyjs dlq rm`: dead letters deleted, and if asked for, no longer kept."""

from __future__ import annotations

import shlex
from typing import Any

import click

from ...cli import prompt, render
from ...cli.command import FORCE, Command
from ...cli.connection import connect
from ...cli.errors import InterruptedRunError, UsageError
from ...cli.loop import interruptions
from ...cli.proposal import in_hint
from ...protocol import dead_letters
from . import page
from .queue import STREAM, Queue, open_queue
from .selection import FILTERS, IDS, LetterSelection, filters


@click.command("rm", cls=Command)
@STREAM
@IDS
@filters
@click.option("--all", "everything", is_flag=True, help="All dead letters of the Stream.")
@click.option(
    "--stop", is_flag=True, help="With --all: keep no more, and delete the Streams DLQ_… and DLQCOPY_…."
)
@FORCE
async def remove(
    stream: str, ids: tuple[int, ...], everything: bool, stop: bool, force: bool, **given: Any
) -> None:
    """Delete dead letters: by their ids, by filters or all. What is given up later is kept as before.

    With --all --stop no more are kept, either. `dlq stop` ends the keeping and leaves the letters.
    """
    selection = LetterSelection.of(given, ids)
    selected = bool(ids) or any(given[name] for name in FILTERS)
    if not selected and not everything:
        raise UsageError(
            "nothing says which dead letters to delete",
            "give ids, a filter such as --until 7d, or --all",
            "--all --stop also ends the keeping, 'dlq stop' ends it and leaves the letters",
        )
    if stop and (selected or not everything):
        raise UsageError("--stop deletes every dead letter: it needs --all, and no ids or filters")
    async with connect() as connection:
        queue = await open_queue(connection, stream)
        await (_end if stop else _delete_letters)(queue, selection, force=force)


async def _end(queue: Queue, _selection: LetterSelection, *, force: bool) -> None:
    """Delete the streams with the letters and with copies of messages."""
    connection, count = queue.connection, page.counted(await page.count(queue.connection, queue.name))
    question = f"Keep no dead letters of {queue.source} any more, and delete what there is ({count})?"
    if not await prompt.sure(question, forced=force):
        render.show("Skipping delete")
        return
    copied = await page.has_copy(connection, queue.source)
    await connection.js.request(f"STREAM.DELETE.{queue.name}")
    if copied:
        await connection.js.request(f"STREAM.DELETE.{dead_letters.COPY_PREFIX}{queue.source}")
    text = f"Deleted {count} of {queue.source}. No more are kept; {_resumption(queue, copied=copied)}"
    render.show(render.fitting(text))


def _resumption(queue: Queue, *, copied: bool) -> str:
    """Return the commands that keep again what was kept, in words."""
    named = page.consumers_of(queue.info["config"].get("subjects") or [], queue.source)
    ends = [""] if named in ([], [page.ALL_CONSUMERS]) else [f" {shlex.quote(each)}" for each in named]
    ends[0] += " --copy" if copied else ""
    lines = [in_hint(f"dlq add {queue.source}{end}") for end in ends]
    return f"{' and '.join(lines)} {'begins' if len(lines) == 1 else 'begin'} again"


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
    render.show(render.fitting(f"Deleted {count} of {queue.source}. {_future(queue)}"))


def _future(queue: Queue) -> str:
    """Return whether letters are kept from now on, in words."""
    named = page.consumers_of(queue.info["config"].get("subjects") or [], queue.source)
    if not named:
        return f"No more are kept; {_resumption(queue, copied=False)}"
    of = "" if named == [page.ALL_CONSUMERS] else f" of {', '.join(named)}"
    return f"Those to come{of} are kept; {in_hint(f'dlq stop {queue.source}')} ends that"
