"""What a server makes of a configuration: its defaults filled in.

Promises: a configuration that a server has accepted and reports is the one computed here, except where limits
in the server's own configuration cap a default (`limits` of its `jetstream` block); no client sees those.
Nothing is validated, and the configuration passed in is not changed. Compare configurations only with
`normal_stream` and `normal_consumer`: then the order of subjects and what servers write of their own does not
count.

Source: nats-server 2.15, `checkStreamCfg` and `configUpdateCheck` in stream.go, and
`setConsumerConfigDefaults` in consumer.go.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..protocol.api.cluster import Placement
from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from ..protocol.duration import MINUTE, SECOND

DUPLICATE_WINDOW = 2 * MINUTE
ACK_WAIT = 30 * SECOND
MAX_ACK_PENDING = 1000
MAX_WAITING = 512
PINNED = 2 * MINUTE
RESERVED_METADATA = "_nats."  # written by servers
UNLIMITED = ("max_msgs", "max_msgs_per_subject", "max_bytes", "max_msg_size", "max_consumers")
NOT_NEGATIVE = (
    "max_waiting",
    "max_batch",
    "max_expires",
    "max_bytes",
    "idle_heartbeat",
    "inactive_threshold",
    "priority_timeout",
)
# What is no part of a document: the name, and what somebody does with a consumer while it runs.
NOT_DECLARED = ("name", "durable_name", "pause_until", "direct", "sourcing")

Lookup = Callable[[str], StreamConfig | None]


def stream_defaults(given: StreamConfig, origin: Lookup) -> StreamConfig:
    """Return a stream's configuration with its defaults.

    origin: the configuration of another stream of the account by name, if it exists: a mirror answers direct
        gets if its origin does.
    """
    config = given.replace()
    for name in UNLIMITED:
        setattr(config, name, max(getattr(config, name), 0) or -1)
    config.num_replicas = config.num_replicas or 1
    if not config.duplicate_window and config.mirror is None and not config.sources:
        config.duplicate_window = min(DUPLICATE_WINDOW, config.max_age or DUPLICATE_WINDOW)
    if config.subject_delete_marker_ttl and not config.allow_rollup_hdrs:
        config.allow_rollup_hdrs, config.deny_purge = True, False
    config.allow_msg_ttl = config.allow_msg_ttl or config.subject_delete_marker_ttl > 0
    if config.allow_msg_schedules and not config.allow_rollup_hdrs:
        config.allow_rollup_hdrs, config.deny_purge = True, False
    if config.mirror is not None and config.mirror.external is None:
        found = origin(config.mirror.name)
        config.mirror_direct = config.mirror_direct if found is None else found.allow_direct
    if not config.subjects and config.mirror is None and not config.sources:
        config.subjects = [config.name]
    _republish_defaults(config)
    if config.placement == Placement():
        config.placement = None
    if config.sealed:
        config.max_age, config.discard = 0, "new"
        config.deny_delete = config.deny_purge = True
        config.allow_rollup_hdrs = False
    return config


def _republish_defaults(config: StreamConfig) -> None:
    if config.republish is None:
        return
    transform = config.subject_transform
    config.republish = replace(config.republish, src=config.republish.src or ">")
    if (
        config.republish.dest == ">" == config.republish.src
        and transform is not None
        and config.subjects == [transform.src]
    ):
        config.republish = replace(config.republish, src=transform.dest, dest=transform.dest)


def consumer_defaults(
    given: ConsumerConfig, stream: StreamConfig, account_max_ack_pending: int = 0
) -> ConsumerConfig:
    """Return a consumer's configuration with its defaults.

    stream: the configuration of its stream, whose limits are defaults.
    account_max_ack_pending: the account's limit of pending messages; 0 or less for none.
    """
    config = given.replace()
    config.max_deliver = max(config.max_deliver, 0) or -1
    config.max_ack_pending = max(config.max_ack_pending, -1)
    for name in NOT_NEGATIVE:
        setattr(config, name, max(getattr(config, name), 0))
    if not config.deliver_subject:
        config.max_waiting = config.max_waiting or MAX_WAITING
    if config.ack_policy in ("explicit", "all"):
        config.ack_wait = config.ack_wait or ACK_WAIT
    if config.backoff:
        config.ack_wait = config.backoff[0]
    limits = stream.consumer_limits
    config.max_ack_pending = config.max_ack_pending or limits.max_ack_pending
    config.inactive_threshold = config.inactive_threshold or limits.inactive_threshold
    if not config.max_ack_pending and config.ack_policy != "none":
        bounded = account_max_ack_pending if account_max_ack_pending > 0 else MAX_ACK_PENDING
        config.max_ack_pending = min(MAX_ACK_PENDING, bounded)
    if config.priority_policy == "pinned_client":
        config.priority_timeout = config.priority_timeout or PINNED
    if config.ack_policy == "flow_control":
        config.flow_control, config.idle_heartbeat = True, SECOND
    return config


def normal_stream(config: StreamConfig) -> dict[str, Any]:
    """Return a configuration that has its defaults as a document that can be compared."""
    found = _known(config)
    found["subjects"] = sorted(config.subjects)
    found["sources"] = sorted((each.to_json() for each in config.sources), key=_text)
    found["metadata"] = declared_metadata(config.metadata)
    found["persist_mode"] = config.persist_mode or "default"
    return _nonempty(found)


def normal_consumer(config: ConsumerConfig) -> dict[str, Any]:
    """Return a configuration that has its defaults as a document that can be compared."""
    found = _known(config)
    for name in (*NOT_DECLARED, "filter_subject"):
        found.pop(name, None)
    found["filter_subjects"] = sorted(config.filters)
    found["metadata"] = declared_metadata(config.metadata)
    return _nonempty(found)


def _known(config: StreamConfig | ConsumerConfig) -> dict[str, Any]:
    """Return the fields that documents can have: what newer servers add is not compared."""
    return {name: value for name, value in config.to_json().items() if name not in config.extra}


def declared_metadata(metadata: dict[str, str]) -> dict[str, str]:
    """Return metadata without what servers write."""
    return {key: value for key, value in metadata.items() if not key.startswith(RESERVED_METADATA)}


def _nonempty(found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that say something: an empty one is the same as none."""
    return {name: value for name, value in found.items() if value not in ("", 0, None, [], {})}


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
