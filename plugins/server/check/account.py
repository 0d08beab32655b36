"""`pyjs server check jetstream`: how much of its limits an account uses, and the state of its streams."""

from __future__ import annotations

from typing import Any

import click

from ....cli.connection import connect
from ....cli.param import DURATION
from ....cli.render import go_span
from ...stream.listing import collected
from .result import SECOND, CheckResult, Decorator, checking

Info = dict[str, Any]


def _percent(spelling: str, default: int, text: str) -> Decorator:
    return click.option(spelling, type=int, default=default, help=f"{text}, in percent (-1: none).")


@checking("jetstream", "JetStream")
@_percent("--mem-warn", 75, "Warn above this use of memory")
@_percent("--mem-critical", 90, "Critical above this use of memory")
@_percent("--store-warn", 75, "Warn above this use of disk")
@_percent("--store-critical", 90, "Critical above this use of disk")
@_percent("--streams-warn", -1, "Warn above this use of Streams")
@_percent("--streams-critical", -1, "Critical above this use of Streams")
@_percent("--consumers-warn", -1, "Warn above this use of Consumers")
@_percent("--consumers-critical", -1, "Critical above this use of Consumers")
@click.option("--replicas/--no-replicas", default=True, help="Look at the replicas of all Streams.")
@click.option("--replica-seen-critical", "seen", type=DURATION, default="5s", help="Longest silence of one.")
@click.option("--replica-lag-critical", "lag", type=int, default=200, help="Most operations behind.")
async def jetstream(
    result: CheckResult,
    mem_warn: int,
    mem_critical: int,
    store_warn: int,
    store_critical: int,
    streams_warn: int,
    streams_critical: int,
    consumers_warn: int,
    consumers_critical: int,
    replicas: bool,
    seen: int,
    lag: int,
) -> None:
    """Check an account's use of its limits, and the replicas of its Streams."""
    async with connect(quiet=True) as connection:
        info = await connection.js.request("INFO")
        streams, missing = await collected(connection) if replicas else ([], [])
    limits = info.get("limits") or {}
    for item, key, limit, unit, thresholds in (
        ("memory", "memory", "max_memory", "B", (mem_warn, mem_critical)),
        ("storage", "storage", "max_storage", "B", (store_warn, store_critical)),
        ("streams", "streams", "max_streams", "", (streams_warn, streams_critical)),
        ("consumers", "consumers", "max_consumers", "", (consumers_warn, consumers_critical)),
    ):
        _use(result, item, info.get(key, 0), limits.get(limit, -1), unit, thresholds)
    if replicas:
        _replicas(result, streams, len(missing), seen, lag)


def _use(
    result: CheckResult, item: str, value: int, limit: int, unit: str, thresholds: tuple[int, int]
) -> None:
    """Check how much of a limit is used."""
    warning, critical = thresholds
    part = 100 * value // limit if limit > 0 else 0
    text = f"JetStream {item} resource usage"
    result.metric(item, value, text, unit=unit)
    percent = f"{text} in percent"
    result.metric(f"{item}_pct", part, percent, warning=warning, critical=critical, unit="%")
    if -1 not in thresholds and warning >= critical:
        result.critical(f"{item}: invalid thresholds")
    elif part > 100:
        result.critical(f"{item}: exceed server limits")
    elif 0 <= critical < part:
        result.critical(f"{part}% {item}")
    elif 0 <= warning < part:
        result.warning(f"{part}% {item}")


def _replicas(result: CheckResult, streams: list[Info], missing: int, seen: int, lag: int) -> None:
    """Count the streams by what is wrong with their replicas; nobody reported the `missing` ones."""
    counts = dict.fromkeys(("ok", "no_leader", "missing_replicas", "lagged", "not_seen", "fail"), 0)
    for info in streams:
        counts[_fault(info, seen, lag)] += 1
    counts["fail"] += missing
    for name, text, critical, unit in (
        ("ok", "Streams with healthy cluster state", 0.0, ""),
        ("no_leader", "Streams with no leader elected", 0, ""),
        ("missing_replicas", "Streams where there are fewer known replicas than configured", 0, ""),
        ("lagged", f"Streams with > {lag} lagged replicas", lag, ""),
        ("not_seen", f"Streams with replicas seen > {go_span(seen)} ago", seen / SECOND, "s"),
        ("fail", "Streams unhealthy cluster state", 0, ""),
    ):
        result.metric(f"replicas_{name}", counts[name], text, critical=critical, unit=unit)
    unwell = sum(counts.values()) - counts["ok"]
    if unwell:
        result.critical(f"{unwell} unhealthy streams")


def _fault(info: Info, seen: int, lag: int) -> str:
    """Return what is wrong with a stream's replicas, as the name of its count."""
    wanted = info["config"].get("num_replicas", 1)
    if wanted == 1:
        return "ok"
    cluster = info.get("cluster")
    if not cluster:
        return "fail"
    if not cluster.get("leader"):
        return "no_leader"
    peers = cluster.get("replicas") or []
    if len(peers) != wanted - 1:
        return "missing_replicas"
    if any(peer.get("offline") for peer in peers):
        return "fail"
    if any(0 < seen < peer.get("active", 0) for peer in peers):
        return "not_seen"
    return "lagged" if any(0 < lag < peer.get("lag", 0) for peer in peers) else "ok"
