"""`pyjs server report leafnodes`: the leaf connections of each server, accepted and solicited."""

from __future__ import annotations

from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from .order import REVERSE, ordered, sorting
from .poll import only, poll, selection

Info = dict[str, Any]
COLUMNS = ("Server", "Name", "Account", "Address", "RTT", "Msgs In", "Msgs Out", "Bytes In", "Bytes Out",
           "Subs", "Compressed", "Spoke")  # fmt: skip
KEYS = {
    "server": lambda link: link["server"],
    "name": lambda link: link.get("name", ""),
    "account": lambda link: link.get("account", ""),
    "subs": lambda link: link.get("subscriptions", 0),
    "in-bytes": lambda link: link.get("in_bytes", 0),
    "out-bytes": lambda link: link.get("out_bytes", 0),
    "in-msgs": lambda link: link.get("in_msgs", 0),
    "out-msgs": lambda link: link.get("out_msgs", 0),
}


@click.command(cls=Command)
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--account", default="", help="Only links of this account.")
@sorting(KEYS, "server")
@REVERSE
@only
async def leafnodes(
    limit: int, account: str, by: str, backwards: bool, host: str, cluster: str, tags: tuple[str, ...]
) -> None:
    """Report on leaf connections; ends with the answers of LIMIT servers when it is given."""
    request = {**selection(host, cluster, tags), **({"account": account} if account else {})}
    async with connect() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING.LEAFZ", request, expect=limit)
    found = [
        {**each, "server": answer.document["server"].get("name", "")}
        for answer in answers
        for each in (answer.document.get("data") or {}).get("leafs") or []
    ]
    rows = [_row(each) for each in ordered(found, KEYS, by, backwards)]
    render.show(render.table("Leafnode Report", COLUMNS, rows) + "\n")


def _row(each: Info) -> tuple[str, ...]:
    compression = each.get("compression", "")
    return (
        each["server"],
        each.get("name", ""),
        each.get("account", ""),
        f"{each.get('ip', '')}:{each.get('port', '')}",
        each.get("rtt", ""),
        render.number(each.get("in_msgs", 0)),
        render.number(each.get("out_msgs", 0)),
        render.size(each.get("in_bytes", 0)),
        render.size(each.get("out_bytes", 0)),
        render.number(each.get("subscriptions", 0)),
        compression if compression not in ("", "off", "not supported") else "no",
        "yes" if each.get("is_spoke") else "no",
    )
