"""The rules for a stream's configuration, new or changed, and its defaults.

Promises:
- A check returns a new configuration in which every default is explicit, or raises ApiError with the
  reference's code.
- The checks run in the reference's order, so that a request with several errors gets the same one.
- The configuration passed in is never changed, and the disk is never read.

Source: nats-server's server/stream.go: checkStreamCfg, configUpdateCheck.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .....protocol.api.cluster import Placement
from .....protocol.api.stream import StreamConfig
from .....protocol.duration import format_go
from .....protocol.errors import api_error
from ....clock import SECOND
from ....slices import Steps, at_once
from .context import ValidationContext, invalid, pedantic
from .subjects import check_subjects, check_transform, with_republish
from .upstream import check_cycles, check_mirror, check_prefixes, check_sources

MILLISECOND = 1_000_000
DEFAULT_DUPLICATE_WINDOW = 120 * SECOND
MIN_WINDOW = 100 * MILLISECOND
MAX_NAME = 255
MAX_DESCRIPTION = 4 * 1024
MAX_METADATA = 128 * 1024
MAX_REPLICAS = 5

RETENTIONS = ("limits", "interest", "workqueue")
DISCARDS = ("old", "new")
STORAGES = ("file", "memory")
COMPRESSIONS = ("none", "s2")
PERSIST_MODES = ("", "default", "async")


def is_asset_name(name: str) -> bool:
    """Return whether a stream or consumer may have this name.

    It must not have blanks, dots, wildcards, slashes or control characters, as nats-server's
    `isValidAssetName` says.
    """
    return bool(name) and not any(c in ".*>/\\ \t\r\n\f" or c < " " or c == "\x7f" for c in name)


def check(config: StreamConfig, context: ValidationContext) -> StreamConfig:
    """Validate `config` and return it with its defaults. Raises ApiError."""
    return at_once(checking(config, context))


def checking(config: StreamConfig, context: ValidationContext) -> Steps[StreamConfig]:
    """Do what `check` does, in steps."""
    check_texts(config)
    config = _with_defaults(config, context)
    _check_age(config)
    config = _with_duplicate_window(config, context)
    if config.deny_purge and config.allow_rollup_hdrs:
        raise invalid("roll-ups require the purge permission")
    _check_counter(config)
    _check_discard_new_per_subject(config)
    config = _with_delete_markers(config, context)
    config = _with_schedules(config, context)
    _check_persist_mode(config)
    config = yield from check_mirror(config, context)
    yield from check_sources(config, context)
    yield from check_prefixes(config, context)
    yield from check_cycles(config, context)
    config = check_subjects(config, context.subject_check)
    _check_byte_limits(config, context)
    check_transform(config)
    config = with_republish(config, context)
    config = _with_placement(config)
    return config


def check_texts(config: StreamConfig) -> None:
    """Check the name, description and metadata. Raises ApiError."""
    if not is_asset_name(config.name):
        raise invalid("stream name is required and can not contain '.', '*', '>', '\\', '/'")
    if len(config.name.encode()) > MAX_NAME:
        raise invalid(f"stream name is too long, maximum allowed is {MAX_NAME}")
    if len((config.description or "").encode()) > MAX_DESCRIPTION:
        raise invalid(f"stream description is too long, maximum allowed is {MAX_DESCRIPTION}")
    texts = config.metadata or {}
    metadata = len("".join([*texts.keys(), *texts.values()]).encode())
    if metadata > MAX_METADATA:
        raise invalid(f"stream metadata exceeds maximum size of {MAX_METADATA} bytes")


def _with_defaults(config: StreamConfig, context: ValidationContext) -> StreamConfig:
    storage = config.storage or "file"
    for value, allowed, text in (
        (config.retention or "limits", RETENTIONS, "invalid retention"),
        (config.discard or "old", DISCARDS, "invalid discard policy"),
        (config.compression or "none", COMPRESSIONS, "invalid compression"),
        (storage, STORAGES, "invalid storage type"),
        (config.persist_mode or "", PERSIST_MODES, "invalid persist mode"),
    ):
        if value not in allowed:
            raise invalid(text)
    replicas = config.num_replicas or 1
    if replicas > MAX_REPLICAS:
        raise invalid(f"maximum replicas is {MAX_REPLICAS}")
    if replicas < 0:
        raise api_error("JSReplicasCountCannotBeNegative")
    limits: dict[str, Any] = {}
    for name in ("max_msgs", "max_msgs_per_subject", "max_bytes", "max_msg_size", "max_consumers"):
        value = getattr(config, name)
        if context.pedantic and value < -1:
            raise pedantic(f"{name} must be set to -1")
        limits[name] = value if value > 0 else -1
    return replace(
        config,
        retention=config.retention or "limits",
        discard=config.discard or "old",
        compression=config.compression or "none",
        storage=storage,
        num_replicas=replicas,
        **limits,
    )


def _check_age(config: StreamConfig) -> None:
    if config.max_age < 0:
        raise invalid("max age can not be negative")
    if 0 < config.max_age < MIN_WINDOW:
        raise invalid("max age needs to be >= 100ms")


def _with_duplicate_window(config: StreamConfig, context: ValidationContext) -> StreamConfig:
    window, limit = config.duplicate_window, context.duplicates_limit
    if window == 0 and config.mirror is None and not config.sources:
        window = DEFAULT_DUPLICATE_WINDOW
        if 0 < limit < window:
            if context.pedantic:
                raise pedantic("duplicate window limits are higher than current limits")
            window = limit
        if 0 < config.max_age < window:
            if context.pedantic:
                raise pedantic("duplicate window cannot be bigger than max age")
            window = config.max_age
    if window < 0:
        raise invalid("duplicates window can not be negative")
    if 0 < config.max_age < window:
        raise invalid("duplicates window can not be larger then max age")
    if 0 < limit < window:
        raise invalid(f"duplicates window can not be larger then server limit of {format_go(limit)}")
    if 0 < window < MIN_WINDOW:
        raise invalid("duplicates window needs to be >= 100ms")
    return replace(config, duplicate_window=window)


def _check_counter(config: StreamConfig) -> None:
    if not config.allow_msg_counter:
        return
    if config.discard == "new":
        raise invalid("counter stream cannot use discard new")
    if config.allow_msg_ttl:
        raise invalid("counter stream cannot use message TTLs")
    if config.allow_msg_schedules:
        raise invalid("counter stream cannot use message schedules")
    if config.retention != "limits":
        raise invalid("counter stream can only use limits retention")


def _check_discard_new_per_subject(config: StreamConfig) -> None:
    if not config.discard_new_per_subject:
        return
    if config.discard != "new":
        raise invalid("discard new per subject requires discard new policy to be set")
    if config.max_msgs_per_subject <= 0:
        raise invalid("discard new per subject requires max msgs per subject > 0")


def _with_delete_markers(config: StreamConfig, context: ValidationContext) -> StreamConfig:
    ttl = config.subject_delete_marker_ttl
    if ttl < 0:
        raise invalid("subject delete marker TTL must not be negative")
    if ttl == 0:
        return config
    if ttl < SECOND:
        raise invalid("subject delete marker TTL must be at least 1 second")
    if context.pedantic and not config.allow_msg_ttl:
        raise invalid("subject delete marker cannot be set if message TTLs are disabled")
    if not config.allow_rollup_hdrs:
        if context.pedantic:
            raise invalid("subject delete marker cannot be set if roll-ups are disabled")
        config = replace(config, allow_rollup_hdrs=True, deny_purge=False)
    return replace(config, allow_msg_ttl=True)


def _with_schedules(config: StreamConfig, context: ValidationContext) -> StreamConfig:
    if not config.allow_msg_schedules:
        return config
    if config.discard == "new":
        raise invalid("message scheduling cannot use discard new")
    if config.allow_rollup_hdrs:
        return config
    if context.pedantic:
        raise invalid("message scheduling cannot be set if roll-ups are disabled")
    return replace(config, allow_rollup_hdrs=True, deny_purge=False)


def _check_persist_mode(config: StreamConfig) -> None:
    if config.persist_mode != "async":
        return
    if config.storage != "file":
        raise invalid("async persist mode is only supported on file storage")
    if config.num_replicas > 1:
        raise invalid("async persist mode is not supported on replicated streams")
    if config.allow_atomic:
        raise invalid("async persist mode is not supported with atomic batch publish")


def _check_byte_limits(config: StreamConfig, context: ValidationContext) -> None:
    limit = context.storage_max_stream_bytes if config.storage == "file" else context.memory_max_stream_bytes
    if context.max_bytes_required and config.max_bytes <= 0:
        raise api_error("JSStreamMaxBytesRequired")
    if 0 < limit < config.max_bytes:
        raise api_error("JSStreamMaxStreamBytesExceeded")


def _with_placement(config: StreamConfig) -> StreamConfig:
    if config.placement is None:
        return config
    if config.placement == Placement():
        return replace(config, placement=None)
    if config.placement.preferred:
        raise invalid("preferred server not permitted in placement")
    return config


def check_update(old: StreamConfig, new: StreamConfig, context: ValidationContext) -> StreamConfig:
    """Validate `new` as an update of `old`; return it with its defaults. Raises ApiError."""
    return at_once(checking_update(old, new, context))


def checking_update(old: StreamConfig, new: StreamConfig, context: ValidationContext) -> Steps[StreamConfig]:
    """Do what `check_update` does, in steps."""
    config = yield from checking(new, context)
    if config.name != old.name:
        raise invalid("stream configuration name must match original")
    if config.num_replicas > 1 and not context.clustered:
        raise api_error("JSStreamReplicasNotSupportedErr")
    if config.storage != old.storage:
        raise invalid("stream configuration update can not change storage type")
    if config.retention != old.retention and "workqueue" in {config.retention, old.retention}:
        raise invalid("stream configuration update can not change retention policy to/from workqueue")
    _check_one_way(config, old)
    if config.allow_msg_counter != old.allow_msg_counter:
        raise invalid("stream configuration update can not change message counter setting")
    if config.mirror is not None and config.mirror != old.mirror:
        raise api_error("JSStreamMirrorNotUpdatableErr")
    if (old.persist_mode or "default") != (config.persist_mode or "default"):
        raise invalid("stream configuration update can not change persist mode")
    if config.sealed:
        config = replace(
            config, max_age=0, discard="new", deny_delete=True, deny_purge=True, allow_rollup_hdrs=False
        )
    return config


def _check_one_way(config: StreamConfig, old: StreamConfig) -> None:
    for field, text in (
        ("sealed", "stream configuration update can not unseal a sealed stream"),
        ("deny_delete", "stream configuration update can not cancel deny message deletes"),
        ("deny_purge", "stream configuration update can not cancel deny purge"),
        ("allow_msg_ttl", "message TTL status can not be disabled"),
        ("allow_msg_schedules", "message schedules can not be disabled"),
    ):
        if getattr(old, field) and not getattr(config, field):
            raise invalid(text)
