"""`pyjs server report jetstream`: what each server's JetStream holds and does, and the leaders."""

from __future__ import annotations

import math
from typing import Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.errors import warn
from ...cli.output import BYTES, FLAG, NAME, NUMBER, SPAN, WORD, Column, FilledTable, Table
from .archive import ARCHIVE, servers
from .order import REVERSE, ordered, sorting
from .poll import compacted, only, poll, selection

Info = dict[str, Any]
COUNTS = (
    Column("streams", "Streams", NUMBER),
    Column("consumers", "Consumers", NUMBER),
    Column("messages", "Messages", NUMBER),
    Column("bytes", "Bytes", BYTES),
    Column("memory", "Memory", BYTES, silent=("0 B",)),
    Column("storage", "File", BYTES),
    Column("api_requests", "API Req", NUMBER),
    Column("api_errors", "API Err", NUMBER, silent=("0",)),
)
SERVERS = Table(
    "servers",
    "JetStream Summary",
    (
        Column("name", "Server", NAME, show=lambda each: each["shown"] + "*" * each["meta_leader"]),
        Column("cluster", "Cluster", NAME, same=True),
        Column("domain", "Domain", NAME, optional=True, same=True),
        *COUNTS,
        Column("meta_leader", "Meta Leader", FLAG, wide=True),
    ),
    spare=("memory", "cluster", "api_requests", "domain"),
)
META = Table(
    "meta",
    "RAFT Meta Group Information",
    (
        Column("name", "Connection Name", NAME, show=lambda each: each["shown"]),
        Column("id", "ID", WORD),
        Column("leader", "Leader", FLAG, show=lambda each: "yes" if each["leader"] else ""),
        Column("current", "Current", FLAG, show=lambda each: str(each["current"]).lower()),
        Column("online", "Online", FLAG, show=lambda each: str(each["online"]).lower()),
        Column("active", "Active", SPAN),
        Column("lag", "Lag", NUMBER),
        Column("group", "Lead Cluster", NAME, wide=True),
    ),
    empty="",
    spare=("id",),
)
STREAM_LEADERS, CONSUMER_LEADERS = (
    Table(
        f"{kind.lower()}_leaders",
        "RAFT Leader Report",
        (
            Column("name", "Server", NAME),
            Column("cluster", "Cluster", NAME, same=True),
            Column("leads", f"{kind} Leaders", NUMBER, show=lambda each: str(each["leads"])),
            Column("distribution", "Distribution"),
        ),
        empty="",
    )
    for kind in ("Stream", "Consumer")
)
NO_LEADERS = "No JetStream asset leader data reported"


def _api(info: Info) -> Info:
    return info["data"].get("api") or {}


KEYS = {
    "name": lambda info: info["server"].get("name", ""),
    "cluster": lambda info: info["server"].get("cluster", ""),
    "streams": lambda info: info["data"].get("streams", 0),
    "consumers": lambda info: info["data"].get("consumers", 0),
    "msgs": lambda info: info["data"].get("messages", 0),
    "mbytes": lambda info: info["data"].get("bytes", 0),
    "bytes": lambda info: info["data"].get("bytes", 0),
    "mem": lambda info: info["data"].get("memory", 0),
    "file": lambda info: info["data"].get("storage", 0),
    "store": lambda info: info["data"].get("storage", 0),
    "api": lambda info: _api(info).get("total", 0),
    "err": lambda info: _api(info).get("errors", 0),
}


@click.command(cls=Command)
@output.listing(SERVERS, META, STREAM_LEADERS, CONSUMER_LEADERS, watch=True)
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--account", default="", help="Only what belongs to this account.")
@sorting(KEYS, "cluster")
@REVERSE
@click.option("--compact/--no-compact", default=True, help="Shorten server names (default: yes).")
@click.option("-l", "--leaders", is_flag=True, help="Show which servers lead Streams and Consumers.")
@only
@ARCHIVE
async def jetstream(
    limit: int,
    account: str,
    by: str,
    backwards: bool,
    compact: bool,
    leaders: bool,
    host: str,
    cluster: str,
    tags: tuple[str, ...],
) -> None:
    """Report on the JetStream of each server; ends with LIMIT answers when it is given."""
    request: Info = selection(host, cluster, tags)
    filtered = bool(request or account or limit)
    if leaders:
        request["raft"] = True  # nats-server counts leaders only then
    if account:
        request |= {"account": account, "accounts": True, "streams": True, "consumer": True, "limit": 10_000}
    async with servers() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING.JSZ", request, expect=limit)
    found = sorted(({"data": {}, **each.document} for each in answers), key=KEYS["name"])
    if account:
        for info in found:
            info["data"] |= _of_account(info)
    found = ordered(found, KEYS, by, backwards)
    led = [meta(info) for info in found if is_meta_leader(info)]
    groups = [_meta_group(each, compact) for each in led]
    expected = max((meta(info).get("cluster_size", 0) for info in found), default=0)
    if expected and not led and not filtered:
        warn(
            f"no meta leader found: the cluster has {expected} servers and {len(found)} answered; "
            f"JetStream needs {expected // 2 + 1}"
        )
    asked = found if leaders else []
    output.show(
        _servers(found, account, compact),
        *_for_people_apart(groups),
        STREAM_LEADERS.of(_leaders(asked, "streams_leader")),
        CONSUMER_LEADERS.of(_leaders(asked, "consumers_leader")),
        after=NO_LEADERS if leaders and not any(map(meta, found)) else "",
    )


def _of_account(info: Info) -> Info:
    """Return the numbers of the one account asked for, under the names that a server has for them."""
    detail: Info = next(iter(info["data"].get("account_details") or []), {})
    streams = detail.get("stream_detail") or []
    consumers = [each for stream in streams for each in stream.get("consumer_detail") or []]
    memory, storage = detail.get("memory", 0), detail.get("storage", 0)

    def led(assets: list[Info]) -> int:
        own = info["server"].get("name", "")
        return sum((each.get("cluster") or {}).get("leader") == own for each in assets)

    return {
        "streams": len(streams),
        "consumers": sum(stream["state"].get("consumer_count", 0) for stream in streams),
        "messages": sum(stream["state"]["messages"] for stream in streams),
        "bytes": memory + storage,
        "memory": memory,
        "storage": storage,
        "api": detail.get("api") or {},
        "streams_leader": led(streams),
        "consumers_leader": led(consumers),
    }


def _servers(found: list[Info], account: str, compact: bool) -> FilledTable:
    names = [info["server"].get("name", "") for info in found]
    shown = compacted(names) if compact else names
    records = [
        {
            "name": info["server"].get("name", ""),
            "shown": text,
            "cluster": info["server"].get("cluster", ""),
            "domain": (info["data"].get("config") or {}).get("domain", ""),
            "meta_leader": is_meta_leader(info),
            **_counts(info),
        }
        for text, info in zip(shown, found, strict=True)
    ]
    sums = {column.field: sum(each[column.field] for each in records) for column in COUNTS}
    footer = {column.field: column.kind.text(sums[column.field]) for column in COUNTS}
    title = f"JetStream Summary for Account {account}" if account else None
    return SERVERS.of(records, title=title, footer=footer)


def _counts(info: Info) -> dict[str, int]:
    data, api = info["data"], _api(info)
    used = {
        name: data.get(name, 0) for name in ("streams", "consumers", "messages", "bytes", "memory", "storage")
    }
    return {**used, "api_requests": api.get("total", 0), "api_errors": api.get("errors", 0)}


def meta(info: Info) -> Info:
    """Return what a server's answer says about its meta group; {} if it has none."""
    return info["data"].get("meta_cluster") or {}


def is_meta_leader(info: Info) -> bool:
    """Return whether the server that answered leads its meta group."""
    return bool(meta(info)) and meta(info).get("leader") == info["server"].get("name")


def _for_people_apart(groups: list[FilledTable]) -> list[FilledTable]:
    """Return a table for each meta group, as people see them; for programs one with all of them."""
    if output.is_for_people() and groups:
        return groups
    return [META.of([record for rows in groups for record in rows.records])]


def _meta_group(group: Info, compact: bool) -> FilledTable:
    """Return the servers of the meta group, as their leader sees them."""
    leader = {"name": group["leader"], "peer": group.get("peer", ""), "current": True}
    peers = sorted([leader, *(group.get("replicas") or [])], key=lambda peer: str(peer.get("name", "")))
    names = [str(peer.get("name", "")) for peer in peers]
    shown = compacted(names) if compact else names
    records = [
        {
            "name": name,
            "shown": text,
            "id": peer.get("peer", ""),
            "leader": peer is leader,
            "current": bool(peer.get("current")),
            "online": not peer.get("offline"),
            "active": peer.get("active", 0),
            "lag": peer.get("lag", 0),
            "group": group.get("name", ""),
        }
        for name, text, peer in zip(names, shown, peers, strict=True)
    ]
    return META.of(records, title=f"RAFT Meta Group Information - Lead cluster: {group.get('name', '')}")


def _leaders(found: list[Info], field: str) -> list[Info]:
    """Return how many streams or consumers each server leads, by the numbers in `field`."""
    counts = [
        (info["server"].get("name", ""), info["server"].get("cluster", ""), info["data"].get(field, 0))
        for info in found
        if meta(info)
    ]
    most = max([1, *(count for *_, count in counts)])
    return [
        {"name": name, "cluster": cluster, "leads": count, "distribution": "*" * math.ceil(10 * count / most)}
        for name, cluster, count in sorted(counts)
    ]
