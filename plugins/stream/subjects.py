"""`pyjs stream subjects` and `pyjs stream gaps`: the subjects in a stream, and its missing sequences."""

from __future__ import annotations

from collections.abc import Iterable

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from .info import ALL, JSON, STREAM, chosen


@click.command(cls=Command)
@STREAM
@click.argument("pattern", metavar="[FILTER]", required=False, default=">")
@JSON
@click.option(
    "--sort", type=click.Choice(("name", "subjects", "messages", "count")), default="messages", help="Order."
)
@click.option("-R", "--reverse", is_flag=True, help="Turn the order round.")
@click.option("--names/--no-names", default=False, help="Only the subjects.")
@ALL
async def subjects(
    stream: str, pattern: str, as_json: bool, sort: str, reverse: bool, names: bool, all_streams: bool
) -> None:
    """Show the subjects of a Stream with their message counts."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        counts = await _counts(connection, name, pattern)
    order = sorted(counts, key=lambda each: each if sort in ("name", "subjects") else (counts[each], each))
    if reverse:
        order.reverse()
    if as_json:
        render.show_json({each: counts[each] for each in order})
    elif names:
        for each in order:
            render.show(each)
    elif not order:
        render.show(f"No subjects found matching {pattern}")
    else:
        render.show(_table(name, order, counts) + "\n")


async def _counts(connection: NatsConnection, stream: str, pattern: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    while True:
        info = await connection.js.stream_info(stream, {"subjects_filter": pattern, "offset": len(counts)})
        page = info["state"].get("subjects") or {}
        before = len(counts)
        counts.update(page)
        if len(counts) == before or len(counts) >= int(info.get("total", 0)):
            return counts


def _table(stream: str, order: list[str], counts: dict[str, int]) -> str:
    """Return a table with one to three pairs of columns, by how wide the subjects are."""
    width = max(len(each) for each in order) + len(render.number(max(counts.values())))
    pairs = 3 if width < 20 else 2 if width < 30 else 1
    cells = [cell for each in order for cell in (each, render.number(counts[each]))]
    rows = [cells[start : start + 2 * pairs] for start in range(0, len(cells), 2 * pairs)]
    rows[-1] += [""] * (2 * pairs - len(rows[-1]))
    return render.table(f"{len(order)} Subjects in stream {stream}", ("Subject", "Count") * pairs, rows)


@click.command(cls=Command)
@STREAM
@click.option("-f", "--force", is_flag=True, help="Accepted as `nats` has it; nothing is asked here.")
@click.option("--progress/--no-progress", default=True, help="Accepted as `nats` has it.")
@click.option("--json", "as_json", is_flag=True, help="Produce JSON output.")
@ALL
async def gaps(stream: str, force: bool, progress: bool, as_json: bool, all_streams: bool) -> None:
    """Show the ranges of sequences that are missing in a Stream."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        info = await connection.js.stream_info(name, {"deleted_details": True})
    state = info["state"]
    found = ranges(sorted({*(state.get("deleted") or []), *((state.get("lost") or {}).get("msgs") or [])}))
    if as_json:
        render.show_json([[first, last] for first, last in found])
    elif not found:
        render.show(f"No deleted messages in Stream {name}")
    else:
        what = "gap" if len(found) == 1 else "gaps"
        rows = [(render.number(first), render.number(last)) for first, last in found]
        title = f"{len(found)} {what} found in Stream {name}"
        render.show(render.table(title, ("First Message", "Last Message"), rows) + "\n")


def ranges(sequences: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges: 2 3 4 9 -> (2, 4) (9, 9)."""
    found: list[tuple[int, int]] = []
    for each in sequences:
        if found and each == found[-1][1] + 1:
            found[-1] = (found[-1][0], each)
        else:
            found.append((each, each))
    return found
