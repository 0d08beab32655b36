"""`pyjs consumer report`: the progress of each consumer of a stream, and the leaders."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from ..stream.info import ALL, STREAM, chosen
from .listing import collected, show_missing
from .page import ACK

Info = dict[str, Any]
COLUMNS = (
    "Consumer",
    "Mode",
    "Ack Policy",
    "Ack Wait",
    "Ack Pending",
    "Redelivered",
    "Unprocessed",
    "Ack Floor",
    "Cluster",
)


@click.command(cls=Command)
@STREAM
@click.option("-r", "--raw", is_flag=True, help="Numbers as they are.")
@click.option("-l", "--leaders", is_flag=True, help="Show which servers lead Consumers.")
@ALL
async def report(stream: str, raw: bool, leaders: bool, all_streams: bool) -> None:
    """Report how far the Consumers of a Stream are."""
    async with connect() as connection:
        name = await chosen(connection, stream, everything=all_streams)
        info = await connection.js.stream_info(name)
        found, missing = await collected(connection, name)
    state = info["state"]
    title = f"Consumer report for {name} with {render.number(state.get('consumer_count', 0))} consumers"
    for each in found:  # a consumer without a group of its own runs where its stream does
        each["cluster"] = each.get("cluster") or info.get("cluster")
    rows = [_row(each, state["messages"], raw) for each in found]
    render.show(render.table(title, COLUMNS, rows) + "\n")
    if leaders:
        _show_leaders(found)
    show_missing(missing)


def _row(info: Info, messages: int, raw: bool) -> tuple[str, ...]:
    config = info["config"]
    number = str if raw else render.number
    ack, wait = config.get("ack_policy", "none"), config.get("ack_wait", 0)
    return (
        info["name"],
        "Push" if config.get("deliver_subject") else "Pull",
        ACK.get(ack, ack),
        render.go_span(wait) if raw else render.span(wait),
        number(info["num_ack_pending"]),
        number(info["num_redelivered"]),
        str(info["num_pending"]) if raw else _unprocessed(info["num_pending"], messages),
        number(info["ack_floor"]["stream_seq"]),
        render.cluster_servers(info.get("cluster")),
    )


def _unprocessed(pending: int, messages: int) -> str:
    """Return how many messages wait, and their share of the stream."""
    if not pending:
        return "0"
    part = min(100, math.floor(100 * pending / messages)) if messages else 100
    return f"{render.number(pending)} / {part}%"


def _show_leaders(found: list[Info]) -> None:
    led = [info["cluster"] for info in found if (info.get("cluster") or {}).get("leader")]
    counts = Counter(cluster["leader"] for cluster in led)
    homes = {cluster["leader"]: cluster.get("name", "") for cluster in led}
    most = max(counts.values(), default=1)
    rows = [
        (server, homes[server], count, "*" * max(1, round(10 * count / most)))
        for server, count in sorted(counts.items())
    ]
    columns = ("Server", "Cluster", "Consumers", "Distribution")
    render.show(render.table("RAFT Leader Report", columns, rows) + "\n")
