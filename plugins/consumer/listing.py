"""`pyjs consumer ls`, and the consumers of a stream for lists and reports."""

from __future__ import annotations

from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RemoteError
from ..stream.info import ALL, JSON, STREAM, chosen
from .info import NO_SELECT

Info = dict[str, Any]
NONE = "No Consumers defined"
COLUMNS = ("Name", "Description", "Created", "Ack Pending", "Unprocessed", "Last Delivery")


async def collected(connection: NatsConnection, stream: str) -> tuple[list[Info], list[str]]:
    """Return all consumers of a stream by name, and the names of those that no server answered for."""
    found: list[Info] = []
    missing: list[str] = []
    offset = 0
    while True:
        try:
            answer = await connection.js.request(f"CONSUMER.LIST.{stream}", {"offset": offset})
        except RemoteError as error:
            raise await connection.js.explained(error, stream=stream) from None
        batch = answer.get("consumers") or []
        found += batch
        missing += answer.get("missing") or []
        missing += list(answer.get("offline") or {})
        offset += len(batch)
        if not batch or offset >= int(answer.get("total", 0)):
            return sorted(found, key=lambda info: str(info["name"])), sorted(set(missing))


def show_missing(missing: list[str]) -> None:
    """Show a table of the consumers that exist but did not answer."""
    if missing:
        render.show(
            render.table("Inaccessible Consumers", ("Consumer",), [(name,) for name in missing]) + "\n"
        )


@click.command(cls=Command)
@STREAM
@click.option("-n", "--names", is_flag=True, help="Only the names.")
@JSON
@NO_SELECT
@ALL
async def ls(stream: str, names: bool, as_json: bool, no_select: bool, all_streams: bool) -> None:
    """List the Consumers of a Stream."""
    if no_select and not stream:
        raise CliError("no Stream name supplied", "give it as <STREAM>")
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        found, missing = await collected(connection, name)
    known = [info["name"] for info in found]
    if as_json:
        render.show_json(known)
    elif names:
        for each in known:
            render.show(each)
    elif not found and not missing:
        render.show(NONE)
    else:
        render.show(render.table("Consumers", COLUMNS, [row(info) for info in found]) + "\n")
        show_missing(missing)


def row(info: Info) -> tuple[str, ...]:
    """Return the cells of a consumer in `ls` and `find`."""
    created = render.parse_time(info["created"])
    last = info["delivered"].get("last_active", "")
    return (
        info["name"],
        info["config"].get("description", ""),
        f"{created.astimezone():%Y-%m-%d %H:%M:%S}" if created else "",
        render.number(info["num_ack_pending"]),
        render.number(info["num_pending"]),
        render.span(render.since(last, info.get("ts", ""))),
    )
