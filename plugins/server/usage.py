"""`pyjs server report cpu` and `mem`: the CPU and memory that the servers use, as bars."""

from __future__ import annotations

import click

from ...cli import output
from ...cli.command import Command
from ...cli.output import BYTES, DECIMAL, NAME, Column, FilledTable, Table, terminal
from ...cli.output.cells import shortened_cells
from ...cli.output.columns import MIDDLE
from ...cli.output.fitting import LEAST
from .archive import ARCHIVE, servers
from .order import REVERSE
from .poll import only, poll, selection

WIDTH = 30  # characters of the longest bar
CPU = Table("cpu", "CPU Usage", (Column("name", "Server", NAME), Column("cpu", "CPU", DECIMAL)))
MEMORY = Table("mem", "Memory Usage", (Column("name", "Server", NAME), Column("mem", "Memory", BYTES)))
LIMIT = click.argument("limit", required=False, type=click.IntRange(min=0), default=0)


async def _usage(field: str, limit: int, asked: dict[str, object], *, backwards: bool) -> dict[str, float]:
    """Return a field of each server by its name, the smallest first, or last if `backwards`."""
    async with servers() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING", asked, expect=limit)
    documents = [each.document for each in answers]
    found = [(each["server"].get("name", ""), each.get("statsz", {}).get(field, 0)) for each in documents]
    return dict(sorted(found, key=lambda each: (each[1], each[0]), reverse=backwards))


@click.command(cls=Command)
@output.listing(CPU, watch=True, legacy="an object: the percentage of each server")
@LIMIT
@REVERSE
@only
@ARCHIVE
async def cpu(limit: int, backwards: bool, host: str, cluster: str, tags: tuple[str, ...]) -> None:
    """Report how busy each server is, in percent of one core."""
    found = await _usage("cpu", limit, selection(host, cluster, tags), backwards=backwards)
    output.show(_rows(CPU, found), text=_bars(CPU, found), document=found)


@click.command(cls=Command)
@output.listing(MEMORY, watch=True, legacy="an object: the bytes of each server")
@LIMIT
@REVERSE
@only
@ARCHIVE
async def mem(limit: int, backwards: bool, host: str, cluster: str, tags: tuple[str, ...]) -> None:
    """Report how much memory each server takes."""
    found = await _usage("mem", limit, selection(host, cluster, tags), backwards=backwards)
    output.show(_rows(MEMORY, found), text=_bars(MEMORY, found), document=found)


def _rows(table: Table, found: dict[str, float]) -> FilledTable:
    field = table.columns[1].field
    return table.of({"name": name, field: value} for name, value in found.items())


def _bars(table: Table, found: dict[str, float]) -> str:
    """Return a bar for each value, in proportion to the largest; in a terminal, names make room for it."""
    text = table.columns[1].kind.text
    most = max(found.values(), default=0) or 1
    wide = max(map(len, found), default=0)
    limit = terminal.width()
    if limit is not None:
        beside = WIDTH + len("  :  ()") + max((len(text(value)) for value in found.values()), default=0)
        wide = min(wide, max(LEAST[MIDDLE], limit - beside))
    lines = []
    names = shortened_cells(list(found), wide, MIDDLE)
    for name, value in zip(names, found.values(), strict=True):
        bar = "█" * round(WIDTH * value / most) or "▏"
        lines.append(f"  {name:>{wide}}: {bar} ({text(value)})")
    return "\n".join([table.title, "", *lines]) + "\n"
