"""The flags that describe a stream's configuration, and how those given change a configuration.

Used by `add`, `copy` and `edit`. Only flags that were given change anything: `apply` never invents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from ...cli.errors import CliError
from ...cli.param import DURATION, PAIR, SIZE, split_list
from ...protocol.api.cluster import Placement
from ...protocol.api.stream import RePublish, StreamConfig, SubjectTransformConfig

STORAGE = {"file": "file", "f": "file", "memory": "memory", "m": "memory"}
RETENTION = {"limits": "limits", "interest": "interest", "workq": "workqueue", "work": "workqueue"}
RESERVED_METADATA = "_nats."  # written by servers; never sent back
MAX_MSG_SIZE = 2**31 - 1

Given = dict[str, Any]


class Flag(NamedTuple):
    """A configuration flag: the click spelling, its type, the configuration field it sets as it is."""

    spelling: str
    kind: Any = None
    field: str = ""
    help: str = ""
    multiple: bool = False
    hidden: bool = False
    only: str = ""  # a command it exists for, when not for all


FLAGS: tuple[Flag, ...] = (
    Flag("--subjects", str, "", "Subjects that are consumed by the Stream", multiple=True),
    Flag("--description", str, "description", "A description of the Stream"),
    Flag("--storage", click.Choice(tuple(STORAGE)), "", "Storage backend (file, memory)"),
    Flag("--compression", click.Choice(("none", "s2")), "compression", "Compression of the store"),
    Flag("--replicas", click.IntRange(min=1), "num_replicas", "How many replicas of the data to keep"),
    Flag("--tag", str, "", "Place the Stream on servers that have this tag", multiple=True),
    Flag("--tags", str, "", "", multiple=True, hidden=True),
    Flag("--cluster", str, "", "Place the Stream on a cluster"),
    Flag("--ack/--no-ack", bool, "", "Acknowledge publishes (default: yes)"),
    Flag("--retention", click.Choice(tuple(RETENTION)), "", "Retention policy (limits, interest, work)"),
    Flag("--discard", click.Choice(("new", "old")), "discard", "What to do when a limit is reached"),
    Flag("--discard-per-subject/--no-discard-per-subject", bool, "discard_new_per_subject",
         "Discard new messages of a subject that is at its limit"),
    Flag("--first-sequence", click.IntRange(min=0), "first_seq", "Sequence of the first message", only="add"),
    Flag("--max-age", DURATION, "", "Maximum age of messages (-1: unlimited)"),
    Flag("--max-bytes", SIZE, "", "Maximum bytes of the Stream (-1: unlimited)"),
    Flag("--max-consumers", int, "max_consumers", "Maximum number of Consumers (-1: unlimited)"),
    Flag("--max-msg-size", SIZE, "", "Maximum size of a message (-1: unlimited)"),
    Flag("--max-msgs", int, "", "Maximum number of messages (-1: unlimited)"),
    Flag("--max-msgs-per-subject", int, "", "Maximum number of messages per subject (-1: unlimited)"),
    Flag("--dupe-window", DURATION, "duplicate_window", "How long message ids are remembered"),
    Flag("--mirror", str, "", "Be a mirror of a Stream: its name, or a JSON object"),
    Flag("--no-mirror", bool, "", "Stop being a mirror", only="edit"),
    Flag("--source", str, "", "Take messages from a Stream too: its name, or a JSON object", multiple=True),
    Flag("--allow-batch/--no-allow-batch", bool, "allow_atomic", "Allow atomic batch publishing"),
    Flag("--allow-fast/--no-allow-fast", bool, "allow_batched", "Allow fast batch publishing"),
    Flag("--allow-counter", bool, "allow_msg_counter", "Make the subjects counters"),
    Flag("--allow-rollup/--no-allow-rollup", bool, "allow_rollup_hdrs", "Allow roll-ups by header"),
    Flag("--deny-delete/--no-deny-delete", bool, "deny_delete", "Deny deleting messages by the API"),
    Flag("--deny-purge/--no-deny-purge", bool, "deny_purge", "Deny purging by the API"),
    Flag("--allow-direct/--no-allow-direct", bool, "allow_direct", "Allow direct gets (default: yes)"),
    Flag("--allow-mirror-direct/--no-allow-mirror-direct", bool, "mirror_direct",
         "Let mirrors answer direct gets"),
    Flag("--allow-msg-ttl", bool, "allow_msg_ttl", "Allow messages to have a time to live"),
    Flag("--allow-schedules/--no-allow-schedules", bool, "allow_msg_schedules", "Allow scheduled messages"),
    Flag("--subject-del-markers-ttl", DURATION, "subject_delete_marker_ttl",
         "How long markers of deleted subjects stay"),
    Flag("--transform-source", str, "", "Pattern of subjects to transform"),
    Flag("--transform-destination", str, "", "What they are transformed to"),
    Flag("--no-transform", bool, "", "Transform subjects no more", only="edit"),
    Flag("--metadata", PAIR, "", "Metadata as KEY=VALUE", multiple=True),
    Flag("--republish-source", str, "", "Pattern of subjects to publish again"),
    Flag("--republish-destination", str, "", "Where they are published again"),
    Flag("--republish-headers", bool, "", "Publish only the headers again"),
    Flag("--no-republish", bool, "", "Publish no more again", only="edit"),
    Flag("--limit-consumer-inactive", DURATION, "", "Longest inactive threshold of Consumers", only="add"),
    Flag("--limit-consumer-max-pending", int, "", "Most pending acks of Consumers", only="add"),
    Flag("--persist-mode", click.Choice(("default", "async")), "persist_mode",
         "When publishes are acknowledged", only="add"),
)  # fmt: skip

# `copy` has the flags of `add` that make sense for it; a mirror's or sources' origin is not edited.
_ONLY = {"add": {"add"}, "copy": {"add"}, "edit": {"edit"}}


def configuration(command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator adding the configuration flags of `add`, `copy` or `edit`.

    The values arrive in the keyword argument of each flag's name; what was not given is None or ().
    """

    def decorate(callback: Callable[..., Any]) -> Callable[..., Any]:
        for flag in reversed(FLAGS):
            if flag.only and flag.only not in _ONLY[command]:
                continue
            shared: dict[str, Any] = {"help": flag.help, "hidden": flag.hidden}
            if flag.kind is bool:
                shared |= {"is_flag": True, "default": None}
            elif flag.multiple:
                shared |= {"type": flag.kind, "multiple": True}
            else:
                shared |= {"type": flag.kind, "default": None}
            callback = click.option(flag.spelling, **shared)(callback)
        return callback

    return decorate


def name_of(flag: Flag) -> str:
    """The keyword argument a flag's value arrives in."""
    return flag.spelling.partition("/")[0].removeprefix("--").replace("-", "_")


def limit(value: int | None) -> int:
    """A limit as the API wants it: -1 for what is not limited."""
    return -1 if value is None or value <= 0 else value


def apply(config: StreamConfig, given: Given) -> None:
    """Change `config` by the flags given. Raises CliError for combinations that make no sense."""
    for flag in FLAGS:
        value = given.get(name_of(flag))
        if flag.field and value is not None:
            setattr(config, flag.field, value)
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
        raise CliError(f"--max-msg-size is too big: {MAX_MSG_SIZE} bytes are the most")
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
    """`--cluster ''` and `--tag ''` take a placement away."""
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
        raise CliError("--transform-source needs --transform-destination")
    if destination:
        config.subject_transform = SubjectTransformConfig(src=source or ">", dest=destination)
    if given.get("no_transform"):
        config.subject_transform = None
    source, destination = given.get("republish_source"), given.get("republish_destination")
    if bool(source) != bool(destination):
        raise CliError("--republish-source and --republish-destination are needed together")
    if source and destination:
        config.republish = RePublish(
            src=source, dest=destination, headers_only=bool(given.get("republish_headers"))
        )
    if given.get("no_republish"):
        config.republish = None
    if given.get("no_mirror"):
        config.mirror = None


def without_reserved(config: StreamConfig) -> StreamConfig:
    """The configuration without the metadata that servers write into it."""
    config.metadata = {
        key: value for key, value in config.metadata.items() if not key.startswith(RESERVED_METADATA)
    }
    return config
