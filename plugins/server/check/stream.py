"""`pyjs server check stream`: checks a stream's replicas, its messages, and the lag behind its origins.

A threshold that no flag gives is taken from the stream's metadata, `io.nats.monitor.<flag>`, if it is there.
"""

from __future__ import annotations

from typing import Any

import click

from ....cli.connection import connect
from ....cli.errors import CliError
from ....cli.param import DURATION
from ....cli.render import go_span
from ....protocol import duration
from .result import SECOND, CheckResult, checking

Info = dict[str, Any]
METADATA = "io.nats.monitor."
STREAM_LIMITS = (
    *("lag_critical", "seen_critical", "min_sources", "max_sources", "peer_expect", "peer_lag_critical"),
    *("peer_seen_critical", "msgs_warn", "msgs_critical", "subjects_warn", "subjects_critical"),
)


def effective_limits(given: Info, metadata: Info, spans: set[str]) -> Info:
    """Return the thresholds from flags, else from metadata.

    spans: the thresholds that are durations; the rest are numbers.
    """
    found = dict(given)
    for name, value in given.items():
        text = metadata.get(METADATA + name.replace("_", "-"))
        if value is not None or text is None:
            continue
        try:
            found[name] = duration.parse(text) if name in spans else int(text)
        except (duration.DurationError, ValueError):
            raise CliError(f"could not configure based on metadata: {name} is {text!r}") from None
    return {name: value or 0 for name, value in found.items()}


@checking("stream")
@click.option("--stream", "name", required=True, help="The Stream.")
@click.option("--lag-critical", type=int, metavar="MSGS", help="Most messages an origin may be ahead.")
@click.option("--seen-critical", type=DURATION, help="Longest silence of an origin.")
@click.option("--min-sources", type=int, help="Fewest sources.")
@click.option("--max-sources", type=int, help="Most sources.")
@click.option("--peer-expect", type=int, metavar="SERVERS", help="How many servers have it.")
@click.option("--peer-lag-critical", type=int, metavar="OPS", help="Most operations a replica may be behind.")
@click.option("--peer-seen-critical", type=DURATION, help="Longest silence of a replica.")
@click.option("--msgs-warn", type=int, metavar="MSGS", help="Warn: no more messages than this.")
@click.option("--msgs-critical", type=int, metavar="MSGS", help="Critical: no more messages than this.")
@click.option("--subjects-warn", type=int, help="Warn: this many subjects; above critical: as few.")
@click.option("--subjects-critical", type=int, help="Critical: this many subjects; below warn: as few.")
async def stream(result: CheckResult, name: str, **given: Any) -> None:
    """Check a Stream's replicas, messages, subjects, sources and mirror."""
    result.name = name
    async with connect(quiet=True) as connection:
        info = await connection.js.stream_info(name)
    examine_stream(result, info, given)


def examine_stream(result: CheckResult, info: Info, given: Info) -> None:
    """Check a stream by its information.

    given: a value for each of STREAM_LIMITS; None where the metadata decides.
    """
    metadata = info["config"].get("metadata") or {}
    limits = effective_limits(given, metadata, {"seen_critical", "peer_seen_critical"})
    _replicas(result, info, limits)
    _messages(result, info["state"]["messages"], limits["msgs_warn"], limits["msgs_critical"])
    subjects = info["state"].get("num_subjects", 0)
    _subjects(result, subjects, limits["subjects_warn"], limits["subjects_critical"])
    _sources(result, info.get("sources") or [], limits)
    if (limits["lag_critical"] or limits["seen_critical"]) and not info.get("sources"):
        _mirror(result, info, limits)


def _replicas(result: CheckResult, info: Info, limits: Info) -> None:
    wanted, cluster = info["config"].get("num_replicas", 1), info.get("cluster") or {}
    expected = limits["peer_expect"] or wanted
    if wanted <= 1 or not cluster:
        if limits["peer_expect"]:
            result.critical("Stream is not clustered")
        return
    if not cluster.get("leader"):
        result.critical("No leader")
        return
    peers = cluster.get("replicas") or []
    if len(peers) + 1 != expected:
        result.critical(f"Expected {expected} replicas got {len(peers) + 1}")
        return
    result.ok(f"{expected} peers")
    offline = sum(bool(peer.get("offline")) for peer in peers)
    if offline:
        result.critical(f"{offline} replicas offline")
    for key, limit, wrong, right in (
        ("lag", limits["peer_lag_critical"], "lagged", "current"),
        ("active", limits["peer_seen_critical"], "inactive", "active"),
    ):
        count = sum(peer.get(key, 0) > limit for peer in peers)
        if limit and count:
            result.critical(f"{count} replicas {wrong}")
        elif limit:
            result.ok(f"replicas are {right}")


def _messages(result: CheckResult, count: int, warning: int, critical: int) -> None:
    if not warning and not critical:
        return
    text = f"{count} messages"
    result.metric("messages", count, "Messages stored in the stream", warning=warning, critical=critical)
    if critical and count <= critical:
        result.critical(text)
    elif warning and count <= warning:
        result.warning(text)
    else:
        result.ok(text)


def _subjects(result: CheckResult, count: int, warning: int, critical: int) -> None:
    if not warning and not critical:
        return
    text = f"{count} subjects"
    help_text = "Number of subjects stored in the stream"
    result.metric("subjects", count, help_text, warning=warning, critical=critical)
    if warning < critical:
        result.above(text, count, warning, critical)
    elif count <= critical:
        result.critical(text)
    elif count <= warning:
        result.warning(text)
    else:
        result.ok(text)


def _sources(result: CheckResult, sources: list[Info], limits: Info) -> None:
    count, fewest, most = len(sources), limits["min_sources"], limits["max_sources"]
    help_text = "Number of sources being consumed by this stream"
    result.metric("sources", count, help_text, warning=fewest, critical=most)
    wrong = count < fewest or 0 < most < count
    (result.critical if wrong else result.ok)(f"{count} sources")
    lag, seen = limits["lag_critical"], limits["seen_critical"]
    if not lag and not seen:
        return
    lagged = sum(0 < lag <= source.get("lag", 0) for source in sources)
    silent = sum(bool(seen) and _silence(source) >= seen for source in sources)
    help_text = "Number of sources that are behind more than the configured threshold"
    result.metric("sources_lagged", lagged, help_text)
    result.metric("sources_inactive", silent, "Number of sources that are inactive")
    for number, wrong_word, right in ((lagged, "lagged", "current"), (silent, "inactive", "active")):
        if number:
            result.critical(f"{number} sources are {wrong_word}")
        else:
            result.ok(f"{count} sources {right}")


def _silence(origin: Info) -> int:
    """Return the nanoseconds since a mirror or source was active; the maximum if it never was."""
    active = int(origin.get("active", -1))
    return active if active >= 0 else 2**63 - 1


def _mirror(result: CheckResult, info: Info, limits: Info) -> None:
    mirror = info.get("mirror")
    if not info["config"].get("mirror") or not mirror:
        result.critical("invalid state" if info["config"].get("mirror") else "not mirrored")
        return
    lag, silence = mirror.get("lag", 0), _silence(mirror)
    most, longest = limits["lag_critical"], limits["seen_critical"]
    help_text = "Number of operations this peer is behind its origin"
    result.metric("lag", lag, help_text, critical=most)
    help_text = "Indicates if this peer is active and catching up if lagged"
    result.metric("active", silence / SECOND, help_text, critical=longest / SECOND, unit="s")
    late, silent = 0 < most <= lag, 0 < longest <= silence
    if late:
        result.critical(f"Mirror Lag {lag}")
    if silent:
        result.critical(f"Mirror Seen {go_span(silence)}")
    if not late and not silent:
        result.ok(f"Mirror {mirror['name']}")
