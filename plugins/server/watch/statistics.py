"""`pyjs server watch servers` and `jetstream`: what the servers report of themselves.

Source: natscli, cli/server_watch_srv_command.go and server_watch_js_command.go.
"""

from __future__ import annotations

from typing import Any

import click

from ....cli import output, words
from ....cli.command import Command
from ....cli.output import BYTES, DECIMAL, NAME, NUMBER, SPAN, TIME, Column, FilledTable, Table
from . import live
from .live import LatestDocuments, Record, document_of, flow, flows, room, top

SUBJECT = "$SYS.SERVER.*.STATSZ"
PING = "$SYS.REQ.SERVER.PING"
WAITING = "Waiting for the reports of servers"


def _pending(each: Any) -> str:
    parts = [words.number(each["pending"])]
    parts += [f"{words.number(each['pending_infos'])} info"] if each["pending_infos"] else []
    parts += [f"{words.number(each['pending_requests'])} req"] if each["pending_requests"] else []
    return " / ".join(parts)


def _snapshot(each: Any) -> str:
    if not each["snapshot"]:
        return ""
    ago = words.span(words.since(each["snapshot"]))
    return f"{ago} ago ({words.go_span(each['snapshot_took'])})"


SERVERS = Table(
    "servers",
    "Server activity",
    (
        Column("name", "Server", NAME),
        Column("connections", "Conns", NUMBER),
        Column("subscriptions", "Subs", NUMBER),
        Column("slow_consumers", "Slow", NUMBER),
        Column("mem", "Memory", BYTES),
        Column("cpu", "CPU", DECIMAL),
        Column("cores", "Cores", NUMBER),
        Column("routes", "Routes", NUMBER, silent=("0", "")),
        Column("gateways", "Gateways", NUMBER, silent=("0", "")),
        Column("sent_msgs", "Sent", NUMBER, show=flow("sent")),
        Column("sent_bytes", "Sent Bytes", BYTES, wide=True),
        Column("received_msgs", "Received", NUMBER, show=flow("received")),
        Column("received_bytes", "Received Bytes", BYTES, wide=True),
    ),
    empty=WAITING,
    spare=("cores", "gateways", "routes"),
)
JETSTREAM = Table(
    "servers",
    "JetStream activity",
    (
        Column("name", "Server", NAME, show=lambda each: each["name"] + "*" * each["leader"]),
        Column("leader", "Leader", output.FLAG, wide=True),
        Column("ha_assets", "HA Assets", NUMBER),
        Column("memory", "Memory", BYTES),
        Column("file", "File", BYTES),
        Column("api", "API", NUMBER),
        Column("api_errors", "API Errors", NUMBER),
        Column("pending", "Pending", NUMBER, show=_pending),
        Column("pending_infos", "Pending Infos", NUMBER, wide=True),
        Column("pending_requests", "Pending Requests", NUMBER, wide=True),
        Column("snapshot", "Snapshot", TIME, show=_snapshot),
        Column("snapshot_took", "Snapshot Took", SPAN, wide=True),
    ),
    empty=WAITING,
)
SERVER_ORDERS = {
    "name": ("name", "Server Name"),
    "conns": ("connections", "Connections"),
    "subs": ("subscriptions", "Subscriptions"),
    "sentb": ("sent_bytes", "Sent Bytes"),
    "sentm": ("sent_msgs", "Sent Messages"),
    "recvb": ("received_bytes", "Received Bytes"),
    "recvm": ("received_msgs", "Received Messages"),
    "slow": ("slow_consumers", "Slow Consumers"),
    "route": ("routes", "Routes"),
    "gway": ("gateways", "Gateways"),
    "mem": ("mem", "Memory"),
    "cpu": ("cpu", "CPU"),
}
JETSTREAM_ORDERS = {
    "mem": ("memory", "Memory Used"),
    "file": ("file", "File Storage"),
    "assets": ("ha_assets", "HA Assets"),
    "api": ("api", "API Requests"),
}
SERVER_SUMS = (
    "connections", "subscriptions", "slow_consumers", "mem",
    "sent_msgs", "sent_bytes", "received_msgs", "received_bytes",
)  # fmt: skip
JETSTREAM_SUMS = (
    "ha_assets", "memory", "file", "api", "api_errors", "pending", "pending_infos", "pending_requests",
)  # fmt: skip


@click.command(cls=Command)
@output.listing(SERVERS)
@click.option("--sort", type=click.Choice(list(SERVER_ORDERS)), default="conns", help="Order of the servers.")
@live.NUMBER
async def servers(sort: str, number: int) -> None:
    """Watch the load and the traffic of each server, every second until Ctrl-C.

    Servers report every ten seconds or so: it is no view of one moment.
    """
    latest = LatestDocuments()
    await live.follow(
        [SUBJECT],
        lambda message: _keep(latest, document_of(message)),
        lambda: _of_servers(latest.documents(), sort, number),
        ask=PING,
    )


@click.command(cls=Command)
@output.listing(JETSTREAM)
@click.option(
    "--sort", type=click.Choice(list(JETSTREAM_ORDERS)), default="assets", help="Order of the servers."
)
@live.NUMBER
async def jetstream(sort: str, number: int) -> None:
    """Watch the JetStream of each server, every second until Ctrl-C; * is the leader of the meta group.

    Servers report every ten seconds or so: it is no view of one moment.
    """
    latest = LatestDocuments()
    await live.follow(
        [SUBJECT],
        lambda message: _keep(latest, document_of(message)),
        lambda: _of_jetstream(latest.documents(), sort, number),
        ask=PING,
    )


def _keep(latest: LatestDocuments, document: Record) -> None:
    server, statistics = document.get("server"), document.get("statsz")
    if isinstance(server, dict) and isinstance(statistics, dict):
        latest.keep(document, str(server.get("id", "")))


def _of_servers(documents: list[Record], sort: str, number: int) -> FilledTable:
    records = [_server(each) for each in documents]
    return _listed(SERVERS, records, SERVER_ORDERS[sort], number, SERVER_SUMS)


def _of_jetstream(documents: list[Record], sort: str, number: int) -> FilledTable:
    records = [_jetstream(each) for each in documents if each["statsz"].get("jetstream")]
    return _listed(JETSTREAM, records, JETSTREAM_ORDERS[sort], number, JETSTREAM_SUMS)


def _listed(
    table: Table, records: list[Record], order: tuple[str, str], number: int, summed: tuple[str, ...]
) -> FilledTable:
    field, title = order
    records.sort(key=lambda each: (0 if field == "name" else -each[field], each["name"]))
    shown = records[: room(number)]
    sums = {name: sum(each[name] for each in records) for name in summed}
    footer = {"name": f"Totals ({len(records)})"} | {
        column.field: column.cell(sums) for column in table.columns if column.field in sums
    }
    return table.of(shown, title=f"{top(len(shown), len(records))} {table.title} by {title}", footer=footer)


def _server(document: Record) -> Record:
    statistics = document["statsz"]
    counts = {
        name: statistics.get(name, 0)
        for name in ("connections", "subscriptions", "slow_consumers", "mem", "cpu", "cores")
    }
    links = {name: len(statistics.get(name) or ()) for name in ("routes", "gateways")}
    return {"name": str(document["server"].get("name", "")), **counts, **links, **flows(statistics)}


def _jetstream(document: Record) -> Record:
    name, found = str(document["server"].get("name", "")), document["statsz"]["jetstream"]
    stats, meta = found.get("stats") or {}, found.get("meta") or {}
    api, snapshot = stats.get("api") or {}, meta.get("snapshot") or {}
    leads, last = meta.get("leader") == name, str(snapshot.get("last_time") or "")
    return {
        "name": name,
        "leader": leads,
        "ha_assets": stats.get("ha_assets", 0),
        "memory": stats.get("memory", 0),
        "file": stats.get("storage", 0),
        "api": api.get("total", 0),
        "api_errors": api.get("errors", 0),
        "pending": meta.get("pending", 0),
        "pending_infos": meta.get("pending_infos", 0),
        "pending_requests": meta.get("pending_requests", 0),
        "snapshot": last if leads and words.parse_time(last) else "",
        "snapshot_took": snapshot.get("last_duration", 0) if leads else 0,
    }
