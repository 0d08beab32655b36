"""`pyjs server report connections` and `accounts`: who is connected, and their traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ..stream.info import JSON
from .order import REVERSE, ordered, sorting
from .poll import only, poll, selection

Info = dict[str, Any]
STATES = {"open": 0, "closed": 1, "all": 2}  # the numbers of these in the service
TRAFFIC = ("In Msgs", "Out Msgs", "In Bytes", "Out Bytes")
FIELDS = ("in_msgs", "out_msgs", "in_bytes", "out_bytes")
COLUMNS = ("CID", "Name", "Server", "Cluster", "IP", "Account", "Uptime", *TRAFFIC, "Subs")


def _field(name: str) -> Callable[[Info], Any]:
    return lambda connection: connection.get(name, 0)


KEYS = {
    "in-bytes": _field("in_bytes"),
    "out-bytes": _field("out_bytes"),
    "in-msgs": _field("in_msgs"),
    "out-msgs": _field("out_msgs"),
    "uptime": lambda connection: render.since(connection.get("start", "")),
    "cid": _field("cid"),
    "subs": _field("subscriptions"),
}
TOP = click.option("--top", type=click.IntRange(min=1), default=1000, help="Show this many (default: 1000).")


@click.command(cls=Command)
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--account", default="", help="Only connections of this account.")
@sorting(KEYS, "subs")
@REVERSE
@TOP
@click.option("--subject", default="", help="Only connections subscribed to this subject.")
@click.option("--username", default="", help="Only connections of this user.")
@click.option("--state", type=click.Choice(tuple(STATES)), default="open", help="open, closed or all.")
@click.option("--closed-reason", default="", metavar="REASON", help="Only those closed for this reason.")
@only
@JSON
async def connections(
    limit: int,
    account: str,
    by: str,
    backwards: bool,
    top: int,
    subject: str,
    username: str,
    state: str,
    closed_reason: str,
    host: str,
    cluster: str,
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Report on connections; ends with the answers of LIMIT servers when it is given."""
    asked: Info = {"acc": account, "filter_subject": subject, "user": username}
    asked = {name: value for name, value in asked.items() if value}
    async with connect() as connection:
        found = await gathered(
            connection, {**asked, "state": STATES[state], **selection(host, cluster, tags)}, limit
        )
    if closed_reason:
        found = [each for each in found if closed_reason.lower() in each.get("reason", "").lower()]
    found = ordered(found, KEYS, by, backwards)
    if as_json:
        render.show_json(found[:top])
    else:
        show(found, by, top, reasons=state != "open")


async def gathered(connection: NatsConnection, asked: Info, expect: int = 0) -> list[Info]:
    """Return the connections of all servers, fetched page by page.

    Each has `server`, `server_id`, `cluster` and `now` added.
    """
    found: list[Info] = []
    offset = 0
    while True:
        request = {"auth": True, "subscriptions": False, "offset": offset, "limit": 1024, **asked}
        more = 0
        for answers in await poll(connection, "$SYS.REQ.SERVER.PING.CONNZ", request, expect=expect):
            server, data = answers.document["server"], answers.document.get("data") or {}
            listed = data.get("connections") or []
            where = {
                "server": server.get("name", ""),
                "server_id": server.get("id", ""),
                "cluster": server.get("cluster", ""),
                "now": server.get("time", ""),
            }
            found += [{**each, **where} for each in listed]
            more = max(more, data.get("total", 0) - offset - len(listed))
        offset += 1024
        if more <= 0:
            return found


def show(found: list[Info], by: str, top: int, *, reasons: bool) -> None:
    """Show the connections as a table with sums, and the number on each server."""
    shown = found[:top]
    rows = [_row(each, reasons) for each in shown]
    sums = _traffic([sum(each.get(name, 0) for each in shown) for name in FIELDS])
    subscriptions = render.number(sum(each.get("subscriptions", 0) for each in shown))
    footer = ("", f"Totals for {len(shown)} connections", *[""] * 5, *sums, subscriptions)
    title = f"Top {len(shown)} Connections out of {len(found)} by {by}"
    if reasons:
        render.show(render.table(title, (*COLUMNS, "Reason"), rows, (*footer, "")) + "\n")
    else:
        render.show(render.table(title, COLUMNS, rows, footer) + "\n")
    counts = Counter((each["server"], each["cluster"]) for each in found)
    per_server = [(*place, render.number(count)) for place, count in sorted(counts.items())]
    columns = ("Server", "Cluster", "Connections")
    render.show(render.table("Connections per server", columns, per_server) + "\n")


def _row(each: Info, reasons: bool) -> tuple[str, ...]:
    kind = "L" if each.get("kind") == "Leafnode" else ""
    cells = (
        f"{kind}{each.get('cid', '')}",
        each.get("name", ""),
        each["server"],
        each["cluster"],
        f"{each.get('ip', '')}:{each.get('port', '')}",
        each.get("account", ""),
        each.get("uptime", ""),
        *_traffic([each.get(name, 0) for name in FIELDS]),
        render.number(each.get("subscriptions", 0)),
    )
    return (*cells, each.get("reason", "")) if reasons else cells


def _traffic(values: Iterable[int]) -> list[str]:
    received, sent, received_bytes, sent_bytes = values
    return [
        render.number(received),
        render.number(sent),
        render.size(received_bytes),
        render.size(sent_bytes),
    ]


@dataclass
class Traffic:
    """The total traffic of an account's connections."""

    account: str
    connections: int = 0
    subscriptions: int = 0
    traffic: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FIELDS, 0))

    def document(self) -> Info:
        """Return the same as a JSON object."""
        counts = {"connections": self.connections, **self.traffic, "subscriptions": self.subscriptions}
        return {"account": self.account, **counts}


ACCOUNT_KEYS: dict[str, Callable[[Traffic], Any]] = {
    "in-bytes": lambda each: each.traffic["in_bytes"],
    "out-bytes": lambda each: each.traffic["out_bytes"],
    "in-msgs": lambda each: each.traffic["in_msgs"],
    "out-msgs": lambda each: each.traffic["out_msgs"],
    "conns": lambda each: each.connections,
    "subs": lambda each: each.subscriptions,
}


@click.command(cls=Command)
@click.argument("account", required=False, default="")
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@sorting(ACCOUNT_KEYS, "subs")
@REVERSE
@TOP
@only
@JSON
async def accounts(
    account: str,
    limit: int,
    by: str,
    backwards: bool,
    top: int,
    host: str,
    cluster: str,
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Report on the traffic of accounts, or on the connections of one account."""
    asked = {"acc": account} if account else {}
    async with connect() as connection:
        found = await gathered(connection, {**asked, **selection(host, cluster, tags)}, limit)
    if account:
        chosen = ordered(found, KEYS, by if by in KEYS else "subs", backwards)
        if as_json:
            render.show_json(chosen[:top])
        else:
            show(chosen, by, top, reasons=False)
        return
    rows = ordered(_by_account(found), ACCOUNT_KEYS, by, backwards)[:top]
    if as_json:
        render.show_json([each.document() for each in rows])
        return
    cells = [
        (
            each.account,
            render.number(each.connections),
            *_traffic([each.traffic[name] for name in FIELDS]),
            render.number(each.subscriptions),
        )
        for each in rows
    ]
    title = f"{len(rows)} Accounts Overview"
    render.show(render.table(title, ("Account", "Connections", *TRAFFIC, "Subs"), cells) + "\n")


def _by_account(found: list[Info]) -> list[Traffic]:
    accounts: dict[str, Traffic] = {}
    for connection in found:
        name = connection.get("account", "")
        each = accounts.setdefault(name, Traffic(name))
        each.connections += 1
        each.subscriptions += connection.get("subscriptions", 0)
        for key in FIELDS:
            each.traffic[key] += connection.get(key, 0)
    return sorted(accounts.values(), key=lambda each: each.account)
