"""`pyjs server report leafnodes`: the leaf connections of each server, accepted and solicited."""

from __future__ import annotations

from typing import Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.output import BYTES, FLAG, NAME, NUMBER, WORD, Column, Table
from .archive import ARCHIVE, servers
from .order import REVERSE, ordered, sorting
from .poll import only, poll, selection

Info = dict[str, Any]
LEAFNODES = Table(
    "leafnodes",
    "Leafnode Report",
    (
        Column("server", "Server", NAME),
        Column("name", "Name", NAME),
        Column("account", "Account", NAME, same=True),
        Column("address", "Address", NAME),
        Column("rtt", "RTT", WORD),
        Column("in_msgs", "Msgs In", NUMBER),
        Column("out_msgs", "Msgs Out", NUMBER),
        Column("in_bytes", "Bytes In", BYTES),
        Column("out_bytes", "Bytes Out", BYTES),
        Column("subscriptions", "Subs", NUMBER),
        Column(
            "compression", "Compressed", WORD, show=lambda each: each["compression"] or "no", silent=("no",)
        ),
        Column("spoke", "Spoke", FLAG),
    ),
    spare=("compression", "spoke", "in_bytes", "out_bytes", "address", "subscriptions", "rtt"),
)
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
@output.listing(LEAFNODES, watch=True)
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--account", default="", help="Only links of this account.")
@sorting(KEYS, "server")
@REVERSE
@only
@ARCHIVE
async def leafnodes(
    limit: int, account: str, by: str, backwards: bool, host: str, cluster: str, tags: tuple[str, ...]
) -> None:
    """Report on leaf connections; ends with the answers of LIMIT servers when it is given."""
    request = {**selection(host, cluster, tags), **({"account": account} if account else {})}
    async with servers() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING.LEAFZ", request, expect=limit)
    found = [
        {**each, "server": answer.document["server"].get("name", "")}
        for answer in answers
        for each in (answer.document.get("data") or {}).get("leafs") or []
    ]
    output.show(LEAFNODES.of(_record(each) for each in ordered(found, KEYS, by, backwards)))


def _record(each: Info) -> Info:
    compression = each.get("compression", "")
    counts = ("in_msgs", "out_msgs", "in_bytes", "out_bytes", "subscriptions")
    return {
        "server": each["server"],
        "name": each.get("name", ""),
        "account": each.get("account", ""),
        "address": f"{each.get('ip', '')}:{each.get('port', '')}",
        "rtt": each.get("rtt", ""),
        **{name: each.get(name, 0) for name in counts},
        "compression": "" if compression in ("off", "not supported") else compression,
        "spoke": bool(each.get("is_spoke")),
    }
