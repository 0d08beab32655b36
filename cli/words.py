"""Values in words, as the NATS documentation writes them: numbers, sizes, spans of time, moments, servers.

Promises: nothing is shown, and every result depends on the arguments alone. There are two exceptions: `since`
looks at the clock, and `when` at the time zone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

NEVER_NS = 2**63 - 1
FEW = 5  # names in a sentence


def number(value: int) -> str:
    """Return a whole number with separated thousands: `20,000`."""
    return f"{value:,}"


def counted(count: int, noun: str, one: str = "", more: str = "") -> str:
    """Return a number of things: `1 stored message`, `20,000 stored messages`.

    one, more: the verb of one thing and of more, such as "was" and "were".
    """
    text = f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"
    return f"{text} {one if count == 1 else more}".rstrip()


def listed(names: list[str]) -> str:
    """Return some names in a sentence, and how many more there are."""
    if len(names) <= FEW:
        return ", ".join(names)
    return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"


def limit(value: int) -> str:
    """Return a limit in words: `unlimited` if there is none."""
    return "unlimited" if value <= 0 else number(value)


def size(value: int) -> str:
    """Return a number of bytes as the documentation writes it: `45 B`, `1.7 KiB`, `149 MiB`."""
    from ..protocol.size import format_iec

    return format_iec(value)


def size_limit(value: int) -> str:
    """Return a limit in bytes in words: `unlimited` if there is none."""
    return "unlimited" if value <= 0 else size(value)


def span(nanoseconds: int) -> str:
    """Return a duration in words, `never` for -1 and the maximum.

    Examples: `0.21s`, `1m2s`, `1h2m3s`, `1d2h3m4s`, `1y2d3h4m5s`.
    """
    if nanoseconds < 0 or nanoseconds >= NEVER_NS:
        return "never"
    seconds = nanoseconds // 1_000_000_000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days >= 365:
        return f"{days // 365}y{days % 365}d{hours % 24}h{minutes % 60}m{seconds % 60}s"
    if days:
        return f"{days}d{hours % 24}h{minutes % 60}m{seconds % 60}s"
    if hours:
        return f"{hours}h{minutes % 60}m{seconds % 60}s"
    if minutes:
        return f"{minutes}m{seconds % 60}s"
    return f"{nanoseconds / 1e9:.2f}s"


def go_span(nanoseconds: int) -> str:
    """Return a duration as the server writes it: `2m0s`, `30s`."""
    from ..protocol.duration import format_go

    return format_go(nanoseconds)


def when(text: str) -> str:
    """Return an RFC 3339 time of the API as local time, to the second: `2021-06-28T12:52:29-04:00`."""
    moment = parse_time(text)
    return moment.astimezone().isoformat(timespec="seconds") if moment else text


def parse_time(text: str) -> datetime | None:
    """Parse an RFC 3339 time with any number of fractional digits; return None for the zero time."""
    if not text or text.startswith("0001-"):
        return None
    head, dot, tail = text.partition(".")
    if not dot:
        return datetime.fromisoformat(text)
    digits = tail.rstrip("Z").partition("+")[0].partition("-")[0]
    zone = tail[len(digits) :]
    return datetime.fromisoformat(f"{head}.{digits[:6]:0<6}{zone}")


def since(text: str, now: str = "") -> int:
    """Return the nanoseconds from an RFC 3339 time until `now`, -1 for never.

    `now` is another RFC 3339 time; by default it is the present.
    """
    moment = parse_time(text)
    if moment is None:
        return -1
    reference = (parse_time(now) if now else None) or datetime.now(UTC)
    return max(0, int((reference - moment).total_seconds() * 1e9))


def clustered(cluster: dict[str, Any] | None) -> bool:
    """Return whether the `cluster` of an answer describes a cluster, not a single server.

    A single server names itself as leader; one with leaf nodes also has a cluster name.
    """
    if not cluster or not cluster.get("name"):
        return False
    return bool(cluster.get("replicas")) or cluster["name"] != cluster.get("leader")


def cluster_record(cluster: dict[str, Any] | None) -> dict[str, Any]:
    """Return the fields that say where a stream or consumer is, from the `cluster` of its info.

    servers: the names of all servers that have it, sorted.
    leader: the name of the leader; "" if there is none.
    unhealthy: the names of those that are offline or not current, sorted.
    cluster_text: all three as one text for people, see `cluster_servers`.
    """
    peers = (cluster or {}).get("replicas") or []
    leader = (cluster or {}).get("leader", "")
    unhealthy = [
        str(peer.get("name", "")) for peer in peers if peer.get("offline") or not peer.get("current")
    ]
    return {
        "servers": sorted([leader] * bool(leader) + [str(peer.get("name", "")) for peer in peers]),
        "leader": leader,
        "unhealthy": sorted(unhealthy),
        "cluster_text": cluster_servers(cluster),
    }


def cluster_servers(cluster: dict[str, Any] | None) -> str:
    """Return the servers of a replicated stream or consumer by name.

    `*` marks the leader, `!` an unhealthy server.
    """
    if not cluster:
        return ""
    names = []
    if cluster.get("leader"):
        names.append(f"{cluster['leader']}*")
    for peer in cluster.get("replicas") or []:
        bad = peer.get("offline") or not peer.get("current", False)
        names.append(f"{peer.get('name', '')}{'!' if bad else ''}")
    return ", ".join(sorted(names))
