"""The flags for a stream's configuration, and how they change one.

`add`, `copy` and `edit` use them. Only flags that were given change anything.
"""

from __future__ import annotations

import click

from ...cli.errors import UsageError
from ...cli.param import DURATION, PAIR, SIZE, split_list
from ...cli.setting import Given, Setting, put
from ...protocol.api.cluster import Placement
from ...protocol.api.stream import RePublish, StreamConfig, SubjectTransformConfig

STORAGE = {"file": "file", "f": "file", "memory": "memory", "m": "memory"}
RETENTION = {"limits": "limits", "interest": "interest", "workq": "workqueue", "work": "workqueue"}
MAX_MSG_SIZE = 2**31 - 1

SETTINGS: tuple[Setting, ...] = (
    Setting("--subjects", str, "", "Subjects that are consumed by the Stream", multiple=True),
    Setting("--description", str, "description", "A description of the Stream"),
    Setting("--storage", click.Choice(tuple(STORAGE)), "", "Storage backend (file, memory)"),
    Setting("--compression", click.Choice(("none", "s2")), "compression", "Compression of the store"),
    Setting("--replicas", click.IntRange(min=1), "num_replicas", "How many replicas of the data to keep"),
    Setting("--tag", str, "", "Place the Stream on servers that have this tag", multiple=True),
    Setting("--tags", str, "", "As --tag", multiple=True),
    Setting("--cluster", str, "", "Place the Stream on a cluster"),
    Setting("--ack/--no-ack", bool, "", "Acknowledge publishes (default: yes)"),
    Setting("--retention", click.Choice(tuple(RETENTION)), "", "Retention policy (limits, interest, work)"),
    Setting("--discard", click.Choice(("new", "old")), "discard", "What to do when a limit is reached"),
    Setting("--discard-per-subject/--no-discard-per-subject", bool, "discard_new_per_subject",
            "Discard new messages of a subject that is at its limit"),
    Setting("--first-sequence", click.IntRange(min=0), "first_seq",
            "Sequence of the first message", only="add"),
    Setting("--max-age", DURATION, "", "Maximum age of messages (-1: unlimited)"),
    Setting("--max-bytes", SIZE, "", "Maximum bytes of the Stream (-1: unlimited)"),
    Setting("--max-consumers", int, "max_consumers", "Maximum number of Consumers (-1: unlimited)"),
    Setting("--max-msg-size", SIZE, "", "Maximum size of a message (-1: unlimited)"),
    Setting("--max-msgs", int, "", "Maximum number of messages (-1: unlimited)"),
    Setting("--max-msgs-per-subject", int, "", "Maximum number of messages per subject (-1: unlimited)"),
    Setting("--dupe-window", DURATION, "duplicate_window", "How long message ids are remembered"),
    Setting("--mirror", str, "", "Be a mirror of a Stream: its name, or a JSON object"),
    Setting("--no-mirror", bool, "", "Stop being a mirror", only="edit"),
    Setting("--source", str, "",
            "Take messages from a Stream too: its name, or a JSON object", multiple=True),
    Setting("--allow-batch/--no-allow-batch", bool, "allow_atomic", "Allow atomic batch publishing"),
    Setting("--allow-fast/--no-allow-fast", bool, "allow_batched", "Allow fast batch publishing"),
    Setting("--allow-counter", bool, "allow_msg_counter", "Make the subjects counters"),
    Setting("--allow-rollup/--no-allow-rollup", bool, "allow_rollup_hdrs", "Allow roll-ups by header"),
    Setting("--deny-delete/--no-deny-delete", bool, "deny_delete", "Deny deleting messages by the API"),
    Setting("--deny-purge/--no-deny-purge", bool, "deny_purge", "Deny purging by the API"),
    Setting("--allow-direct/--no-allow-direct", bool, "allow_direct", "Allow direct gets (default: yes)"),
    Setting("--allow-mirror-direct/--no-allow-mirror-direct", bool, "mirror_direct",
            "Let mirrors answer direct gets"),
    Setting("--allow-msg-ttl", bool, "allow_msg_ttl", "Allow messages to have a time to live"),
    Setting("--allow-schedules/--no-allow-schedules", bool, "allow_msg_schedules",
            "Allow scheduled messages"),
    Setting("--subject-del-markers-ttl", DURATION, "subject_delete_marker_ttl",
            "How long markers of deleted subjects stay"),
    Setting("--transform-source", str, "", "Pattern of subjects to transform"),
    Setting("--transform-destination", str, "", "What they are transformed to"),
    Setting("--no-transform", bool, "", "Transform subjects no more", only="edit"),
    Setting("--metadata", PAIR, "", "Metadata as KEY=VALUE", multiple=True),
    Setting("--republish-source", str, "", "Pattern of subjects to publish again"),
    Setting("--republish-destination", str, "", "Where they are published again"),
    Setting("--republish-headers", bool, "", "Publish only the headers again"),
    Setting("--no-republish", bool, "", "Publish no more again", only="edit"),
    Setting("--limit-consumer-inactive", DURATION, "", "Longest inactive threshold of Consumers", only="add"),
    Setting("--limit-consumer-max-pending", int, "", "Most pending acks of Consumers", only="add"),
    Setting("--persist-mode", click.Choice(("default", "async")), "persist_mode",
            "When publishes are acknowledged", only="add"),
)  # fmt: skip


def limit(value: int | None) -> int:
    """Return a limit as the API has it: -1 for unlimited."""
    return -1 if value is None or value <= 0 else value


def apply(config: StreamConfig, given: Given) -> None:
    """Change `config` by the flags given. Raises CliError for invalid combinations."""
    put(config, SETTINGS, given)
    if given.get("subjects"):
        config.subjects = split_list(given["subjects"])
    if given.get("storage"):
        config.storage = STORAGE[given["storage"]]
    if given.get("retention"):
        config.retention = RETENTION[given["retention"]]
    if given.get("ack") is not None:
        config.no_ack = not given["ack"]
    for flag_name in ("max_bytes", "max_msgs", "max_msgs_per_subject", "max_msg_size"):
        if given.get(flag_name):
            setattr(config, flag_name, limit(given[flag_name]))
    if config.max_msg_size > MAX_MSG_SIZE:
        raise UsageError(f"--max-msg-size is too big: {MAX_MSG_SIZE} bytes are the most")
    if given.get("max_age") is not None:
        config.max_age = max(0, given["max_age"])
    if given.get("metadata"):
        config.metadata = dict(given["metadata"])
    if given.get("limit_consumer_inactive") is not None:
        config.consumer_limits.inactive_threshold = given["limit_consumer_inactive"]
    if given.get("limit_consumer_max_pending") is not None:
        config.consumer_limits.max_ack_pending = given["limit_consumer_max_pending"]
    _placement(config, given)
    _subjects_elsewhere(config, given)


def _placement(config: StreamConfig, given: Given) -> None:
    """Set the placement; `--cluster ''` and `--tag ''` remove it."""
    tags = (*(given.get("tag") or ()), *(given.get("tags") or ()))
    cluster = given.get("cluster")
    if cluster is None and not tags:
        return
    place = config.placement or Placement()
    if cluster is not None:
        place.cluster = cluster
    if tags:
        place.tags = split_list(tags)
    config.placement = place if place.cluster or place.tags else None


def _subjects_elsewhere(config: StreamConfig, given: Given) -> None:
    source, destination = given.get("transform_source"), given.get("transform_destination")
    if source and not destination:
        raise UsageError("--transform-source needs --transform-destination")
    if destination:
        config.subject_transform = SubjectTransformConfig(src=source or ">", dest=destination)
    if given.get("no_transform"):
        config.subject_transform = None
    source, destination = given.get("republish_source"), given.get("republish_destination")
    if bool(source) != bool(destination):
        raise UsageError("--republish-source and --republish-destination are needed together")
    if source and destination:
        config.republish = RePublish(
            src=source, dest=destination, headers_only=bool(given.get("republish_headers"))
        )
    if given.get("no_republish"):
        config.republish = None
    if given.get("no_mirror"):
        config.mirror = None
