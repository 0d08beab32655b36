"""`pyjs stream report`: sizes of all streams, the lag of mirrors and sources, and the leaders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import connect
from .info import ALL
from .listing import NONE, by_size, collected, show_missing
from .page import STORAGE, sources, transform

Info = dict[str, Any]
STREAMS = ("Stream", "Storage", "Consumers", "Messages", "Bytes", "Lost", "Deleted", "Replicas")
REPLICATION = ("Stream", "Kind", "API Prefix", "Source Stream", "Active", "Lag", "Error")


@click.command(cls=Command)
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
        render.show("Obtaining Stream stats\n")
        found, missing = await collected(connection, subject, everything=all_streams)
    if cluster:
        found = [info for info in found if (info.get("cluster") or {}).get("name") == cluster]
    if not found and not missing:
        render.show(NONE)
        return
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
    render.show(render.table("Stream Report", STREAMS, [_row(info, raw) for info in found]) + "\n")
    show_replication(found)
    if leaders:
        _show_leaders(found)
    show_missing(missing)
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


def _row(info: Info, raw: bool) -> tuple[str, ...]:
    config, state = info["config"], info["state"]
    number = str if raw else render.number
    storage = config.get("storage", "file")
    return (
        config["name"],
        STORAGE.get(storage, storage),
        number(state.get("consumer_count", 0)),
        number(state["messages"]),
        str(state["bytes"]) if raw else render.size(state["bytes"]),
        number(len((state.get("lost") or {}).get("msgs") or [])),
        number(state.get("num_deleted", 0)),
        render.cluster_servers(info["cluster"]) if render.clustered(info.get("cluster")) else "",
    )


def _origins(info: Info) -> list[tuple[str, Info]]:
    found = [("Mirror", info["mirror"])] if info.get("mirror") else []
    return found + [("Source", source) for source in sources(info)]


def show_replication(found: list[Info]) -> None:
    """Show the replication table, if it has rows. There is a column for filters if there are any."""
    rows = []
    filtered = False
    for info in found:
        for kind, source in _origins(info):
            error = (source.get("error") or {}).get("description", "")
            filters = [source["filter_subject"]] if source.get("filter_subject") else []
            filters += [transform(each) for each in source.get("subject_transforms") or []]
            filtered = filtered or bool(filters)
            rows.append((
                info["config"]["name"],
                kind,
                (source.get("external") or {}).get("api", ""),
                source["name"],
                ", ".join(filters),
                render.span(source.get("active", -1)),
                render.number(source.get("lag", 0)),
                error,
            ))  # fmt: skip
    if not rows:
        return
    columns: tuple[str, ...] = REPLICATION
    if filtered:
        columns = (*REPLICATION[:4], "Filters and Transforms", *REPLICATION[4:])
    shown = rows if filtered else [(*row[:4], *row[5:]) for row in rows]
    render.show(render.table("Replication Report", columns, shown) + "\n")


def _show_leaders(found: list[Info]) -> None:
    counts = Counter(info["cluster"]["leader"] for info in found if (info.get("cluster") or {}).get("leader"))
    homes = {
        info["cluster"]["leader"]: info["cluster"].get("name", "") for info in found if info.get("cluster")
    }
    most = max(counts.values(), default=1)
    rows = [
        (server, homes.get(server, ""), count, "*" * max(1, round(10 * count / most)))
        for server, count in sorted(counts.items())
    ]
    columns = ("Server", "Cluster", "Streams", "Distribution")
    render.show(render.table("RAFT Leader Report", columns, rows) + "\n")


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
