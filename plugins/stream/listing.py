"""`pyjs stream ls`, and the streams of an account in the order of lists."""

from __future__ import annotations

from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from .info import ALL, JSON, is_internal

Info = dict[str, Any]
NONE = "No Streams defined"


async def collected(
    connection: NatsConnection, subject: str = "", *, everything: bool = True
) -> tuple[list[Info], list[str]]:
    """Return all streams by size, then name; and the names of those that no server answered for."""
    found: list[Info] = []
    missing: list[str] = []
    offset = 0
    while True:
        query: Info = {"offset": offset, **({"subject": subject} if subject else {})}
        answer = await connection.js.request("STREAM.LIST", query)
        batch = answer.get("streams") or []
        found += batch
        missing += answer.get("missing") or []
        missing += list(answer.get("offline") or {})
        offset += len(batch)
        if not batch or offset >= int(answer.get("total", 0)):
            break
    shown = [info for info in found if everything or not is_internal(info["config"]["name"])]
    return sorted(shown, key=by_size), sorted(set(missing))


def by_size(info: Info) -> tuple[int, str]:
    """Return streams in the order of lists and reports: smallest first, equal ones by name."""
    return info["state"]["bytes"], info["config"]["name"]


def show_missing(missing: list[str]) -> None:
    """Show a table of the streams that exist but did not answer."""
    if missing:
        render.show(render.table("Inaccessible Streams", ("Stream",), [(name,) for name in missing]) + "\n")


@click.command(cls=Command)
@click.option("--subject", default="", help="Only Streams that consume this subject.")
@click.option("-n", "--names", is_flag=True, help="Only the names.")
@JSON
@ALL
async def ls(subject: str, names: bool, as_json: bool, all_streams: bool) -> None:
    """List the Streams."""
    async with connect() as connection:
        if names:
            known = await connection.js.stream_names(subject)
            for name in known:
                if all_streams or not is_internal(name):
                    render.show(name)
            return
        found, missing = await collected(connection, subject, everything=all_streams)
    if as_json:
        render.show_json(sorted(info["config"]["name"] for info in found))
        return
    if not found and not missing:
        render.show(NONE)
        return
    title = f"Streams matching {subject}" if subject else "Streams"
    columns = ("Name", "Description", "Created", "Messages", "Size", "Last Message")
    render.show(render.table(title, columns, [row(info) for info in found]) + "\n")
    show_missing(missing)


def row(info: Info) -> tuple[str, ...]:
    """Return the cells of a stream in `ls` and `find`."""
    config, state = info["config"], info["state"]
    created = render.parse_time(info["created"])
    return (
        config["name"],
        config.get("description", ""),
        f"{created.astimezone():%Y-%m-%d %H:%M:%S}" if created else "",
        render.number(state["messages"]),
        render.size(state["bytes"]),
        render.span(render.since(state.get("last_ts", ""), info.get("ts", ""))),
    )
