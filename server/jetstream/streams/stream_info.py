"""A stream's StreamState and StreamInfo, and the metadata that servers add to its configuration.

Promises: the numbers are those of the moment, and asking changes nothing. Deleted sequences and subjects are
left out: the API adds them to an answer when a request asks for them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....protocol.api.cluster import ClusterInfo
from ....protocol.api.stream import LostStreamData, StreamConfig, StreamInfo, StreamState
from ....protocol.limits import API_LEVEL
from ....version import NATS_VERSION
from ...slices import Steps, at_once

if TYPE_CHECKING:
    from .core import Stream


def state(stream: Stream[Any]) -> StreamState:
    """Return the stream's state: counts, sequences and times, without deleted sequences and subjects."""
    store = stream.store
    lost = store.damaged()
    return StreamState(
        messages=store.messages,
        bytes=store.bytes,
        first_seq=store.first_seq or stream.config.first_seq,
        first_ts=store.first_time,
        last_seq=store.last_seq,
        last_ts=store.last_time,
        num_subjects=store.num_subjects,
        num_deleted=store.num_deleted,
        lost=LostStreamData(msgs=lost) if lost else None,
        consumer_count=sum(1 for consumer in stream.consumers.values() if not consumer.direct),
    )


def shown(config: StreamConfig) -> StreamConfig:
    """Return a configuration as responses show it: with this server's version and API level."""
    metadata = dict(config.metadata)
    metadata["_nats.ver"] = NATS_VERSION
    metadata["_nats.level"] = str(API_LEVEL)
    return replace(config, metadata=metadata)


def stamped(config: StreamConfig) -> StreamConfig:
    """Return a configuration as it is stored: with the API level that its features require."""
    metadata = {k: v for k, v in config.metadata.items() if k not in {"_nats.ver", "_nats.level"}}
    level = 1 if config.allow_msg_ttl or config.subject_delete_marker_ttl > 0 else 0
    newer = config.allow_msg_counter or config.allow_atomic or config.allow_msg_schedules
    if config.persist_mode == "async" or newer:
        level = 2
    if config.allow_batched:
        level = 4
    metadata["_nats.req.level"] = str(level)
    return replace(config, metadata=metadata)


def info(stream: Stream[Any]) -> StreamInfo:
    """Return the stream's info, with this server as its leader and without replicas."""
    return at_once(describing(stream))


def describing(stream: Stream[Any]) -> Steps[StreamInfo]:
    """Do what `info` does, in steps."""
    host = stream.host
    sourcing = stream.sourcing
    sources = (yield from sourcing.source_infos()) if sourcing is not None else []
    return StreamInfo(
        config=shown(stream.config),
        created=stream.created,
        state=state(stream),
        domain=host.domain,
        cluster=ClusterInfo(name=host.cluster_name, leader=host.server_name),
        mirror=sourcing.mirror_info() if sourcing is not None else None,
        sources=sources,
        alternates=[],
        ts=host.clock.now(),
    )
