"""`pyjs server list`: every server that the system account sees, and their clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.output import BYTES, DECIMAL, FLAG, NAME, NUMBER, SPAN, WORD, Column, FilledTable, Table
from .archive import ARCHIVE, servers
from .order import ordered, sorting
from .poll import TimedResponse, compacted, poll

Info = dict[str, Any]
SERVERS = Table(
    "servers",
    "Server Overview",
    (
        Column("name", "Name", NAME, show=lambda each: each["shown"]),
        Column("cluster", "Cluster", NAME, same=True),
        Column("host", "IP", NAME),
        Column("version", "Version", WORD, same=True),
        Column("jetstream", "JS", FLAG, same=True),
        Column("connections", "Conns", NUMBER, show=lambda each: str(each["connections"])),
        Column("subscriptions", "Subs", NUMBER, show=lambda each: str(each["subscriptions"])),
        Column("routes", "Routes", NUMBER, silent=("0",)),
        Column("gateways", "GWs", NUMBER, silent=("0",)),
        Column("mem", "Mem", BYTES),
        Column("cpu", "CPU", DECIMAL, show=lambda each: f"{each['cpu']:.1f}"),
        Column("slow_consumers", "Slow", NUMBER, show=lambda each: each["slow"], silent=("0",)),
        Column("uptime", "Uptime", SPAN),
        Column("rtt", "RTT", SPAN, show=lambda each: render.go_span(each["rtt"])),
        Column("id", "ID", NAME, wide=True),
        Column("domain", "Domain", NAME, wide=True),
    ),
    spare=("host", "gateways", "routes", "subscriptions", "rtt", "jetstream", "version", "cluster"),
)
CLUSTERS = Table(
    "clusters",
    "Cluster Overview",
    (
        Column("name", "Cluster", NAME),
        Column("nodes", "Node Count", NUMBER, show=lambda each: str(each["nodes"])),
        Column("outgoing", "Outgoing Gateways", NUMBER),
        Column("incoming", "Incoming Gateways", NUMBER),
        Column("connections", "Connections", NUMBER, show=lambda each: str(each["connections"])),
    ),
    empty="",
)


def _who(answers: TimedResponse) -> Info:
    return answers.document.get("server") or {}


def _stats(answers: TimedResponse) -> Info:
    return answers.document.get("statsz") or {}


def _name(answers: TimedResponse) -> Any:
    return _who(answers).get("name", "")


def _links(key: str) -> Any:
    return lambda answers: (len(_stats(answers).get(key) or []), _name(answers))


def _number(key: str) -> Any:
    return lambda answers: _stats(answers).get(key, 0)


KEYS = {
    "name": _name,
    "cluster": lambda answers: (_who(answers).get("cluster", ""), _name(answers)),
    "conns": _number("connections"),
    "conn": _number("connections"),
    "subs": _number("subscriptions"),
    "sub": _number("subscriptions"),
    "routes": _links("routes"),
    "route": _links("routes"),
    "gw": _links("gateways"),
    "mem": _number("mem"),
    "cpu": _number("cpu"),
    "slow": _number("slow_consumers"),
    "uptime": lambda answers: _stats(answers).get("start", ""),
    "rtt": lambda answers: answers.after,
}
ASCENDING = {"name", "cluster", "uptime"}  # the keys by which the first row is the most interesting one


@click.command(cls=Command)
@output.listing(SERVERS, CLUSTERS, watch=True, legacy="the answers of the servers")
@click.argument("expect", required=False, type=click.IntRange(min=0), default=0)
@sorting(KEYS, "rtt")
@click.option("-R", "--reverse", "backwards", is_flag=True, help="Sort in reverse order.")
@click.option("--compact/--no-compact", default=True, help="Shorten server names (default: yes).")
@ARCHIVE
async def ls(expect: int, by: str, backwards: bool, compact: bool) -> None:
    """List the servers; ends with EXPECT answers when it is given."""
    async with servers() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING", expect=expect)
    document = [each.document for each in answers]
    answers = ordered(answers, KEYS, by, backwards != (by in ASCENDING))
    names = [_name(each) for each in answers]
    shown = compacted(names) if compact else names
    clusters = _clusters(answers)
    output.show(
        SERVERS.of(map(_record, shown, answers), footer=_footer(answers, clusters)),
        _overview(clusters),
        document=document,
    )


def _record(shown: str, answers: TimedResponse) -> Info:
    server, stats = _who(answers), _stats(answers)
    return {
        "name": server.get("name", ""),
        "shown": shown,
        "cluster": server.get("cluster", ""),
        "host": server.get("host", ""),
        "version": server.get("ver", ""),
        "jetstream": bool(server.get("jetstream")),
        "connections": stats.get("connections", 0),
        "subscriptions": stats.get("subscriptions", 0),
        "routes": len(stats.get("routes") or []),
        "gateways": len(stats.get("gateways") or []),
        "mem": stats.get("mem", 0),
        "cpu": stats.get("cpu", 0),
        "slow_consumers": stats.get("slow_consumers", 0),
        "slow": _slow(stats),
        "uptime": render.since(stats.get("start", ""), server.get("time", "")),
        "rtt": answers.after,
        "id": server.get("id", ""),
        "domain": server.get("domain", ""),
    }


def _slow(stats: Info) -> str:
    """Return the slow consumers, by kind of connection if there are others than clients."""
    kinds = stats.get("slow_consumer_stats") or {}
    parts = [
        f"{key[0]}: {render.number(kinds[key])}"
        for key in ("clients", "routes", "gateways", "leafs")
        if kinds.get(key)
    ]
    total = render.number(stats.get("slow_consumers", 0))
    if not parts or (len(parts) == 1 and kinds.get("clients")):
        return total
    return f"{total} ({' '.join(parts)})"


@dataclass
class ClusterTotals:
    """The totals of a cluster's servers."""

    nodes: int = 0
    connections: int = 0
    outgoing: int = 0
    incoming: int = 0
    routes: set[int] = field(default_factory=set)  # numbers of routes its servers have: one if all is well


def _clusters(answers: list[TimedResponse]) -> dict[str, ClusterTotals]:
    """Return the clusters, in the order in which their servers are listed."""
    found: dict[str, ClusterTotals] = {}
    for each in answers:
        name, stats = _who(each).get("cluster", ""), _stats(each)
        if name:
            cluster = found.setdefault(name, ClusterTotals())
            gateways = stats.get("gateways") or []
            cluster.nodes += 1
            cluster.connections += stats.get("connections", 0)
            cluster.outgoing += len(gateways)
            cluster.incoming += sum(gateway.get("inbound_connections", 0) for gateway in gateways)
            cluster.routes.add(len(stats.get("routes") or []))
    return found


def _footer(answers: list[TimedResponse], clusters: dict[str, ClusterTotals]) -> dict[str, str]:
    """Return sums, and an X below a column in which servers differ that should not."""

    def total(key: str) -> int:
        return sum(_stats(each).get(key, 0) for each in answers)

    def differing(values: set[Any]) -> str:
        return "X" if len(values) > 1 else ""

    return {
        "cluster": counted(len(clusters), "Cluster"),
        "host": counted(len(answers), "Server"),
        "version": differing({_who(each).get("ver") for each in answers}),
        "jetstream": str(sum(bool(_who(each).get("jetstream")) for each in answers)),
        "connections": str(total("connections")),
        "subscriptions": str(total("subscriptions")),
        "routes": "X" if any(len(cluster.routes) > 1 for cluster in clusters.values()) else "",
        "gateways": differing({len(_stats(each).get("gateways") or []) for each in answers}),
        "mem": render.size(total("mem")),
        "slow_consumers": render.number(total("slow_consumers")),
    }


def counted(number: int, what: str) -> str:
    """Return a number of things: `1 Cluster`, `9 Servers`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _overview(clusters: dict[str, ClusterTotals]) -> FilledTable:
    records: list[Info] = [
        {
            "name": name,
            "nodes": each.nodes,
            "outgoing": each.outgoing,
            "incoming": each.incoming,
            "connections": each.connections,
        }
        for name, each in clusters.items()
    ]
    counted = ("nodes", "outgoing", "incoming", "connections")
    return CLUSTERS.of(records, footer={name: sum(each[name] for each in records) for name in counted})
