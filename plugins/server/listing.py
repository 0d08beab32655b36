"""`pyjs server list`: every server that the system account sees, and their clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from ..stream.info import JSON
from .order import ordered, sorting
from .poll import TimedResponse, compacted, poll

Info = dict[str, Any]
COLUMNS = ("Name", "Cluster", "IP", "Version", "JS", "Conns", "Subs", "Routes", "GWs", "Mem", "CPU",
           "Slow", "Uptime", "RTT")  # fmt: skip
CLUSTERS = ("Cluster", "Node Count", "Outgoing Gateways", "Incoming Gateways", "Connections")


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
@click.argument("expect", required=False, type=click.IntRange(min=0), default=0)
@JSON
@sorting(KEYS, "rtt")
@click.option("-R", "--reverse", "backwards", is_flag=True, help="Sort in reverse order.")
@click.option("--compact/--no-compact", default=True, help="Shorten server names (default: yes).")
async def ls(expect: int, as_json: bool, by: str, backwards: bool, compact: bool) -> None:
    """List the servers; ends with EXPECT answers when it is given."""
    async with connect() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING", expect=expect)
    if as_json:
        render.show_json([each.document for each in answers])
        return
    answers = ordered(answers, KEYS, by, backwards != (by in ASCENDING))
    names = [_name(each) for each in answers]
    shown = compacted(names) if compact else names
    rows = [_row(name, each) for name, each in zip(shown, answers, strict=True)]
    clusters = _clusters(answers)
    render.show(render.table("Server Overview", COLUMNS, rows, _footer(answers, clusters)) + "\n")
    _show_clusters(clusters)


def _row(name: str, answers: TimedResponse) -> tuple[str, ...]:
    server, stats = _who(answers), _stats(answers)
    return (
        name,
        server.get("cluster", ""),
        server.get("host", ""),
        server.get("ver", ""),
        "yes" if server.get("jetstream") else "no",
        str(stats.get("connections", 0)),
        str(stats.get("subscriptions", 0)),
        str(len(stats.get("routes") or [])),
        str(len(stats.get("gateways") or [])),
        render.size(stats.get("mem", 0)),
        f"{stats.get('cpu', 0):.1f}",
        _slow(stats),
        render.span(render.since(stats.get("start", ""), server.get("time", ""))),
        render.go_span(answers.after),
    )


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


def _footer(answers: list[TimedResponse], clusters: dict[str, ClusterTotals]) -> tuple[str, ...]:
    """Return sums, and an X below a column in which servers differ that should not."""

    def total(key: str) -> int:
        return sum(_stats(each).get(key, 0) for each in answers)

    def differing(values: set[Any]) -> str:
        return "X" if len(values) > 1 else ""

    return (
        "",
        counted(len(clusters), "Cluster"),
        counted(len(answers), "Server"),
        differing({_who(each).get("ver") for each in answers}),
        str(sum(bool(_who(each).get("jetstream")) for each in answers)),
        str(total("connections")),
        str(total("subscriptions")),
        "X" if any(len(cluster.routes) > 1 for cluster in clusters.values()) else "",
        differing({len(_stats(each).get("gateways") or []) for each in answers}),
        render.size(total("mem")),
        "",
        render.number(total("slow_consumers")),
        "",
        "",
    )


def counted(number: int, what: str) -> str:
    """Return a number of things: `1 Cluster`, `9 Servers`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _show_clusters(clusters: dict[str, ClusterTotals]) -> None:
    if not clusters:
        return
    rows = [
        (name, each.nodes, each.outgoing, each.incoming, each.connections) for name, each in clusters.items()
    ]
    whole = clusters.values()
    footer = (
        "",
        sum(each.nodes for each in whole),
        sum(each.outgoing for each in whole),
        sum(each.incoming for each in whole),
        sum(each.connections for each in whole),
    )
    render.show(render.table("Cluster Overview", CLUSTERS, rows, footer) + "\n")
