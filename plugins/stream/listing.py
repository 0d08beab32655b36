"""`pyjs stream ls`, and the streams of an account in the order of lists."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, render
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.output import BYTES, LIST, NAME, NUMBER, SPAN, TEXT, TIME, WORD, Column, FilledTable, Table
from .info import ALL, is_internal

Info = dict[str, Any]
NONE = "No Streams defined"
COLUMNS = (
    Column("name", "Name", NAME),
    Column("description", "Description", TEXT),
    Column("created", "Created", TIME),
    Column("messages", "Messages", NUMBER),
    Column("bytes", "Size", BYTES),
    Column("last_message", "Last Message", SPAN),
    Column("subjects", "Subjects", LIST, wide=True),
    Column("storage", "Storage", WORD, wide=True),
    Column("retention", "Retention", WORD, wide=True),
    Column("replicas", "Replicas", NUMBER, wide=True),
    Column("consumers", "Consumers", NUMBER, wide=True),
)
SPARE = ("created", "description", "last_message")
STREAMS = Table("streams", "Streams", COLUMNS, empty=NONE, spare=SPARE)
INACCESSIBLE = Table("inaccessible", "Inaccessible Streams", (Column("name", "Stream", NAME),), empty="")


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


def inaccessible(missing: list[str]) -> FilledTable:
    """Return a table of the streams that exist but did not answer."""
    return INACCESSIBLE.of({"name": name} for name in missing)


@click.command(cls=RequestCommand)
@output.listing(STREAMS, legacy="the names")
@click.option("--subject", default="", help="Only Streams that consume this subject.")
@click.option("-n", "--names", is_flag=True, help="Only the names, of system streams too.")
@ALL
async def ls(subject: str, names: bool, all_streams: bool) -> None:
    """List the Streams."""
    async with connect() as connection:
        if names:
            for name in await connection.js.stream_names(subject):
                render.show(name)
            return
        found, missing = await collected(connection, subject, everything=all_streams)
    title = f"Streams matching {subject}" if subject else None
    output.show(
        STREAMS.of(map(record, found), title=title),
        aside=inaccessible(missing),
        document=sorted(info["config"]["name"] for info in found),
    )


def record(info: Info) -> Info:
    """Return a stream as a record of `ls` and `find`."""
    config, state = info["config"], info["state"]
    return {
        "name": config["name"],
        "description": config.get("description", ""),
        "created": info["created"],
        "messages": state["messages"],
        "bytes": state["bytes"],
        "last_message": render.since(state.get("last_ts", ""), info.get("ts", "")),
        "subjects": config.get("subjects") or [],
        "storage": config.get("storage", "file"),
        "retention": config.get("retention", "limits"),
        "replicas": config.get("num_replicas", 1),
        "consumers": state.get("consumer_count", 0),
    }
