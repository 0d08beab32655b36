"""`pyjs server report connections` and `accounts`: who is connected, and their traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.output import BYTES, NAME, NUMBER, TEXT, WORD, Column, Table
from .order import REVERSE, ordered, sorting
from .poll import only, poll, selection

Info = dict[str, Any]
STATES = {"open": 0, "closed": 1, "all": 2}  # the numbers of these in the service
TRAFFIC = ("In Msgs", "Out Msgs", "In Bytes", "Out Bytes")
FIELDS = ("in_msgs", "out_msgs", "in_bytes", "out_bytes")


def _marked(each: Info) -> str:
    """Return the number of a connection, marked for one that is no client's."""
    return ("L" if each["kind"] == "Leafnode" else "") + str(each["cid"])


MOVED = tuple(
    Column(field, title, BYTES if field.endswith("bytes") else NUMBER)
    for field, title in zip(FIELDS, TRAFFIC, strict=True)
)
SUBS = Column("subscriptions", "Subs", NUMBER)
CONNECTIONS = Table(
    "connections",
    "Connections",
    (
        Column("cid", "CID", NUMBER, show=_marked),
        Column("name", "Name", NAME),
        Column("server", "Server", NAME, same=True),
        Column("cluster", "Cluster", NAME, same=True),
        Column("address", "IP", NAME),
        Column("account", "Account", NAME),
        Column("uptime", "Uptime", WORD),
        *MOVED,
        SUBS,
        Column("reason", "Reason", TEXT, optional=True),
        Column("kind", "Kind", WORD, wide=True),
        Column("user", "User", NAME, wide=True),
        Column("lang", "Language", WORD, wide=True),
        Column("version", "Version", WORD, wide=True),
        Column("rtt", "RTT", WORD, wide=True),
        Column("pending_bytes", "Pending", BYTES, wide=True),
    ),
    key="cid",
)
PER_SERVER = Table(
    "servers",
    "Connections per server",
    (
        Column("server", "Server", NAME),
        Column("cluster", "Cluster", NAME),
        Column("connections", "Connections", NUMBER),
    ),
    key="server",
)
ACCOUNTS = Table(
    "accounts",
    "Accounts Overview",
    (Column("account", "Account", NAME), Column("connections", "Connections", NUMBER), *MOVED, SUBS),
    key="account",
)


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
@output.listing(CONNECTIONS, PER_SERVER, watch=True, legacy="the connections as connz has them")
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
    show(found, by, top)


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


def show(found: list[Info], by: str, top: int) -> None:
    """Show the connections as a table with sums, and the number on each server."""
    shown = found[:top]
    sums = {name: sum(each.get(name, 0) for each in shown) for name in (*FIELDS, "subscriptions")}
    footer = {column.field: column.kind.text(sums[column.field]) for column in (*MOVED, SUBS)}
    footer["name"] = f"Totals for {len(shown)} connections"
    title = f"Top {len(shown)} Connections out of {len(found)} by {by}"
    counts = Counter((each["server"], each["cluster"]) for each in found)
    output.show(
        CONNECTIONS.of([_record(each) for each in shown], title=title, footer=footer),
        PER_SERVER.of(
            {"server": server, "cluster": cluster, "connections": count}
            for (server, cluster), count in sorted(counts.items())
        ),
        document=shown,
    )


def _record(each: Info) -> Info:
    texts = ("name", "account", "uptime", "reason", "lang", "version", "rtt")
    return {
        "cid": each.get("cid", 0),
        "kind": each.get("kind", "Client"),
        "server": each["server"],
        "cluster": each["cluster"],
        "address": f"{each.get('ip', '')}:{each.get('port', '')}",
        "user": each.get("authorized_user", ""),
        "pending_bytes": each.get("pending_bytes", 0),
        **{name: each.get(name, "") for name in texts},
        **{name: each.get(name, 0) for name in (*FIELDS, "subscriptions")},
    }


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
@output.listing(ACCOUNTS, watch=True, alternative=(CONNECTIONS, PER_SERVER))
@click.argument("account", required=False, default="")
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@sorting(ACCOUNT_KEYS, "subs")
@REVERSE
@TOP
@only
async def accounts(
    account: str,
    limit: int,
    by: str,
    backwards: bool,
    top: int,
    host: str,
    cluster: str,
    tags: tuple[str, ...],
) -> None:
    """Report on the traffic of accounts, or on the connections of one account."""
    asked = {"acc": account} if account else {}
    async with connect() as connection:
        found = await gathered(connection, {**asked, **selection(host, cluster, tags)}, limit)
    if account:
        chosen = ordered(found, KEYS, by if by in KEYS else "subs", backwards)
        show(chosen, by, top)
        return
    rows = ordered(_by_account(found), ACCOUNT_KEYS, by, backwards)[:top]
    documents = [each.document() for each in rows]
    output.show(ACCOUNTS.of(documents, title=f"{len(rows)} Accounts Overview"), document=documents)


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
