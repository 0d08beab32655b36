"""`pyjs server report jetstream`: what each server's JetStream holds and does, and the leaders."""

from __future__ import annotations

import math
from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import warn
from .order import REVERSE, ordered, sorting
from .poll import compacted, only, poll, selection

Info = dict[str, Any]
META = ("Connection Name", "ID", "Leader", "Current", "Online", "Active", "Lag")
COUNTS = ("Streams", "Consumers", "Messages", "Bytes", "Memory", "File", "API Req", "API Err")


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
@click.argument("limit", required=False, type=click.IntRange(min=0), default=0)
@click.option("--account", default="", help="Only what belongs to this account.")
@sorting(KEYS, "cluster")
@REVERSE
@click.option("--compact/--no-compact", default=True, help="Shorten server names (default: yes).")
@click.option("-l", "--leaders", is_flag=True, help="Show which servers lead Streams and Consumers.")
@only
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
    async with connect() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING.JSZ", request, expect=limit)
    found = sorted(({"data": {}, **each.document} for each in answers), key=KEYS["name"])
    if account:
        for info in found:
            info["data"] |= _of_account(info)
    found = ordered(found, KEYS, by, backwards)
    _show(found, account, compact)
    led = [meta(info) for info in found if is_meta_leader(info)]
    for each in led:
        _show_meta_group(each, compact)
    expected = max((meta(info).get("cluster_size", 0) for info in found), default=0)
    if expected and not led and not filtered:
        warn(
            f"no meta leader found: the cluster has {expected} servers and {len(found)} answered; "
            f"JetStream needs {expected // 2 + 1}"
        )
    if leaders:
        show_leaders("Stream", found, "streams_leader")
        show_leaders("Consumer", found, "consumers_leader")


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


def _show(found: list[Info], account: str, compact: bool) -> None:
    names = [info["server"].get("name", "") for info in found]
    shown = compacted(names) if compact else names
    domains = any((info["data"].get("config") or {}).get("domain") for info in found)
    rows = []
    for name, info in zip(shown, found, strict=True):
        leader = "*" if is_meta_leader(info) else ""
        where = [name + leader, info["server"].get("cluster", "")]
        if domains:
            where.append((info["data"].get("config") or {}).get("domain", ""))
        rows.append((*where, *_cells(_counts(info))))
    place = ("Server", "Cluster", "Domain") if domains else ("Server", "Cluster")
    sums = [sum(column) for column in zip(*(_counts(info) for info in found), strict=True)]
    footer = (*("" for _ in place), *_cells(tuple(sums)))
    title = f"JetStream Summary for Account {account}" if account else "JetStream Summary"
    render.show(render.table(title, (*place, *COUNTS), rows, footer) + "\n")


def _counts(info: Info) -> tuple[int, ...]:
    data, api = info["data"], _api(info)
    totals = (
        data.get(name, 0) for name in ("streams", "consumers", "messages", "bytes", "memory", "storage")
    )
    return (*totals, api.get("total", 0), api.get("errors", 0))


def _cells(counts: tuple[int, ...]) -> list[str]:
    return [
        render.size(value) if name in ("Bytes", "Memory", "File") else render.number(value)
        for name, value in zip(COUNTS, counts, strict=True)
    ]


def meta(info: Info) -> Info:
    """Return what a server's answer says about its meta group; {} if it has none."""
    return info["data"].get("meta_cluster") or {}


def is_meta_leader(info: Info) -> bool:
    """Return whether the server that answered leads its meta group."""
    return bool(meta(info)) and meta(info).get("leader") == info["server"].get("name")


def _show_meta_group(group: Info, compact: bool) -> None:
    """Show the servers of the meta group, as their leader sees them."""
    leader = {"name": group["leader"], "peer": group.get("peer", ""), "current": True}
    peers = sorted([leader, *(group.get("replicas") or [])], key=lambda peer: str(peer.get("name", "")))
    names = [peer.get("name", "") for peer in peers]
    rows = [
        (
            name,
            peer.get("peer", ""),
            "yes" if peer is leader else "",
            str(bool(peer.get("current"))).lower(),
            str(not peer.get("offline")).lower(),
            render.span(peer.get("active", 0)),
            render.number(peer.get("lag", 0)),
        )
        for name, peer in zip(compacted(names) if compact else names, peers, strict=True)
    ]
    title = f"RAFT Meta Group Information - Lead cluster: {group.get('name', '')}"
    render.show(render.table(title, META, rows) + "\n")


def show_leaders(kind: str, found: list[Info], field: str) -> None:
    """Show how many streams or consumers each server leads, by the numbers in `field`."""
    counts = [
        (info["server"].get("name", ""), info["server"].get("cluster", ""), info["data"].get(field, 0))
        for info in found
        if meta(info)
    ]
    if not counts:
        render.show("No JetStream asset leader data reported")
        return
    most = max(1, *(count for *_, count in counts))
    rows = [(*where, count, "*" * math.ceil(10 * count / most)) for *where, count in sorted(counts)]
    columns = ("Server", "Cluster", f"{kind} Leaders", "Distribution")
    render.show(render.table("RAFT Leader Report", columns, rows) + "\n")
