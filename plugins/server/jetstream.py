"""`pyjs server report jetstream`: what each server's JetStream holds and does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from .order import REVERSE, ordered, sorting
from .poll import compacted, only, poll, selection

Info = dict[str, Any]
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
    if account:
        request["account"] = account
    if leaders:
        request |= {"streams": True, "consumers": True, "accounts": True}
    async with connect() as link:
        heard = await poll(link, "$SYS.REQ.SERVER.PING.JSZ", request, expect=limit)
    found = ordered([each.document for each in heard], KEYS, by, backwards)
    for info in found:
        info.setdefault("data", {})
    _show(found, account, compact)
    _show_meta_group(found, compact)
    if leaders:
        _show_leaders(found)


def _show(found: list[Info], account: str, compact: bool) -> None:
    names = [info["server"].get("name", "") for info in found]
    shown = compacted(names) if compact else names
    domains = any((info["data"].get("config") or {}).get("domain") for info in found)
    rows = []
    for name, info in zip(shown, found, strict=True):
        leader = "*" if _meta(info).get("leader") == info["server"].get("name") else ""
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
    held = (data.get(name, 0) for name in ("streams", "consumers", "messages", "bytes", "memory", "storage"))
    return (*held, api.get("total", 0), api.get("errors", 0))


def _cells(counts: tuple[int, ...]) -> list[str]:
    return [
        render.size(value) if name in ("Bytes", "Memory", "File") else render.number(value)
        for name, value in zip(COUNTS, counts, strict=True)
    ]


def _meta(info: Info) -> Info:
    return info["data"].get("meta_cluster") or {}


def _show_meta_group(found: list[Info], compact: bool) -> None:
    """The servers that decide together, as their leader sees them; nothing where there is no such group."""
    leading = [info for info in found if _meta(info).get("leader") == info["server"].get("name")]
    if not leading:
        return
    meta = _meta(leading[0])
    peers = [{"name": meta["leader"], "current": True}, *(meta.get("replicas") or [])]
    peers.sort(key=lambda peer: str(peer.get("name", "")))
    names = [peer.get("name", "") for peer in peers]
    rows = [
        (
            name,
            "yes" if peer.get("name") == meta["leader"] else "",
            str(bool(peer.get("current"))).lower(),
            str(not peer.get("offline")).lower(),
            render.span(peer.get("active", 0)),
            render.number(peer.get("lag", 0)),
        )
        for name, peer in zip(compacted(names) if compact else names, peers, strict=True)
    ]
    columns = ("Name", "Leader", "Current", "Online", "Active", "Lag")
    render.show(render.table("RAFT Meta Group Information", columns, rows) + "\n")


def _show_leaders(found: list[Info]) -> None:
    streams: Counter[str] = Counter()
    consumers: Counter[str] = Counter()
    homes: dict[str, str] = {}
    for info in found:
        for account in info["data"].get("account_details") or []:
            for stream in account.get("stream_detail") or []:
                _count(stream, streams, homes)
                for consumer in stream.get("consumer_detail") or []:
                    _count(consumer, consumers, homes)
    for kind, counts in (("Streams", streams), ("Consumers", consumers)):
        most = max(counts.values(), default=1)
        rows = [
            (server, homes[server], count, "*" * max(1, round(10 * count / most)))
            for server, count in sorted(counts.items())
        ]
        title = f"{kind[:-1]} Leaders"
        render.show(render.table(title, ("Server", "Cluster", kind, "Distribution"), rows) + "\n")


def _count(asset: Info, counts: Counter[str], homes: dict[str, str]) -> None:
    cluster = asset.get("cluster") or {}
    if cluster.get("leader"):
        counts[cluster["leader"]] += 1
        homes[cluster["leader"]] = cluster.get("name", "")
