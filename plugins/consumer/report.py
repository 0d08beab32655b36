"""`pyjs consumer report`: the progress of each consumer of a stream, and the leaders."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import click

from ...cli import output, render
from ...cli.command import RequestCommand
from ...cli.connection import connect
from ...cli.output import FLAG, LIST, NAME, NUMBER, SPAN, WORD, Column, Table
from ...cli.words import cluster_record
from ..stream.info import ALL, STREAM, chosen
from ..stream.report import LEADERS, leaders_of
from .listing import collected, filters, inaccessible
from .page import ACK

Info = dict[str, Any]


def _unprocessed(each: Info) -> str:
    """Return how many messages wait, and their share of the stream."""
    pending, messages = each["unprocessed"], each["messages"]
    if not pending:
        return "0"
    part = min(100, math.floor(100 * pending / messages)) if messages else 100
    return f"{render.number(pending)} / {part}%"


def _mode(each: Info) -> str:
    """Return whether it is pushed or pulled, and that it is paused: then its numbers do not change."""
    return ("Push" if each["push"] else "Pull") + (", paused" if each["paused"] else "")


CONSUMERS = Table(
    "consumers",
    "Consumer report",
    (
        Column("name", "Consumer", NAME),
        Column("push", "Mode", FLAG, show=_mode),
        Column(
            "ack_policy",
            "Ack Policy",
            WORD,
            show=lambda each: ACK.get(each["ack_policy"], each["ack_policy"]),
        ),
        Column("ack_wait", "Ack Wait", SPAN),
        Column("ack_pending", "Ack Pending", NUMBER),
        Column("redelivered", "Redelivered", NUMBER, silent=("0",)),
        Column("unprocessed", "Unprocessed", NUMBER, show=_unprocessed),
        Column("ack_floor", "Ack Floor", NUMBER),
        Column("servers", "Cluster", LIST, show=lambda each: each["cluster_text"], same=True),
        Column("leader", "Leader", NAME, wide=True),
        Column("unhealthy", "Unhealthy", LIST, wide=True),
        Column("filters", "Filter Subjects", LIST, wide=True),
        Column("paused", "Paused", FLAG, wide=True),
        Column("waiting", "Waiting Pulls", NUMBER, wide=True),
    ),
    spare=("ack_wait", "servers", "ack_floor", "ack_policy", "push"),
)
LEADING = replace(
    LEADERS,
    columns=tuple(
        replace(each, title="Consumers") if each.field == "leads" else each for each in LEADERS.columns
    ),
)


@click.command(cls=RequestCommand)
@output.listing(CONSUMERS, LEADING, watch=True)
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
    output.show(
        CONSUMERS.of([_record(each, state["messages"]) for each in found], title=title, raw=raw),
        LEADING.of(leaders_of(found) if leaders or not output.is_for_people() else []),
        aside=inaccessible(missing),
    )


def _record(info: Info, messages: int) -> Info:
    config = info["config"]
    return {
        "name": info["name"],
        "push": bool(config.get("deliver_subject")),
        "ack_policy": config.get("ack_policy", "none"),
        "ack_wait": config.get("ack_wait", 0),
        "ack_pending": info["num_ack_pending"],
        "redelivered": info["num_redelivered"],
        "unprocessed": info["num_pending"],
        "ack_floor": info["ack_floor"]["stream_seq"],
        **cluster_record(info.get("cluster")),
        "filters": filters(config),
        "paused": bool(info.get("paused")),
        "waiting": info.get("num_waiting", 0),
        "messages": messages,
    }
