"""The list of buckets that `kv ls` and `object ls` show."""

from __future__ import annotations

from typing import Any

from ...cli import output, render
from ...cli.connection import NatsConnection
from ...cli.output import BYTES, NAME, NUMBER, SPAN, TEXT, TIME, WORD, Column, Record, Table
from ..stream.listing import collected, inaccessible
from .lookup import BucketKind

Info = dict[str, Any]


def table_of(kind: BucketKind, *columns: Column) -> Table:
    """Return the table of the buckets of a kind, with `columns` between the size and the last update."""
    return Table(
        f"{kind.command}_buckets",
        f"{kind.title} Buckets",
        (
            Column("bucket", "Bucket", NAME),
            Column("description", "Description", TEXT),
            Column("created", "Created", TIME),
            Column("bytes", "Size", BYTES),
            *columns,
            Column("last_update", "Last Update", SPAN),
            Column("ttl", "TTL", SPAN, wide=True),
            Column("max_bytes", "Max Size", BYTES, show=_limit, wide=True),
            Column("storage", "Storage", WORD, wide=True),
            Column("replicas", "Replicas", NUMBER, wide=True),
        ),
        key="bucket",
        empty=f"No {kind.title} buckets found",
        spare=("created", "description", "last_update"),
    )


def _limit(record: Record) -> str:
    return render.size_limit(record["max_bytes"])


async def show_list(connection: NatsConnection, kind: BucketKind, table: Table, *, only_names: bool) -> None:
    """Show the buckets, smallest first."""
    streams, missing = await collected(connection)
    found = [info for info in streams if info["config"]["name"].startswith(kind.prefix)]
    if only_names:
        for name in sorted(info["config"]["name"] for info in found):
            render.show(name.removeprefix(kind.prefix))
        return
    absent = [name for name in missing if name.startswith(kind.prefix)]
    output.show(table.of(_record(info, kind) for info in found), aside=inaccessible(absent))


def _record(info: Info, kind: BucketKind) -> Info:
    """Return a bucket as a record of the table."""
    config, state = info["config"], info["state"]
    return {
        "bucket": config["name"].removeprefix(kind.prefix),
        "description": config.get("description", ""),
        "created": info["created"],
        "bytes": state["bytes"],
        "values": state["messages"],
        "last_update": render.since(state["last_ts"], info.get("ts", "")),
        "ttl": config.get("max_age") or -1,
        "max_bytes": config.get("max_bytes", -1),
        "storage": config["storage"],
        "replicas": config.get("num_replicas", 1),
        "history": config.get("max_msgs_per_subject", 1),
    }
