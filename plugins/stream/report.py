"""`pyjs stream report`: sizes of all streams, the lag of mirrors and sources, and the leaders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ...cli import output, render
from ...cli.command import RequestCommand
from ...cli.connection import connect
from ...cli.output import BYTES, LIST, NAME, NUMBER, SPAN, TEXT, WORD, Column, FilledTable, Table
from ...cli.words import cluster_record
from .info import ALL
from .listing import NONE, by_size, collected, inaccessible
from .page import STORAGE, sources, transform

Info = dict[str, Any]
STREAMS = Table(
    "streams",
    "Stream Report",
    (
        Column("name", "Stream", NAME),
        Column(
            "storage",
            "Storage",
            WORD,
            show=lambda each: STORAGE.get(each["storage"], each["storage"]),
            same=True,
        ),
        Column("consumers", "Consumers", NUMBER),
        Column("messages", "Messages", NUMBER),
        Column("bytes", "Bytes", BYTES),
        Column("lost", "Lost", NUMBER, silent=("0",)),
        Column("deleted", "Deleted", NUMBER, silent=("0",)),
        Column("servers", "Replicas", LIST, show=lambda each: each["cluster_text"], same=True),
        Column("leader", "Leader", NAME, wide=True),
        Column("unhealthy", "Unhealthy", LIST, wide=True),
    ),
    empty=NONE,
    spare=("storage", "deleted", "consumers", "servers"),
)
REPLICATION = Table(
    "replication",
    "Replication Report",
    (
        Column("name", "Stream", NAME),
        Column("kind", "Kind", WORD),
        Column("api_prefix", "API Prefix", NAME),
        Column("source", "Source Stream", NAME),
        Column("filters", "Filters and Transforms", LIST, optional=True),
        Column("active", "Active", SPAN),
        Column("lag", "Lag", NUMBER),
        Column("error", "Error", TEXT),
    ),
    empty="",
    spare=("filters", "api_prefix", "kind"),
)
LEADERS = Table(
    "leaders",
    "RAFT Leader Report",
    (
        Column("name", "Server", NAME),
        Column("cluster", "Cluster", NAME, same=True),
        Column("leads", "Streams", NUMBER),
        Column("distribution", "Distribution", TEXT),
    ),
    empty="",
)


@click.command(cls=RequestCommand)
@output.listing(STREAMS, REPLICATION, LEADERS, watch=True)
@click.option("--subject", default="", help="Only Streams that consume this subject.")
@click.option("--cluster", default="", help="Only Streams of this cluster.")
@click.option("-o", "--consumers", "by_consumers", is_flag=True, help="Sort by number of Consumers.")
@click.option("-m", "--messages", "by_messages", is_flag=True, help="Sort by number of messages.")
@click.option("-n", "--name", "by_name", is_flag=True, help="Sort by name.")
@click.option("-t", "--storage", "by_storage", is_flag=True, help="Sort by storage.")
@click.option("-r", "--raw", is_flag=True, help="Numbers as they are.")
@click.option("--dot", metavar="FILE", help="Write the replication as a GraphViz graph.")
@click.option("-l", "--leaders", is_flag=True, help="Show which servers lead Streams.")
@ALL
async def report(
    subject: str,
    cluster: str,
    by_consumers: bool,
    by_messages: bool,
    by_name: bool,
    by_storage: bool,
    raw: bool,
    dot: str | None,
    leaders: bool,
    all_streams: bool,
) -> None:
    """Report sizes of all Streams, and how mirrors and sources keep up."""
    async with connect() as connection:
        found, missing = await collected(connection, subject, everything=all_streams)
    if cluster:
        found = [info for info in found if (info.get("cluster") or {}).get("name") == cluster]
    key: Callable[[Info], Any] = by_size
    if by_consumers:
        key = _by_consumers
    elif by_messages:
        key = _by_messages
    elif by_name:
        key = _by_name
    elif by_storage:
        key = _by_storage
    found.sort(key=key)
    output.show(
        STREAMS.of(map(_record, found), raw=raw),
        replication(found),
        LEADERS.of(leaders_of(found) if leaders or not output.is_for_people() else []),
        before="Obtaining Stream stats\n",
        aside=inaccessible(missing),
    )
    if dot:
        Path(dot).write_text(graph(found), encoding="utf-8")  # noqa: ASYNC240 - the run's last act


def _by_consumers(info: Info) -> Any:
    return info["state"].get("consumer_count", 0), by_size(info)


def _by_messages(info: Info) -> Any:
    return info["state"]["messages"], by_size(info)


def _by_name(info: Info) -> Any:
    return info["config"]["name"]


def _by_storage(info: Info) -> Any:
    return info["config"].get("storage", ""), by_size(info)


def _record(info: Info) -> Info:
    config, state, cluster = info["config"], info["state"], info.get("cluster")
    return {
        "name": config["name"],
        "storage": config.get("storage", "file"),
        "consumers": state.get("consumer_count", 0),
        "messages": state["messages"],
        "bytes": state["bytes"],
        "lost": len((state.get("lost") or {}).get("msgs") or []),
        "deleted": state.get("num_deleted", 0),
        **cluster_record(cluster if render.clustered(cluster) else None),
    }


def _origins(info: Info) -> list[tuple[str, Info]]:
    found = [("Mirror", info["mirror"])] if info.get("mirror") else []
    return found + [("Source", source) for source in sources(info)]


def replication(found: list[Info]) -> FilledTable:
    """Return the mirrors and sources of the streams, and how they keep up."""
    records = []
    for info in found:
        for kind, source in _origins(info):
            filters = [source["filter_subject"]] if source.get("filter_subject") else []
            records.append({
                "name": info["config"]["name"],
                "kind": kind,
                "api_prefix": (source.get("external") or {}).get("api", ""),
                "source": source["name"],
                "filters": filters + [transform(each) for each in source.get("subject_transforms") or []],
                "active": source.get("active", -1),
                "lag": source.get("lag", 0),
                "error": (source.get("error") or {}).get("description", ""),
            })  # fmt: skip
    return REPLICATION.of(records)


def leaders_of(found: list[Info]) -> list[Info]:
    """Return a record for each server that leads some of the streams or consumers."""
    led = [info["cluster"] for info in found if (info.get("cluster") or {}).get("leader")]
    counts = Counter(cluster["leader"] for cluster in led)
    homes = {cluster["leader"]: cluster.get("name", "") for cluster in led}
    most = max(counts.values(), default=1)
    return [
        {
            "name": server,
            "cluster": homes[server],
            "leads": count,
            "distribution": "*" * max(1, round(10 * count / most)),
        }
        for server, count in sorted(counts.items())
    ]


def graph(found: list[Info]) -> str:
    """Return the replication as a GraphViz document."""
    lines = ["digraph streams {"]
    for info in found:
        name = info["config"]["name"]
        lines.append(f'  "{name}" [label="{name}\\n{info["state"]["messages"]} messages"];')
        for kind, source in _origins(info):
            prefix = (source.get("external") or {}).get("api", "")
            begin = f"{source['name']}@{prefix}" if prefix else source["name"]
            lines.append(f'  "{begin}" -> "{name}" [label="{kind}"];')
    return "\n".join([*lines, "}"]) + "\n"
