"""The information pages of an object bucket and of an object."""

from __future__ import annotations

from typing import Any

from ...cli import output, render
from ...cli.output.cells import clean
from ...protocol.buckets import object_store
from ...protocol.buckets.naming import BucketError
from ...protocol.buckets.object_store import DIGEST, ObjectInfo
from ..kv.lookup import local_time
from ..kv.page import Pairs, metadata, placement, servers, truth
from ..kv.text import moment
from ..stream.info import plain
from ..stream.page import STORAGE

Info = dict[str, Any]


def show_bucket(info: Info, *, before: str = "") -> None:
    """Show a bucket; `info` is the STREAM.INFO of its stream. before: what people read above the page."""
    config = info["config"]
    name = object_store.bucket_name(config["name"])
    rows: Pairs = [("Bucket Name", name)]
    if config.get("description"):
        rows.append(("Description", config["description"]))
    rows += [
        ("Replicas", config["num_replicas"]),
        ("TTL", render.go_span(config["max_age"]) if config.get("max_age") else "unlimited"),
        ("Sealed", truth(bool(config.get("sealed")))),
        ("Size", render.size(info["state"]["bytes"])),
        ("Maximum Bucket Size", render.size_limit(config.get("max_bytes", -1))),
        ("Storage", STORAGE.get(config["storage"], config["storage"])),
    ]
    if config.get("compression", "none") != "none":
        rows.append(("Compressed", truth(True)))
    rows += [("Backing Store Kind", "JetStream"), ("JetStream Stream", config["name"]), *placement(config)]
    for _, pairs in metadata(info):
        rows += [("" if at else "Metadata", f"{key}: {value}") for at, (key, value) in enumerate(pairs)]
    title = f"Information for Object Store Bucket {name} created {local_time(info['created'])}"
    text = render.page(title, [("Configuration", rows), *servers(info)])
    output.show_page({"bucket": name, **plain(info)}, before + text, name=name)


def show_object(entry: ObjectInfo, bucket: str) -> None:
    """Show an object."""
    output.show_page(entry.to_json(), object_page(entry, bucket), name=entry.name)


def object_page(entry: ObjectInfo, bucket: str) -> str:
    """Return the page of an object."""
    rows: Pairs = [("Description", clean(entry.description))] if entry.description else []
    if entry.link is not None:
        rows.append(("Link To", clean(" > ".join(filter(None, (entry.link.bucket, entry.link.name))))))
    rows += [
        ("Size", render.size(entry.size)),
        ("Modification Time", moment(entry.mtime)),
        ("Chunks", render.number(entry.chunks)),
    ]
    if entry.digest:
        rows.append(("Digest", _digest(entry.digest)))
    if entry.deleted:
        rows.append(("Deleted", truth(True)))
    values = [f"{name}: {value}" for name, values in entry.headers.items() for value in values]
    rows += [("" if at else "Headers", clean(value)) for at, value in enumerate(values)]
    sections = [("", rows)]
    if entry.metadata:
        sections.append(("Metadata", [*sorted(entry.metadata.items())]))
    return render.page(f"Object information for {bucket} > {clean(entry.name)}", sections)


def _digest(written: str) -> str:
    """Return a digest as people compare it: `SHA-256 5891b5…`."""
    try:
        return f"{DIGEST} {object_store.parse_digest(written).hex()}"
    except BucketError:
        return clean(written)
