"""The checks of streams and consumers. Source: jsm.go's audit/jetstream_checks.go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..server.archive import ServerArchive
from ..server.check.assets import CONSUMER_LIMITS, examine_consumer
from ..server.check.result import CheckResult
from ..server.check.stream import METADATA, STREAM_LIMITS, examine_stream
from .check import AuditFinding, Check, Threshold, Thresholds, streams

Info = dict[str, Any]
Found = Iterator[AuditFinding]


def _lagging(archive: ServerArchive, thresholds: Thresholds) -> Found:
    for account, name, replicas in streams(archive):
        last = {server: int(info["state"].get("last_seq", 0)) for server, info in replicas.items()}
        ahead = max(last, key=lambda server: last[server])
        least = last[ahead] - int(last[ahead] * thresholds["last_seq"] / 100)
        for server, sequence in last.items():
            if sequence < least:
                yield AuditFinding(
                    f"{account}/{name} server {server} lastSequence: {sequence} is behind highest "
                    f"lastSequence: {last[ahead]} on server: {ahead}",
                    failed=True,
                )


def _cardinality(archive: ServerArchive, thresholds: Thresholds) -> Found:
    for account, name, replicas in streams(archive):
        count = max(int(info["state"].get("num_subjects", 0)) for info in replicas.values())
        if count > thresholds["subjects"]:
            yield AuditFinding(f"{account}/{name}: {count} subjects")


def _limits(archive: ServerArchive, thresholds: Thresholds) -> Found:
    limits = (
        ("messages", "messages", "max_msgs"),
        ("bytes", "bytes", "max_bytes"),
        ("consumers", "consumer_count", "max_consumers"),
    )
    for account, name, replicas in streams(archive):
        for server, info in replicas.items():
            for key, field, limit_field in limits:
                value = int(info["state"].get(field, 0))
                limit = int((info.get("config") or {}).get(limit_field, -1))
                if limit > 0 and value > limit * thresholds[key] / 100:
                    share = f"{value * 100 / limit:.1f}%"
                    yield AuditFinding(
                        f"stream {name} (in {account} on {server}) using {share} of {key} limit "
                        f"({value}/{limit})"
                    )


def _leads(info: Info, server: str) -> bool:
    cluster = info.get("cluster")
    return not cluster or cluster.get("leader") == server


def _is_monitored(info: Info) -> bool:
    metadata = (info.get("config") or {}).get("metadata") or {}
    return str(metadata.get(f"{METADATA}enabled", "")).lower() in ("1", "t", "true")


def _findings(result: CheckResult, what: str) -> Found:
    for text in result.criticals:
        yield AuditFinding(f"CRITICAL: {what}: {text}", failed=True)
    for text in result.warnings:
        yield AuditFinding(f"WARNING: {what}: {text}")


def _by_metadata(archive: ServerArchive, examine: Callable[[str, str, Info], Found]) -> Found:
    for account, name, replicas in streams(archive):
        for server, info in replicas.items():
            if _leads(info, server):
                yield from examine(account, name, info)


def _streams(archive: ServerArchive, _: Thresholds) -> Found:
    def examine(account: str, name: str, info: Info) -> Found:
        if _is_monitored(info):
            result = CheckResult("stream", name)
            examine_stream(result, info, dict.fromkeys(STREAM_LIMITS))
            yield from _findings(result, f"stream {name} in {account}")

    return _by_metadata(archive, examine)


def _consumers(archive: ServerArchive, _: Thresholds) -> Found:
    def examine(account: str, name: str, info: Info) -> Found:
        for each in info.get("consumer_detail") or ():
            if _is_monitored(each):
                result = CheckResult("consumer", str(each.get("name")))
                pinned = str(each["config"]["metadata"].get(f"{METADATA}pinned", "")).lower() == "true"
                examine_consumer(result, each, dict.fromkeys(CONSUMER_LIMITS), pinned=pinned)
                yield from _findings(result, f"consumer {each.get('name')} in stream {name} in {account}")

    return _by_metadata(archive, examine)


CHECKS = (
    Check("JETSTREAM_001", "Stream Lagging Replicas", "All replicas of a stream are keeping up", _lagging,
          (Threshold("last_seq", "How far a replica may be behind the highest last sequence", 10, "%"),)),
    Check("JETSTREAM_002", "Stream High Cardinality",
          "Streams unique subjects do not exceed a given threshold", _cardinality,
          (Threshold("subjects", "Subjects of a Stream", 1_000_000, "int"),)),
    Check("JETSTREAM_003", "Stream Limits", "Stream usage is below the configured limits", _limits, (
        Threshold("messages", "Share of the limit of messages", 90, "%"),
        Threshold("bytes", "Share of the limit of bytes", 90, "%"),
        Threshold("consumers", "Share of the limit of Consumers", 90, "%"),
    )),
    Check("JETSTREAM_004", "Stream Metadata based monitoring",
          "Stream health using the 'server check stream' metadata", _streams),
    Check("JETSTREAM_005", "Consumer Metadata based monitoring",
          "Consumer health using the 'server check consumer' metadata", _consumers),
)  # fmt: skip
