"""The information page of a key-value bucket, and what the pages of both kinds of buckets share."""

from __future__ import annotations

from typing import Any

from ...cli import output, render
from ...cli.jetstream import RESERVED_METADATA
from ...protocol.buckets import key_value
from ..stream.info import plain
from ..stream.page import STORAGE, cluster
from .lookup import local_time

Info = dict[str, Any]
Pairs = list[tuple[str, object]]
Section = tuple[str, Pairs]


def show(info: Info) -> None:
    """Show a key-value bucket; `info` is the STREAM.INFO of its stream."""
    name = key_value.bucket_name(info["config"]["name"])
    text = render.page(
        f"Information for Key-Value Store Bucket {name} created {local_time(info['created'])}",
        [("Configuration", _configuration(info)), *_origins(info), *metadata(info), *servers(info)],
    )
    output.show_page({"bucket": name, **plain(info)}, text, name=name)


def _configuration(info: Info) -> Pairs:
    config, state = info["config"], info["state"]
    marker_ttl = config.get("subject_delete_marker_ttl", 0)
    again = config.get("republish") or {}
    rows: Pairs = [
        ("Bucket Name", key_value.bucket_name(config["name"])),
        ("History Kept", config["max_msgs_per_subject"]),
        ("Values Stored", render.number(state["messages"])),
        ("Compressed", truth(config.get("compression", "none") != "none")),
        ("Per-Key TTL Supported", truth(bool(config.get("allow_msg_ttl")))),
    ]
    if marker_ttl:
        rows.append(("Limit Marker TTL", render.go_span(marker_ttl)))
    rows.append(("Backing Store Kind", "JetStream"))
    if config.get("description"):
        rows.append(("Description", config["description"]))
    rows += [
        ("Bucket Size", render.size(state["bytes"])),
        ("Maximum Bucket Size", render.size_limit(config.get("max_bytes", -1))),
        ("Maximum Value Size", render.size_limit(config.get("max_msg_size", -1))),
        ("Maximum Age", render.go_span(config["max_age"]) if config.get("max_age") else "unlimited"),
        ("JetStream Stream", config["name"]),
        ("Storage", STORAGE.get(config["storage"], config["storage"])),
        *placement(config),
    ]
    if again.get("dest"):
        label = "Republishing Headers" if again.get("headers_only") else "Republishing"
        rows.append((label, f"{again.get('src') or '>'} to {again['dest']}"))
    return rows


def truth(value: bool) -> str:
    """Return a boolean as the pages write it."""
    return "true" if value else "false"


def placement(config: Info) -> Pairs:
    """Return where the stream is to be, if its configuration says so."""
    place = config.get("placement") or {}
    rows: Pairs = [("Placement Cluster", place["cluster"])] if place.get("cluster") else []
    if place.get("tags"):
        rows.append(("Placement Tags", ", ".join(place["tags"])))
    return rows


def _origins(info: Info) -> list[Section]:
    """Return the sections about the mirror and the sources."""
    config, sections = info["config"], []
    if info.get("mirror") and config.get("mirror"):
        origin = config["mirror"]
        rows: Pairs = [("Origin Bucket", key_value.bucket_name(origin["name"]))]
        sections.append(("Mirror Information", [*rows, *_progress(info["mirror"], origin)]))
    rows = []
    for source in info.get("sources") or []:
        rows.append(("Source Bucket", key_value.bucket_name(source["name"])))
        rows += _progress(source, source)
    if rows:
        sections.append(("Sources Information", rows))
    return sections


def _progress(state: Info, origin: Info) -> Pairs:
    external = (origin.get("external") or {}).get("api")
    active = state.get("active", -1)
    rows: Pairs = [("External API", external)] if external else []
    seen = render.span(active) if 0 < active < render.NEVER_NS else "never"
    rows += [("Last Seen", seen), ("Lag", render.number(state.get("lag", 0)))]
    if state.get("error"):
        rows.append(("Error", f"{state['error'].get('description')} ({state['error'].get('err_code')})"))
    return rows


def metadata(info: Info) -> list[Section]:
    """Return the section with the metadata, without what servers write there."""
    found = info["config"].get("metadata") or {}
    rows = [(key, value) for key, value in sorted(found.items()) if not key.startswith(RESERVED_METADATA)]
    return [("Metadata", [*rows])] if rows else []


def servers(info: Info) -> list[Section]:
    """Return the section about the servers that have the stream; a single server has none."""
    found = info.get("cluster")
    return [("Cluster Information", cluster(found))] if found and render.clustered(found) else []
