"""The flags for a bucket's configuration, and how they change one. Object buckets share most of them."""

from __future__ import annotations

import click

from ...cli.errors import UsageError
from ...cli.param import DURATION, PAIR, SIZE, split_list
from ...cli.setting import Given, Setting, put
from ...protocol.api.cluster import Placement
from ...protocol.api.stream import RePublish
from ...protocol.buckets.config import KeyValueConfig, ObjectStoreConfig, origin
from ...protocol.buckets.key_value import MAX_HISTORY

STORAGE = {"file": "file", "f": "file", "memory": "memory", "m": "memory"}
MAX_VALUE_SIZE = 2**31 - 1

SHARED: tuple[Setting, ...] = (
    Setting("--description", str, "description", "A description of the bucket"),
    Setting("--storage", click.Choice(tuple(STORAGE)), "", "Storage backend (file, memory)", only="add"),
    Setting("--ttl", DURATION, "ttl", "How long values are kept"),
    Setting("--replicas", click.IntRange(min=0), "replicas", "How many replicas of the data to keep"),
    Setting("--max-bucket-size", SIZE, "max_bytes", "Maximum bytes of the bucket (-1: unlimited)"),
    Setting("--tags", str, "", "Place the bucket on servers that have this tag", multiple=True),
    Setting("--cluster", str, "", "Place the bucket on a cluster"),
    Setting("--compress/--no-compress", bool, "compression", "Compress the data"),
    Setting("--metadata", PAIR, "", "Metadata as KEY=VALUE", multiple=True),
)
SETTINGS: tuple[Setting, ...] = (
    *SHARED,
    Setting("--history", click.IntRange(1, MAX_HISTORY), "history",
            "How many revisions to keep of each key"),
    Setting("--marker-ttl", DURATION, "marker_ttl",
            "Let keys have a TTL of their own; markers of expired keys stay this long"),
    Setting("--max-value-size", SIZE, "max_value_size", "Maximum bytes of a value (-1: unlimited)"),
    Setting("--republish-source", str, "", "Pattern of subjects to publish again"),
    Setting("--republish-destination", str, "", "Where they are published again"),
    Setting("--republish-headers", bool, "", "Publish only the headers again"),
    Setting("--mirror", str, "", "Be a mirror of a bucket", only="add"),
    Setting("--mirror-domain", str, "", "The JetStream domain of the mirrored bucket", only="add"),
    Setting("--no-mirror/--no-no-mirror", bool, "", "Stop being a mirror", only="edit"),
    Setting("--source", str, "", "Take keys from a bucket, too", multiple=True),
)  # fmt: skip


def apply_shared(config: KeyValueConfig | ObjectStoreConfig, given: Given) -> None:
    """Change `config` by the flags that both kinds of buckets have; only those that were given."""
    put(config, SHARED, given)
    if given.get("storage"):
        config.storage = STORAGE[given["storage"]]
    if given.get("metadata"):
        config.metadata = dict(given["metadata"])
    cluster, tags = given.get("cluster"), given.get("tags") or ()
    if cluster is None and not tags:
        return
    place = config.placement or Placement()
    if cluster is not None:
        place.cluster = cluster
    if tags:
        place.tags = split_list(tags)
    config.placement = place if place.cluster or place.tags else None


def apply(config: KeyValueConfig, given: Given) -> None:
    """Change `config` by the flags given. Raises UsageError for invalid combinations."""
    apply_shared(config, given)
    put(config, SETTINGS, given)
    if config.max_value_size > MAX_VALUE_SIZE:
        raise UsageError(f"--max-value-size is too big: {MAX_VALUE_SIZE} bytes are the most")
    source, destination = given.get("republish_source"), given.get("republish_destination")
    if destination:
        config.republish = RePublish(
            src=source or ">", dest=destination, headers_only=bool(given.get("republish_headers"))
        )
    elif source or given.get("republish_headers"):
        raise UsageError("nothing says where to publish again", "give it with --republish-destination")
    if given.get("mirror"):
        config.mirror = origin(given["mirror"], given.get("mirror_domain") or "")
    elif given.get("mirror_domain"):
        raise UsageError("--mirror-domain needs --mirror")
    if given.get("no_mirror"):
        config.mirror = None
    config.sources += [origin(name) for name in given.get("source") or ()]
