"""`pyjs account report`: the connections and the traffic of the account of the connection, on each server.

No system account is needed: each server answers every user for its own account.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from ...cli import output
from ...cli.command import Command, CommandGroup
from ...cli.connection import connect
from ...cli.output import BYTES, LIST, NAME, NUMBER, WORD, Column, Table
from ..server.connections import (
    CONNECTIONS,
    KEYS,
    PER_SERVER,
    TOP,
    asked_of,
    chosen,
    gathered,
    selecting,
    show,
)
from ..server.order import sorting
from ..server.poll import poll

Info = dict[str, Any]
CONNZ, STATZ = "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.ACCOUNT.PING.STATZ"
STATISTICS = Table(
    "statistics",
    "Server Statistics",
    (
        Column("server", "Server", NAME),
        Column("cluster", "Cluster", NAME, same=True),
        Column("version", "Version", WORD),
        Column("tags", "Tags", LIST),
        Column("connections", "Connections", NUMBER),
        Column("subscriptions", "Subscriptions", NUMBER),
        Column("leafnodes", "Leafnodes", NUMBER, silent=("0",)),
        Column("sent_bytes", "Sent Bytes", BYTES),
        Column("sent_msgs", "Sent Messages", NUMBER),
        Column("received_bytes", "Received Bytes", BYTES),
        Column("received_msgs", "Received Messages", NUMBER),
        Column("slow_consumers", "Slow Consumers", NUMBER, silent=("0",)),
        Column("total_connections", "Connections Ever", NUMBER, wide=True),
        Column("host", "Host", NAME, wide=True),
        Column("server_id", "ID", NAME, wide=True),
    ),
    key="server",
    spare=("tags", "cluster", "leafnodes", "version", "received_bytes", "sent_bytes"),
)
MOVED = tuple(f"{side}_{unit}" for side in ("sent", "received") for unit in ("bytes", "msgs"))
SUMMED = ("connections", "leafnodes", *MOVED, "slow_consumers")

report = CommandGroup(name="report", help="Reports on the account, as each server sees it.")
report.add_alias("connections", "conn", "connz", "conns")
report.add_alias("statistics", "stats", "statsz")


@report.command("connections", cls=Command)
@output.listing(CONNECTIONS, PER_SERVER, watch=True, legacy="the connections as connz has them")
@sorting(KEYS, "subs")
@click.option("-R", "--reverse", "backwards", is_flag=True, help="Sort in reverse order.")
@TOP
@selecting
async def connections(
    by: str, backwards: bool, top: int, subject: str, username: str, state: str, closed_reason: str
) -> None:
    """Report on the account's connections, on all servers."""
    asked = asked_of(subject, username, state)
    async with connect() as connection:
        found = await gathered(connection, asked, subject=CONNZ)
    show(chosen(found, by, backwards, closed_reason), by, top)


@report.command("statistics", cls=Command)
@output.listing(STATISTICS, watch=True)
async def statistics() -> None:
    """Report on the account's connections and traffic, by server."""
    async with connect() as connection:
        answers = await poll(connection, STATZ)
    records = list(_records(each.document for each in answers))
    sums = {name: sum(each[name] for each in records) for name in SUMMED}
    kinds = {column.field: column.kind for column in STATISTICS.columns}
    footer = {name: kinds[name].text(value) for name, value in sums.items()}
    output.show(STATISTICS.of(records, footer={"server": str(len(answers)), **footer}))


def _records(documents: Iterable[Info]) -> Iterable[Info]:
    """Return a record for each server where the account has connections or had some."""
    for document in documents:
        server = document.get("server") or {}
        for found in (document.get("data") or {}).get("account_statz") or []:
            yield {
                "server": server.get("name", ""),
                "cluster": server.get("cluster", ""),
                "version": server.get("ver", ""),
                "tags": server.get("tags") or [],
                "connections": found.get("conns", 0),
                "subscriptions": found.get("num_subscriptions", 0),
                "leafnodes": found.get("leafnodes", 0),
                **{name: _moved(found, *name.split("_")) for name in MOVED},
                "slow_consumers": found.get("slow_consumers", 0),
                "total_connections": found.get("total_conns", 0),
                "host": server.get("host", ""),
                "server_id": server.get("id", ""),
            }


def _moved(found: Info, side: str, unit: str) -> int:
    return int((found.get(side) or {}).get(unit, 0))
