"""`pyjs server report cpu` and `mem`: the CPU and memory that the servers use, as bars."""

from __future__ import annotations

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from ..stream.info import JSON
from .poll import only, poll, selection

WIDTH = 30  # characters of the longest bar
LIMIT = click.argument("limit", required=False, type=click.IntRange(min=0), default=0)


async def _usage(field: str, limit: int, asked: dict[str, object]) -> dict[str, float]:
    """Return a field of each server's statistics by the server's name, smallest first."""
    async with connect() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING", asked, expect=limit)
    documents = [each.document for each in answers]
    found = [(each["server"].get("name", ""), each.get("statsz", {}).get(field, 0)) for each in documents]
    return dict(sorted(found, key=lambda each: (each[1], each[0])))


@click.command(cls=Command)
@LIMIT
@only
@JSON
async def cpu(limit: int, host: str, cluster: str, tags: tuple[str, ...], as_json: bool) -> None:
    """Report how busy each server is, in percent of one core."""
    found = await _usage("cpu", limit, selection(host, cluster, tags))
    if as_json:
        render.show_json(found)
    else:
        render.show(_bars("CPU Usage", found, {name: f"{value:g}" for name, value in found.items()}))


@click.command(cls=Command)
@LIMIT
@only
@JSON
async def mem(limit: int, host: str, cluster: str, tags: tuple[str, ...], as_json: bool) -> None:
    """Report how much memory each server takes."""
    found = await _usage("mem", limit, selection(host, cluster, tags))
    if as_json:
        render.show_json(found)
    else:
        shown = {name: render.size(int(value)) for name, value in found.items()}
        render.show(_bars("Memory Usage", found, shown))


def _bars(title: str, found: dict[str, float], shown: dict[str, str]) -> str:
    """Return a bar for each value, in proportion to the largest one."""
    most = max(found.values(), default=0) or 1
    wide = max(map(len, found), default=0)
    lines = [
        f"  {name:>{wide}}: {'█' * round(WIDTH * value / most) or '▏'} ({shown[name]})"
        for name, value in found.items()
    ]
    return "\n".join([title, "", *lines]) + "\n"
