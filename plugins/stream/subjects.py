"""`pyjs stream subjects` and `pyjs stream gaps`: the subjects in a stream, and its missing sequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import click

from ...cli import output, render
from ...cli.command import RequestCommand
from ...cli.connection import connect
from ...cli.output import NAME, NUMBER, Column, FilledTable, Table, terminal
from .info import ALL, STREAM, chosen

SUBJECTS = Table(
    "subjects",
    "Subjects",
    (Column("subject", "Subject", NAME), Column("count", "Count", NUMBER)),
    key="subject",
)
GAPS = Table(
    "gaps",
    "Gaps",
    (Column("first", "First Message", NUMBER), Column("last", "Last Message", NUMBER)),
    key="first",
)


@click.command(cls=RequestCommand)
@output.listing(SUBJECTS, legacy="an object: the count of each subject")
@STREAM
@click.argument("pattern", metavar="[FILTER]", required=False, default=">")
@click.option(
    "--sort", type=click.Choice(("name", "subjects", "messages", "count")), default="messages", help="Order."
)
@click.option("-R", "--reverse", is_flag=True, help="Turn the order round.")
@click.option("--names/--no-names", default=False, help="Only the subjects.")
@ALL
async def subjects(
    stream: str, pattern: str, sort: str, reverse: bool, names: bool, all_streams: bool
) -> None:
    """Show the subjects of a Stream with their message counts."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        counts = await connection.js.subjects(name, pattern)
    order = sorted(counts, key=lambda each: each if sort in ("name", "subjects") else (counts[each], each))
    if reverse:
        order.reverse()
    if names and output.is_for_people():
        for each in order:
            render.show(each)
    elif not order and output.is_for_people():
        render.show(f"No subjects found matching {pattern}")
    else:
        rows = SUBJECTS.of([{"subject": each, "count": counts[each]} for each in order])
        drawn = _side_by_side(name, rows) if order else None
        output.show(replace(rows, drawn=drawn), document={each: counts[each] for each in order})


def _side_by_side(stream: str, rows: FilledTable) -> FilledTable:
    """Return a table with one to three pairs of columns, by how wide the subjects are."""
    cells = [column.cell(record) for record in rows.records for column in SUBJECTS.columns]
    width = max(map(len, cells[::2])) + max(map(len, cells[1::2]))
    pairs = 3 if width < 20 else 2 if width < 30 else 1
    pairs = max(1, min(pairs, ((terminal.width() or 80) - 1) // (width + 6)))
    lines = [cells[start : start + 2 * pairs] for start in range(0, len(cells), 2 * pairs)]
    lines[-1] += [""] * (2 * pairs - len(lines[-1]))
    table = Table("subjects", f"{len(rows.records)} Subjects in stream {stream}", SUBJECTS.columns * pairs)
    return table.of(rows.records, cells=lines)


@click.command(cls=RequestCommand)
@output.listing(GAPS, legacy="pairs of the first and the last sequence")
@STREAM
@click.option("-f", "--force", is_flag=True, help="Accepted as `nats` has it; nothing is asked here.")
@click.option("--progress/--no-progress", default=True, help="Accepted as `nats` has it.")
@ALL
async def gaps(stream: str, force: bool, progress: bool, all_streams: bool) -> None:
    """Show the ranges of sequences that are missing in a Stream."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        info = await connection.js.stream_info(name, {"deleted_details": True})
    state = info["state"]
    missing = {*(state.get("deleted") or []), *((state.get("lost") or {}).get("msgs") or [])}
    found = ranges(
        sorted(missing - {0})
    )  # nats-server names 0, which is no sequence, where a stream is empty
    if not found and output.is_for_people():
        render.show(f"No deleted messages in Stream {name}")
        return
    title = f"{len(found)} {'gap' if len(found) == 1 else 'gaps'} found in Stream {name}"
    records = [{"first": first, "last": last} for first, last in found]
    output.show(GAPS.of(records, title=title), document=[list(each) for each in found])


def ranges(sequences: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges: 2 3 4 9 -> (2, 4) (9, 9)."""
    found: list[tuple[int, int]] = []
    for each in sequences:
        if found and each == found[-1][1] + 1:
            found[-1] = (found[-1][0], each)
        else:
            found.append((each, each))
    return found
