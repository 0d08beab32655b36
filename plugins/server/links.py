"""`pyjs server report routes` and `gateways`: the connections between servers."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.output import BYTES, NAME, NUMBER, SPAN, WORD, Column, Table
from .archive import ARCHIVE, servers
from .order import REVERSE
from .poll import only, poll, selection

Info = dict[str, Any]


def _shortened(each: Info) -> str:
    """Return an account; the middle of one that is a key is left out."""
    account = str(each["account"])
    return f"{account[:10]}...{account[-10:]}" if len(account) > 23 else account


ROUTES = Table(
    "routes",
    "Cluster Report",
    (
        Column("server", "Server", NAME),
        Column("cluster", "Cluster", NAME),
        Column("name", "Name", NAME),
        Column("account", "Account", NAME, show=_shortened),
        Column("address", "Address", NAME),
        Column("rid", "ID", NUMBER, show=lambda each: f"rid:{each['rid']}"),
        Column("uptime", "Uptime", SPAN),
        Column("rtt", "RTT", WORD),
        Column("subscriptions", "Subs", NUMBER),
        Column("in_bytes", "Bytes In", BYTES),
        Column("out_bytes", "Bytes Out", BYTES),
    ),
    spare=("rid", "cluster", "subscriptions", "account", "uptime", "address"),
)
GATEWAYS = Table(
    "gateways",
    "Super Cluster Report",
    (
        Column("server", "Server", NAME),
        Column("cluster", "Name", NAME),
        Column("port", "Port", NUMBER),
        Column("kind", "Kind", WORD),
        Column("connection", "Connection", NAME),
        Column("cid", "ID", NUMBER, show=lambda each: f"gid:{each['cid']}"),
        Column("uptime", "Uptime", WORD),
        Column("rtt", "RTT", WORD),
        Column("bytes", "Bytes", BYTES),
        Column("accounts", "Accounts", NUMBER),
        Column("remote", "Remote Cluster", NAME, wide=True),
    ),
    key="server",
    spare=("accounts", "cid", "port", "uptime"),
)
PLACE = ("server", "cluster", "name", "account")  # what breaks a tie, in this order
NOTHING: Info = {"subscriptions": 0, "in_bytes": 0, "out_bytes": 0, "account": ""}
SORTS = {
    "server": "server",
    "cluster": "cluster",
    "name": "name",
    "account": "account",
    "subs": "subscriptions",
    "in-bytes": "in_bytes",
    "out-bytes": "out_bytes",
}


@click.command(cls=Command)
@output.listing(ROUTES, watch=True)
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--sort", "by", type=click.Choice(tuple(SORTS)), default="server", help="Sort by this.")
@REVERSE
@only
@ARCHIVE
async def routes(
    limit: int, by: str, backwards: bool, host: str, cluster: str, tags: tuple[str, ...]
) -> None:
    """Report on routes, the connections inside a cluster; ends with the answers of LIMIT servers."""
    async with servers() as connection:
        answers = await poll(
            connection, "$SYS.REQ.SERVER.PING.ROUTEZ", selection(host, cluster, tags), expect=limit
        )
    found = [
        _route(answer.document, each) for answer in answers for each in _entries(answer.document, "routes")
    ]
    found.sort(key=lambda each: (each[SORTS[by]], *(each[name] for name in PLACE)), reverse=backwards)
    subs, received, sent = (sum(e[n] for e in found) for n in ("subscriptions", "in_bytes", "out_bytes"))
    footer = {
        "server": len({each["server"] for each in found}),
        "cluster": len({each["cluster"] for each in found}),
        "address": len(found),
        "subscriptions": render.number(subs),
        "in_bytes": render.size(received),
        "out_bytes": render.size(sent),
    }
    cells = [[column.cell(each) for column in ROUTES.columns] for each in found]
    output.show(ROUTES.of(found, cells=_without_repeats(cells, 3), footer=footer))


def _entries(document: Info, key: str) -> list[Info]:
    return (document.get("data") or {}).get(key) or []


def _route(document: Info, route: Info) -> Info:
    """Return a route with the server that reported it, and with all keys that it is sorted by."""
    server = document["server"]
    return {
        **NOTHING,
        **route,
        "server": server.get("name", ""),
        "cluster": server.get("cluster", ""),
        "name": route.get("remote_name", ""),
        "address": f"{route.get('ip', '')}:{route.get('port', '')}",
        "uptime": render.since(route.get("start", ""), server.get("time", "")),
    }


def _without_repeats(rows: list[list[str]], columns: int) -> list[list[str]]:
    """Return the rows with their first columns empty where they repeat the row above."""
    shown = [list(row) for row in rows]
    for above, row, out in zip(rows, rows[1:], shown[1:], strict=False):
        for column in range(columns):
            if row[column] != above[column]:
                break
            out[column] = ""
    return shown


@click.command(cls=Command)
@output.listing(GATEWAYS, watch=True)
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--filter-name", "name", default="", help="Only gateways to this cluster.")
@click.option(
    "--sort", "by", type=click.Choice(("server", "cluster")), default="cluster", help="Sort by this."
)
@REVERSE
@only
@ARCHIVE
async def gateways(
    limit: int, name: str, by: str, backwards: bool, host: str, cluster: str, tags: tuple[str, ...]
) -> None:
    """Report on gateways, the connections between clusters; ends with the answers of LIMIT servers."""
    asked = {"accounts": True, **({"name": name} if name else {}), **selection(host, cluster, tags)}
    async with servers() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING.GATEWAYZ", asked, expect=limit)
    keys = ("cluster", "name") if by == "cluster" else ("name", "cluster")
    found = sorted(
        (each.document for each in answers),
        key=lambda each: [each["server"].get(key, "") for key in keys],
        reverse=backwards,
    )
    records: list[Info] = []
    cells: list[list[str]] = []
    for each in found:
        server, data = each["server"], each.get("data") or {}
        own = {
            "server": server.get("name", ""),
            "cluster": server.get("cluster", ""),
            "port": data.get("port", 0),
        }
        links = [{**own, **link} for link in _gateways(data)]
        cells.append([str(own.get(column.field, "")) for column in GATEWAYS.columns])
        cells += [["", "", "", *(column.cell(link) for column in GATEWAYS.columns[3:])] for link in links]
        records += links
    clusters = {each["server"].get("cluster", "") for each in found}
    total = render.size(sum(each["bytes"] for each in records))
    footer = {"server": len(found), "cluster": len(clusters), "connection": len(records), "bytes": total}
    output.show(GATEWAYS.of(records, cells=cells, footer=footer))


def _gateways(data: Info) -> list[Info]:
    """Return the gateways of a server, inbound ones first."""
    inbound = data.get("inbound_gateways") or {}
    outbound = data.get("outbound_gateways") or {}
    found = [_gateway("Inbound", "in_bytes", there, each) for there, many in inbound.items() for each in many]
    return found + [_gateway("Outbound", "out_bytes", there, each) for there, each in outbound.items()]


def _gateway(kind: str, size: str, there: str, gateway: Info) -> Info:
    """Return a gateway to the cluster `there`, with its bytes in the direction of its kind."""
    link = gateway.get("connection") or {}
    return {
        "kind": kind,
        "connection": f"{there} {link.get('ip', '')}:{link.get('port', '')}",
        "cid": link.get("cid", 0),
        "uptime": link.get("uptime", ""),
        "rtt": link.get("rtt", ""),
        "bytes": link.get(size, 0),
        "accounts": len(gateway.get("accounts") or []),
        "remote": there,
    }
