"""Snapshots: the whole meta state as bytes, and back.

A snapshot is a byte for the version, then JSON with sorted keys, so that equal states give equal bytes. It
has no checksum of its own; the store adds one.
"""

from __future__ import annotations

import json

from .assignment import ConsumerAssignment, StreamAssignment
from .node_info import NodeInfo
from .state import MetaState

VERSION = b"\x01"


class MetaSnapshotError(ValueError):
    """These bytes are not a snapshot that this version knows."""


def take(state: MetaState) -> bytes:
    """Return the bytes of a state."""
    value = {
        "index": state.index,
        "servers": [server.to_json() for _, server in sorted(state.servers.items())],
        "retired": sorted(state.retired),
        "streams": [stream.to_json() for stream in state.every_stream()],
        "consumers": [
            consumer.to_json()
            for account, stream in sorted(state.consumers)
            for consumer in state.consumers_of(account, stream)
        ],
        "consumer_changes": sorted([*key, index] for key, index in state.consumer_changes.items()),
    }
    return VERSION + json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def restore(data: bytes) -> MetaState:
    """Return the state of a snapshot. Raises MetaSnapshotError."""
    if data[:1] != VERSION:
        raise MetaSnapshotError(f"a snapshot of version {data[:1].hex() or 'none'} is not known here")
    state = MetaState()
    try:
        value = json.loads(data[1:])
        state.index = int(value["index"])
        for each in value["servers"]:
            server = NodeInfo.from_json(each)
            state.servers[server.id] = server
        state.retired = set(value["retired"])
        for each in value["streams"]:
            stream = StreamAssignment.from_json(each)
            state.streams.setdefault(stream.account, {})[stream.name] = stream
        for each in value["consumers"]:
            consumer = ConsumerAssignment.from_json(each)
            state.consumers.setdefault((consumer.account, consumer.stream), {})[consumer.name] = consumer
        for account, name, index in value["consumer_changes"]:
            state.consumer_changes[account, name] = index
    except (ValueError, KeyError, TypeError) as error:
        raise MetaSnapshotError(f"not a snapshot: {type(error).__name__}: {error}") from error
    return state
