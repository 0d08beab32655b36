"""The information page of a stream, as in the documentation.

`text` returns the page of a `STREAM.INFO` answer. A value that the documentation's page does not have is
shown only if it differs from its default, so that the page looks the same and still shows everything unusual.
"""

from __future__ import annotations

from typing import Any

from ...cli import render
from ...cli.jetstream import RESERVED_METADATA

Info = dict[str, Any]
Pairs = list[tuple[str, object]]

STORAGE = {"file": "File", "memory": "Memory"}
RETENTION = {"limits": "Limits", "interest": "Interest", "workqueue": "WorkQueue"}
DEFAULT_WINDOW = 120_000_000_000


def text(info: Info, *, created: bool = False) -> str:
    """Return the page of a stream.

    created: whether this command has just created it.

    A new stream has copied nothing yet, so the state of its mirror or sources is part of the page only in a
    cluster, as in the documentation.
    """
    name = info["config"]["name"]
    lines = [render.fitting(f"Information for Stream {name} created {render.when(info['created'])}"), ""]
    lines += ["Configuration:", "", render.fields(configuration(info["config"])), "", ""]
    clustered = render.clustered(info.get("cluster"))
    if clustered:
        lines += ["Cluster Information:", "", render.fields(cluster(info["cluster"])), ""]
    if clustered or not created:
        lines += _origins(info)
    lines += ["State:", "", render.fields(state(info["state"])), *_alternates(info)]
    return "\n".join(lines) + "\n"


def state_text(info: Info) -> str:
    """Return the part of a stream's page about its state."""
    title = f"State for Stream {info['config']['name']} created {render.when(info['created'])}"
    return f"{title}\n\nState:\n\n{render.fields(state(info['state']))}\n"


def configuration(config: Info) -> Pairs:
    """Return label and value of everything in a configuration."""
    limits = config.get("consumer_limits") or {}
    rows: Pairs = []
    if config.get("description"):
        rows.append(("Description", config["description"]))
    if config.get("subjects"):
        rows.append(("Subjects", ", ".join(config["subjects"])))
    if config.get("sealed"):
        rows.append(("Sealed", "true"))
    storage, retention = config.get("storage", "file"), config.get("retention", "limits")
    discard = "New Per Subject" if config.get("discard_new_per_subject") else config.get("discard", "old")
    # A mirror has no window of its own and reports none; the page shows the system's default.
    window = config.get("duplicate_window") or DEFAULT_WINDOW
    rows += [
        ("Acknowledgements", "false" if config.get("no_ack") else "true"),
        ("Retention", f"{STORAGE.get(storage, storage)} - {RETENTION.get(retention, retention)}"),
        ("Replicas", config.get("num_replicas", 1)),
        ("Discard Policy", discard if " " in discard else discard.capitalize()),
        ("Duplicate Window", render.go_span(window)),
        *_unusual(config),
        ("Maximum Messages", render.limit(config.get("max_msgs", -1))),
    ]
    if config.get("max_msgs_per_subject", -1) > 0:
        rows.append(("Maximum Per Subject", render.number(config["max_msgs_per_subject"])))
    rows += [
        ("Maximum Bytes", render.size_limit(config.get("max_bytes", -1))),
        ("Maximum Age", render.span(config.get("max_age", 0))),
        ("Maximum Message Size", render.size_limit(config.get("max_msg_size", -1))),
        ("Maximum Consumers", render.limit(config.get("max_consumers", -1))),
    ]
    if limits.get("inactive_threshold"):
        rows.append(("Consumer Inactivity", render.go_span(limits["inactive_threshold"])))
    if limits.get("max_ack_pending"):
        rows.append(("Consumer Ack Pending", render.number(limits["max_ack_pending"])))
    place = config.get("placement") or {}
    if place.get("cluster"):
        rows.append(("Placement Cluster", place["cluster"]))
    if place.get("tags"):
        rows.append(("Placement Tags", ", ".join(place["tags"])))
    metadata = {
        k: v for k, v in (config.get("metadata") or {}).items() if not k.startswith(RESERVED_METADATA)
    }
    for position, (key, value) in enumerate(sorted(metadata.items())):
        rows.append(("" if position else "Metadata", f"{key}: {value}"))
    if config.get("mirror"):
        rows.append(("Mirror", origin(config["mirror"])))
    for position, source in enumerate(config.get("sources") or []):
        rows.append(("" if position else "Sources", origin(source)))
    return rows


def _unusual(config: Info) -> Pairs:
    """Return the options that are shown only if they differ from those of a plain stream."""
    transform, again = config.get("subject_transform") or {}, config.get("republish") or {}
    rows: Pairs = []
    if config.get("compression", "none") != "none":
        rows.append(("Compression", config["compression"]))
    if config.get("first_seq"):
        rows.append(("First Sequence", render.number(config["first_seq"])))
    if transform.get("dest"):
        rows.append(("Subject Transform", f"{transform.get('src') or '>'} to {transform['dest']}"))
    if again.get("dest"):
        label = "Republishing Headers" if again.get("headers_only") else "Republishing"
        rows.append((label, f"{again.get('src') or '>'} to {again['dest']}"))
    for key, label in (
        ("mirror_direct", "Mirror Direct Get"),
        ("allow_rollup_hdrs", "Allows Rollups"),
        ("allow_msg_ttl", "Allows Message TTL"),
        ("allow_msg_counter", "Allows Counters"),
        ("allow_msg_schedules", "Allows Schedules"),
        ("allow_atomic", "Allows Atomic Batch"),
        ("allow_batched", "Allows Fast Batch"),
    ):
        if config.get(key):
            rows.append((label, "true"))
    for key, label in (("deny_delete", "Allows Msg Delete"), ("deny_purge", "Allows Purge")):
        if config.get(key):
            rows.append((label, "false"))
    if config.get("subject_delete_marker_ttl"):
        rows.append(("Delete Marker TTL", render.go_span(config["subject_delete_marker_ttl"])))
    return rows


def origin(source: Info) -> str:
    """Return a mirror or source on one line: `test, API Prefix: $JS.leaf.API, Delivery Prefix:`."""
    parts = [source["name"]]
    if source.get("opt_start_seq"):
        parts.append(f"Start Seq: {render.number(source['opt_start_seq'])}")
    if source.get("opt_start_time"):
        parts.append(f"Start Time: {source['opt_start_time']}")
    if source.get("filter_subject"):
        parts.append(f"Subject: {source['filter_subject']}")
    parts += [f"Subject: {transform(each)}" for each in source.get("subject_transforms") or []]
    external = source.get("external")
    if external:
        parts.append(f"API Prefix: {external.get('api', '')}")
        parts.append(f"Delivery Prefix: {external.get('deliver', '')}".rstrip())
    consumer = source.get("consumer")
    if consumer:
        parts.append(f"Consumer Name: {consumer.get('name', '')}")
    return ", ".join(parts)


def transform(each: Info) -> str:
    """Return one filter or transform of a source."""
    return f"{each.get('src') or '>'} to {each['dest']}" if each.get("dest") else str(each.get("src", ""))


def cluster(info: Info) -> Pairs:
    """Return the servers that have the stream."""
    rows: Pairs = [("Name", info.get("name", "")), ("Leader", info.get("leader", ""))]
    for peer in info.get("replicas") or []:
        words = [peer.get("name", ""), "current" if peer.get("current") else "outdated"]
        if peer.get("offline"):
            words.append("OFFLINE")
        active = peer.get("active", 0)
        seen = peer.get("current") or 0 < active < render.NEVER_NS
        words.append(f"seen {render.span(max(0, active))} ago" if seen else "not seen")
        if peer.get("lag"):
            words.append(f"{render.counted(peer['lag'], 'operation')} behind")
        rows.append(("Replica", ", ".join(words)))
    return rows


def _origins(info: Info) -> list[str]:
    """Return the sections about the mirror and the sources: their lag and their errors."""
    lines: list[str] = []
    if info.get("mirror"):
        lines += ["Mirror Information:", "", render.fields(_origin_state(info["mirror"])), ""]
    if info.get("sources"):
        lines += ["Source Information:", ""]
        for source in sources(info):
            lines += [render.fields(_origin_state(source)), ""]
    return lines


def sources(info: Info) -> list[Info]:
    """Return the state of the sources in the order of the configuration; servers list them in any order."""

    def place(origin: Info) -> tuple[str, str, str]:
        external = origin.get("external") or {}
        return origin["name"], external.get("api", ""), origin.get("filter_subject", "")

    order = {place(each): number for number, each in enumerate(info["config"].get("sources") or [])}
    return sorted(info.get("sources") or [], key=lambda each: order.get(place(each), len(order)))


def _origin_state(source: Info) -> Pairs:
    rows: Pairs = [("Stream Name", source["name"])]
    if source.get("filter_subject"):
        rows.append(("Subject Filter", source["filter_subject"]))
    rows += [("Subject Transform", transform(each)) for each in source.get("subject_transforms") or []]
    rows += [
        ("Lag", render.number(source.get("lag", 0))),
        ("Last Seen", render.span(source.get("active", -1))),
    ]
    external = source.get("external") or {}
    if external.get("api"):
        rows.append(("Ext. API Prefix", external["api"]))
    if external.get("deliver"):
        rows.append(("Ext. Delivery Prefix", external["deliver"]))
    if source.get("error"):
        rows.append(("Error", f"{source['error'].get('description')} ({source['error'].get('err_code')})"))
    return rows


def state(info: Info) -> Pairs:
    """Return what a stream holds."""
    rows: Pairs = [
        ("Messages", render.number(info["messages"])),
        ("Bytes", render.size(info["bytes"])),
        ("FirstSeq", _sequence(info["first_seq"], info.get("first_ts", ""))),
        ("LastSeq", _sequence(info["last_seq"], info.get("last_ts", ""))),
    ]
    lost = info.get("lost") or {}
    if lost.get("msgs"):
        rows.append(("Lost Messages", f"{len(lost['msgs'])} ({render.size(lost.get('bytes', 0))})"))
    if info.get("num_deleted"):
        rows.append(("Deleted Messages", render.number(info["num_deleted"])))
    rows.append(("Active Consumers", render.number(info.get("consumer_count", 0))))
    if info.get("num_subjects"):
        rows.append(("Number of Subjects", render.number(info["num_subjects"])))
    return rows


def _sequence(sequence: int, time: str) -> str:
    moment = render.parse_time(time)
    return f"{render.number(sequence)} @ {render.when(time)}" if moment else render.number(sequence)


def _alternates(info: Info) -> list[str]:
    rows: Pairs = []
    for each in info.get("alternates") or []:
        domain = f" Domain: {each['domain']}" if each.get("domain") else ""
        rows.append(
            ("" if rows else "Alternates", f"{each['name']}: Cluster: {each.get('cluster', '')}{domain}")
        )
    return [render.fields(rows)] if rows else []
