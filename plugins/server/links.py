"""`pyjs server report routes` and `gateways`: the connections between servers."""

from __future__ import annotations

from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from .order import REVERSE
from .poll import only, poll, selection

Info = dict[str, Any]
ROUTES = ("Server", "Cluster", "Name", "Account", "Address", "ID", "Uptime", "RTT", "Subs", "Bytes In",
          "Bytes Out")  # fmt: skip
GATEWAYS = ("Server", "Name", "Port", "Kind", "Connection", "ID", "Uptime", "RTT", "Bytes",
            "Accounts")  # fmt: skip
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
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--sort", "by", type=click.Choice(tuple(SORTS)), default="server", help="Sort by this.")
@REVERSE
@only
async def routes(
    limit: int, by: str, backwards: bool, host: str, cluster: str, tags: tuple[str, ...]
) -> None:
    """Report on routes, the connections inside a cluster; ends with the answers of LIMIT servers."""
    async with connect() as connection:
        answers = await poll(
            connection, "$SYS.REQ.SERVER.PING.ROUTEZ", selection(host, cluster, tags), expect=limit
        )
    found = [
        _route(answer.document, each) for answer in answers for each in _entries(answer.document, "routes")
    ]
    found.sort(key=lambda each: (each[SORTS[by]], *(each[name] for name in PLACE)), reverse=backwards)
    rows = _without_repeats([_cells(each) for each in found], 3)
    subs, received, sent = (sum(e[n] for e in found) for n in ("subscriptions", "in_bytes", "out_bytes"))
    servers, clusters = ({each[name] for each in found} for name in ("server", "cluster"))
    counts = (len(servers), len(clusters), "", "", len(found), "", "", "")
    footer = (*counts, render.number(subs), render.size(received), render.size(sent))
    render.show(render.table("Cluster Report", ROUTES, rows, footer) + "\n")


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
        "now": server.get("time", ""),
    }


def _cells(each: Info) -> list[str]:
    account = each["account"]
    return [
        each["server"],
        each["cluster"],
        each["name"],
        f"{account[:10]}...{account[-10:]}" if len(account) > 23 else account,
        f"{each.get('ip', '')}:{each.get('port', '')}",
        f"rid:{each.get('rid', '')}",
        render.span(render.since(each.get("start", ""), each["now"])),
        each.get("rtt", ""),
        render.number(each["subscriptions"]),
        render.size(each["in_bytes"]),
        render.size(each["out_bytes"]),
    ]


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
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--filter-name", "name", default="", help="Only gateways to this cluster.")
@click.option(
    "--sort", "by", type=click.Choice(("server", "cluster")), default="cluster", help="Sort by this."
)
@REVERSE
@only
async def gateways(
    limit: int, name: str, by: str, backwards: bool, host: str, cluster: str, tags: tuple[str, ...]
) -> None:
    """Report on gateways, the connections between clusters; ends with the answers of LIMIT servers."""
    asked = {"accounts": True, **({"name": name} if name else {}), **selection(host, cluster, tags)}
    async with connect() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING.GATEWAYZ", asked, expect=limit)
    keys = ("cluster", "name") if by == "cluster" else ("name", "cluster")
    found = sorted(
        (each.document for each in answers),
        key=lambda each: [each["server"].get(key, "") for key in keys],
        reverse=backwards,
    )
    rows: list[tuple[str, ...]] = []
    total = count = 0
    for each in found:
        server, data = each["server"], each.get("data") or {}
        own = (server.get("name", ""), server.get("cluster", ""), str(data.get("port", 0)))
        rows.append((*own, *("" for _ in GATEWAYS[3:])))
        for kind, size, there, gateway in _gateways(data):
            gateway_connection = gateway.get("connection") or {}
            total += gateway_connection.get(size, 0)
            count += 1
            rows.append(("", "", "", kind, *_gateway_cells(there, gateway_connection, size, gateway)))
    clusters = {each["server"].get("cluster", "") for each in found}
    footer = (len(found), len(clusters), "", "", count, "", "", "", render.size(total), "")
    render.show(render.table("Super Cluster Report", GATEWAYS, rows, footer) + "\n")


def _gateways(data: Info) -> list[tuple[str, str, str, Info]]:
    """Return (kind, the field of its bytes, the other cluster, the gateway) for all gateways of a server."""
    inbound = data.get("inbound_gateways") or {}
    outbound = data.get("outbound_gateways") or {}
    found = [("Inbound", "in_bytes", there, each) for there, many in inbound.items() for each in many]
    return found + [("Outbound", "out_bytes", there, each) for there, each in outbound.items()]


def _gateway_cells(there: str, gateway_connection: Info, size: str, gateway: Info) -> tuple[str, ...]:
    return (
        f"{there} {gateway_connection.get('ip', '')}:{gateway_connection.get('port', '')}",
        f"gid:{gateway_connection.get('cid', '')}",
        gateway_connection.get("uptime", ""),
        gateway_connection.get("rtt", ""),
        render.size(gateway_connection.get(size, 0)),
        render.number(len(gateway.get("accounts") or [])),
    )
