"""`pyjs consumer ls`, and the consumers of a stream for lists and reports."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, render
from ...cli.command import RequestCommand
from ...cli.connection import NatsConnection, connect
from ...cli.errors import RemoteError, UsageError
from ...cli.output import FLAG, LIST, NAME, NUMBER, SPAN, TEXT, TIME, WORD, Column, FilledTable, Table
from ..stream.info import ALL, STREAM, chosen
from .info import NO_SELECT

Info = dict[str, Any]
NONE = "No Consumers defined"
COLUMNS = (
    Column("name", "Name", NAME),
    Column("description", "Description", TEXT),
    Column("created", "Created", TIME),
    Column("ack_pending", "Ack Pending", NUMBER),
    Column("unprocessed", "Unprocessed", NUMBER),
    Column("last_delivery", "Last Delivery", SPAN),
    Column("push", "Push", FLAG, wide=True),
    Column("ack_policy", "Ack Policy", WORD, wide=True),
    Column("filters", "Filter Subjects", LIST, wide=True),
    Column("redelivered", "Redelivered", NUMBER, wide=True),
)
CONSUMERS = Table(
    "consumers", "Consumers", COLUMNS, empty=NONE, spare=("created", "description", "last_delivery")
)
INACCESSIBLE = Table("inaccessible", "Inaccessible Consumers", (Column("name", "Consumer", NAME),), empty="")


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


def inaccessible(missing: list[str]) -> FilledTable:
    """Return a table of the consumers that exist but did not answer."""
    return INACCESSIBLE.of({"name": name} for name in missing)


@click.command(cls=RequestCommand)
@output.listing(CONSUMERS, legacy="the names")
@STREAM
@click.option("-n", "--names", is_flag=True, help="Only the names.")
@NO_SELECT
@ALL
async def ls(stream: str, names: bool, no_select: bool, all_streams: bool) -> None:
    """List the Consumers of a Stream."""
    if no_select and not stream:
        raise UsageError("no Stream name supplied", "give it as <STREAM>")
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        found, missing = await collected(connection, name)
    known = [info["name"] for info in found]
    if names:
        for each in known:
            render.show(each)
        return
    output.show(CONSUMERS.of(map(record, found)), aside=inaccessible(missing), document=known)


def record(info: Info) -> Info:
    """Return a consumer as a record of `ls` and `find`."""
    config = info["config"]
    return {
        "name": info["name"],
        "description": config.get("description", ""),
        "created": info["created"],
        "ack_pending": info["num_ack_pending"],
        "unprocessed": info["num_pending"],
        "last_delivery": render.since(info["delivered"].get("last_active", ""), info.get("ts", "")),
        "push": bool(config.get("deliver_subject")),
        "ack_policy": config.get("ack_policy", "none"),
        "filters": filters(config),
        "redelivered": info["num_redelivered"],
    }


def filters(config: Info) -> list[str]:
    """Return the subjects that a consumer is limited to; none for all of its stream."""
    one = config.get("filter_subject")
    return [one] if one else config.get("filter_subjects") or []
