"""`pyjs server watch accounts`: connections and traffic of accounts, over all servers.

Source: natscli, cli/server_watch_acct_command.go.
"""

from __future__ import annotations

from typing import Any

import click

from ....cli import output
from ....cli.command import Command
from ....cli.output import BYTES, NAME, NUMBER, Column, FilledTable, Table
from . import live
from .live import LatestDocuments, Record, document_of, flow, flows, room, top

SUBJECT = "$SYS.ACCOUNT.*.SERVER.CONNS"


ACCOUNTS = Table(
    "accounts",
    "Account activity",
    (
        Column("name", "Account", NAME),
        Column("account", "ID", NAME, wide=True),
        Column("servers", "Servers", NUMBER),
        Column("connections", "Conns", NUMBER),
        Column("leafnodes", "Leafnodes", NUMBER),
        Column("subscriptions", "Subs", NUMBER),
        Column("slow_consumers", "Slow", NUMBER),
        Column("sent_msgs", "Sent", NUMBER, show=flow("sent")),
        Column("sent_bytes", "Sent Bytes", BYTES, wide=True),
        Column("received_msgs", "Received", NUMBER, show=flow("received")),
        Column("received_bytes", "Received Bytes", BYTES, wide=True),
    ),
    empty="Waiting for the reports of servers: one with connections sends them every 30s",
    spare=("servers", "leafnodes"),
)
ORDERS = {
    "conns": ("connections", "Connections"),
    "subs": ("subscriptions", "Subscriptions"),
    "sentb": ("sent_bytes", "Sent Bytes"),
    "sentm": ("sent_msgs", "Sent Messages"),
    "recvb": ("received_bytes", "Received Bytes"),
    "recvm": ("received_msgs", "Received Messages"),
    "slow": ("slow_consumers", "Slow Consumers"),
}
COUNTS = {  # of a record: its field in a report
    "connections": "conns",
    "leafnodes": "leafnodes",
    "subscriptions": "num_subscriptions",
    "slow_consumers": "slow_consumers",
}


@click.command(cls=Command)
@output.listing(ACCOUNTS)
@click.option("--sort", type=click.Choice(list(ORDERS)), default="conns", help="Order of the accounts.")
@live.NUMBER
async def accounts(sort: str, number: int) -> None:
    """Watch connections and traffic of accounts, every second until Ctrl-C.

    Only servers where an account has connections report on it, when one comes or goes and every 30s: it is
    no view of one moment.
    """
    latest = LatestDocuments()
    await live.follow(
        [SUBJECT],
        lambda message: _keep(latest, document_of(message)),
        lambda: _rows(latest.documents(), sort, number),
    )


def _keep(latest: LatestDocuments, document: Record) -> None:
    if isinstance(document.get("server"), dict) and document.get("acc"):
        latest.keep(document, str(document["acc"]), str(document["server"].get("id", "")))


def _rows(documents: list[Record], sort: str, number: int) -> FilledTable:
    found: dict[str, Record] = {}
    for each in documents:
        _add(found.setdefault(str(each["acc"]), _empty(each)), each)
    field, title = ORDERS[sort]
    records = sorted(found.values(), key=lambda each: (-each[field], -each["connections"], each["name"]))
    shown = records[: room(number)]
    return ACCOUNTS.of(shown, title=f"{top(len(shown), len(records))} {ACCOUNTS.title} by {title}")


def _empty(document: Record) -> Record:
    account = str(document["acc"])
    return {
        "name": str(document.get("name") or account),
        "account": account,
        "servers": 0,
        **dict.fromkeys(COUNTS, 0),
        **flows({}),
    }


def _add(record: dict[str, Any], document: Record) -> None:
    record["servers"] += 1
    for name, field in COUNTS.items():
        record[name] += document.get(field, 0)
    for name, count in flows(document).items():
        record[name] += count
