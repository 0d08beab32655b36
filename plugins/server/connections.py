"""`pyjs server report connections` and `accounts`: who is connected, and their traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.expression import compiled
from ...cli.output import BYTES, NAME, NUMBER, TEXT, WORD, Column, Table
from .archive import ARCHIVE, Source, servers
from .order import REVERSE, ordered, sorting
from .poll import only, poll, selection

Info = dict[str, Any]
STATES = {"open": 0, "closed": 1, "all": 2}  # the numbers of these in the service
TRAFFIC = ("In Msgs", "Out Msgs", "In Bytes", "Out Bytes")
ADDED = {"server", "server_id", "cluster", "now", "server_info"}  # to what connz has of a connection
FIELDS = ("in_msgs", "out_msgs", "in_bytes", "out_bytes")


def _marked(each: Info) -> str:
    """Return the number of a connection, marked for one that is no client's."""
    return ("L" if each["kind"] == "Leafnode" else "") + str(each["cid"])


def _name(each: Info) -> str:
    """Return the name of a connection, the client id of an MQTT client."""
    return str(each.get("name") or each.get("mqtt_client") or "")


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
        Column("name", "Name", NAME, show=_name),
        Column("server", "Server", NAME, same=True),
        Column("cluster", "Cluster", NAME, same=True),
        Column("address", "IP", WORD),
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
    spare=("cluster", "in_bytes", "out_bytes", "uptime", "server", "account"),
)
PER_SERVER = Table(
    "servers",
    "Connections per server",
    (
        Column("server", "Server", NAME),
        Column("cluster", "Cluster", NAME, same=True),
        Column("connections", "Connections", NUMBER),
    ),
    key="server",
    spare=("cluster",),
)
ACCOUNTS = Table(
    "accounts",
    "Accounts Overview",
    (Column("account", "Account", NAME), Column("connections", "Connections", NUMBER), *MOVED, SUBS),
    key="account",
    spare=("out_bytes", "in_bytes", "subscriptions"),
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


def selecting(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select connections to a command."""
    states = click.Choice(tuple(STATES))
    for option in (
        click.option("--closed-reason", default="", metavar="REASON", help="Only those closed for it."),
        click.option("--state", type=states, default="open", help="open, closed or all."),
        click.option("--username", default="", help="Only connections of this user."),
        click.option("--subject", default="", help="Only connections subscribed to this subject."),
    ):
        callback = option(callback)
    return callback


@click.command(cls=Command)
@output.listing(CONNECTIONS, PER_SERVER, watch=True, legacy="the connections as connz has them")
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--account", default="", help="Only connections of this account.")
@click.option("--filter", "expression", default="", help="For which this holds: 'conn.subscriptions > 10'.")
@sorting(KEYS, "subs")
@REVERSE
@TOP
@selecting
@only
@ARCHIVE
async def connections(
    limit: int,
    account: str,
    expression: str,
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
    asked = asked_of(subject, username, state) | ({"acc": account} if account else {})
    async with servers() as connection:
        found = await gathered(connection, {**asked, **selection(host, cluster, tags)}, limit)
    if expression:
        holds = compiled(expression, ("conn", "conns", "server"))
        found = [each for each in found if holds(_scope(each))]
    show(chosen(found, by, backwards, closed_reason), by, top)


def _scope(each: Info) -> Info:
    """Return the names that an expression about a connection has, as `nats` has them."""
    return {"conn": each, "conns": each, "server": each["server_info"]}


def asked_of(subject: str, username: str, state: str) -> Info:
    """Return the values of `selecting` that servers look at, as fields of a request."""
    asked = {"filter_subject": subject, "user": username}
    return {name: value for name, value in asked.items() if value} | {"state": STATES[state]}


def chosen(found: list[Info], by: str, backwards: bool, closed_reason: str = "") -> list[Info]:
    """Return the connections that were closed for this reason, if one is given, in the order asked for."""
    wanted = [each for each in found if closed_reason.lower() in each.get("reason", "").lower()]
    return ordered(wanted, KEYS, by, backwards)


async def gathered(
    connection: Source,
    asked: Info,
    expect: int = 0,
    *,
    subject: str = "$SYS.REQ.SERVER.PING.CONNZ",
) -> list[Info]:
    """Return the connections of all servers, fetched page by page.

    Each has `server`, `server_id`, `cluster`, `now` and `server_info` added.
    """
    found: list[Info] = []
    offset = 0
    while True:
        request = {"auth": True, "subscriptions": False, "offset": offset, "limit": 1024, **asked}
        more = 0
        for answers in await poll(connection, subject, request, expect=expect):
            server, data = answers.document["server"], answers.document.get("data") or {}
            listed = data.get("connections") or []
            where = {
                "server": server.get("name", ""),
                "server_id": server.get("id", ""),
                "cluster": server.get("cluster", ""),
                "now": server.get("time", ""),
                "server_info": server,
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
    footer["name"] = f"Totals for {render.counted(len(shown), 'connection')}"
    title = f"Top {len(shown)} Connections out of {len(found)} by {by}"
    counts = Counter((each["server"], each["cluster"]) for each in found)
    output.show(
        CONNECTIONS.of([_record(each) for each in shown], title=title, footer=footer),
        PER_SERVER.of(
            {"server": server, "cluster": cluster, "connections": count}
            for (server, cluster), count in sorted(counts.items())
        ),
        document=[_document(each) for each in shown],
    )


def _document(each: Info) -> Info:
    """Return a connection as connz has it, with what its server says of itself as `server`."""
    own = {name: value for name, value in each.items() if name not in ADDED}
    return {**own, "server": each["server_info"]}


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
    """The total traffic of an account's connections.

    servers: by id, what the servers say of themselves that these connections are at.
    """

    account: str
    connections: int = 0
    subscriptions: int = 0
    listed: list[Info] = field(default_factory=list)
    servers: dict[str, Info] = field(default_factory=dict)
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
@ARCHIVE
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
    async with servers() as connection:
        found = await gathered(connection, {**asked, **selection(host, cluster, tags)}, limit)
    if account:
        show(chosen(found, by if by in KEYS else "subs", backwards), by, top)
        return
    rows = ordered(_by_account(found), ACCOUNT_KEYS, by, backwards)[:top]
    documents = [
        {
            **each.document(),
            "connection_info": [_document(connection) for connection in each.listed],
            "server": list(each.servers.values()),
        }
        for each in rows
    ]
    output.show(
        ACCOUNTS.of([each.document() for each in rows], title=f"{len(rows)} Accounts Overview"),
        document=documents,
    )


def _by_account(found: list[Info]) -> list[Traffic]:
    accounts: dict[str, Traffic] = {}
    for connection in found:
        name = connection.get("account", "")
        each = accounts.setdefault(name, Traffic(name))
        each.connections += 1
        each.listed.append(connection)
        each.servers[connection["server_id"]] = connection["server_info"]
        each.subscriptions += connection.get("subscriptions", 0)
        for key in FIELDS:
            each.traffic[key] += connection.get(key, 0)
    return sorted(accounts.values(), key=lambda each: each.account)
