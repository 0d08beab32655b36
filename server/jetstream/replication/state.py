"""What a replica knows besides its messages: the state that belongs to each checkpoint and each catchup.

Promises: together with the messages of the same moment it is everything that the effects of the next entries
depend on. What can be read back from the messages themselves (ids that are still stored, TTLs) is not
repeated in it. Small things are a JSON object, and what can be large is encoded as rows after it. Bytes that
are not a state raise ReplicaStateError.
"""

from __future__ import annotations

import json
from dataclasses import field
from struct import Struct, error
from typing import TYPE_CHECKING, Any, TypedDict

from ....protocol import headers
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamConfig
from ....protocol.lazy_dataclass import dataclass
from ....store.consumer_state import ConsumerState, apply_change
from ....store.consumer_state import encoding as encoding_consumer
from ....store.errors import StoreError
from ...slices import Steps, at_once
from ..streams.dedupe import HEADER as MSG_ID
from ..streams.source_offsets import SourceOffset
from .consumers import ReplicatedConsumerState

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ..consumers.core import Consumer
    from ..streams.core import Stream
    from ..streams.dedupe import DedupeWindow
    from .stream import ReplicatedStream

VERSION = 1
STEP = 2048  # message ids of one step
MUCH = 256 << 10  # bytes that are not put into the note and into a commit in the same step
_HEAD = Struct("<BI")
_LENGTH = Struct("<I")
_IDENTIFIER = Struct("<qQH")


class ReplicaStateError(ValueError):
    """These bytes are not a state that this server understands."""


@dataclass(slots=True)
class ReplicaState:
    """The state of a replica after one entry.

    index, time: of the last entry; time in ns.
    created: when the stream was created, ns; it tells the stream from a later one of the same name.
    config: the stream's configuration.
    group: the group that the index belongs to.
    last_id: the message id that was stored last.
    remembered_from: the first sequence whose message id is remembered.
    gone: (time, sequence, id) of the remembered ids whose message is not stored any more.
    positions: source -> (sequence, identity) up to which it was read.
    fast: the open fast batches, see `FastBatches.to_json`.
    consumer_states: the agreed states of the consumers.
    """

    index: int
    time: int
    created: int
    config: StreamConfig
    group: str = ""
    last_id: bytes = b""
    remembered_from: int = 0
    gone: list[tuple[int, int, bytes]] = field(default_factory=list)
    positions: dict[str, tuple[int, str]] = field(default_factory=dict)
    fast: list[dict[str, Any]] = field(default_factory=list)
    consumer_states: list[ReplicatedConsumerState] = field(default_factory=list)


class PartialReplicaState(TypedDict):
    """The fields of `ReplicaState` that any stream has."""

    last_id: bytes
    remembered_from: int
    gone: list[tuple[int, int, bytes]]
    positions: dict[str, tuple[int, str]]
    fast: list[dict[str, Any]]


def gather(stream: ReplicatedStream) -> ReplicaState:
    """Return the state of a stream now. It shares the consumers' states, which change with the next entry."""
    return at_once(gathering(stream))


def gathering(stream: ReplicatedStream) -> Steps[ReplicaState]:
    """Do the same as `gather` in steps, during which no entry may be applied."""
    states = list(stream.states.values())
    index, time = stream.index, stream.time.at
    known = yield from knowing(stream)
    return ReplicaState(
        index, time, stream.created, stream.config, stream.group, **known, consumer_states=states
    )


def knowledge(stream: Stream[Consumer]) -> PartialReplicaState:
    """Return what any stream knows besides its messages and consumers."""
    return at_once(knowing(stream))


def knowing(stream: Stream[Consumer]) -> Steps[PartialReplicaState]:
    """Do the same as `knowledge` in steps, during which nothing may be stored or removed."""
    store, order = stream.store, stream.dedupe.order()
    gone: list[tuple[int, int, bytes]] = []
    for start in range(0, len(order), STEP):
        page = order[start : start + STEP]
        gone += [(time, seq, name) for time, name, seq in page if store.next_seq((), seq) != seq]
        if len(page) == STEP:
            yield
    return {
        "last_id": stream.dedupe.last_id,
        "remembered_from": order[0][2] if order else store.last_seq + 1,
        "gone": gone,
        "positions": {
            index: (known.sequence, known.identity) for index, known in stream.source_offsets.known()
        },
        "fast": stream.ingest.fast.to_json() if stream.ingest.fast is not None else [],
    }


def install(stream: ReplicatedStream, state: ReplicaState) -> None:
    """Give the state that `gather` returned to a stream just made over the messages of that moment."""
    stream.index = state.index
    stream.time.pass_to(state.time)
    for index, (sequence, identity) in state.positions.items():
        stream.source_offsets.note(index, SourceOffset(sequence, identity), 0)
    stream.states.update({consumer_state.name: consumer_state for consumer_state in state.consumer_states})
    _remember(stream.dedupe, stream.store, state)
    stream.dedupe.last_id = state.last_id
    if stream.ingest.fast is not None:
        stream.ingest.fast.load(state.fast)
    schedules = stream.schedules
    if stream.expiry.active or schedules.active:
        for headed in stream.store.headed(stream.store.first_seq):
            try:
                message = stream.store.get(headed)
            except StoreError:
                continue
            if stream.expiry.active:
                stream.expiry.load(message)
            if schedules.active:
                schedules.load(message)


def _remember(dedupe: DedupeWindow, store: StreamStore, state: ReplicaState) -> None:
    """Restore the window in its order, which is that of the sequences."""
    known = [(seq, time, name) for time, seq, name in state.gone]
    for headed in store.headed(state.remembered_from):
        try:
            message = store.get(headed)
        except StoreError:
            continue
        name = headers.get(message.header, MSG_ID)
        if name:
            known.append((headed, message.time, name))
    for seq, time, name in sorted(known):
        dedupe.remember(name, seq, time)


def encode(state: ReplicaState) -> bytes:
    """Return the bytes of a state."""
    return at_once(encoding(state))


def encoding(state: ReplicaState) -> Steps[bytes]:
    """Do the same as `encode` in steps, during which no entry may be applied."""
    document = {
        "index": state.index,
        "time": state.time,
        "created": state.created,
        "group": state.group,
        "config": state.config.to_json(),
        "last_id": state.last_id.hex(),
        "remembered_from": state.remembered_from,
        "gone": len(state.gone),
        "positions": {index: list(position) for index, position in state.positions.items()},
        "fast": state.fast,
        "consumers": [_describe(consumer_state) for consumer_state in state.consumer_states],
    }
    head = json.dumps(document, separators=(",", ":")).encode()
    note = bytearray(_HEAD.pack(VERSION, len(head)) + head)
    for start in range(0, len(state.gone), STEP):
        page = state.gone[start : start + STEP]
        note += b"".join([_IDENTIFIER.pack(time, seq, len(name)) + name for time, seq, name in page])
        if len(page) == STEP:
            yield
    for consumer_state in state.consumer_states:
        change = yield from encoding_consumer(consumer_state.state, None)
        note += _LENGTH.pack(len(change))
        note += change
        if len(change) > MUCH:
            yield
    return bytes(note)


def _describe(state: ReplicatedConsumerState) -> dict[str, Any]:
    return {
        "name": state.name,
        "created": state.created,
        "config": state.config.to_json(),
        "version": state.version,
        "picked": state.picked,
        "resume": state.resume,
        "active": [state.delivered_at, state.acked_at],
    }


def decode(data: bytes) -> ReplicaState:
    """Return the state that the bytes encode. Raises ReplicaStateError if they encode none."""
    try:
        return _decode(data)
    except (error, ValueError, KeyError, TypeError, IndexError) as cause:
        raise ReplicaStateError(f"not the state of a replica: {cause}") from cause


def _decode(data: bytes) -> ReplicaState:
    version, size = _HEAD.unpack_from(data)
    if version != VERSION:
        raise ReplicaStateError(f"version {version}")
    at = _HEAD.size + size
    document = json.loads(data[_HEAD.size : at])
    state = ReplicaState(
        document["index"],
        document["time"],
        document["created"],
        StreamConfig.from_json(document["config"]),
        document["group"],
        bytes.fromhex(document["last_id"]),
        document["remembered_from"],
        positions={index: (seq, name) for index, (seq, name) in document["positions"].items()},
        fast=document.get("fast", []),  # older servers do not write it
    )
    for _ in range(document["gone"]):
        time, seq, length = _IDENTIFIER.unpack_from(data, at)
        at += _IDENTIFIER.size + length
        state.gone.append((time, seq, data[at - length : at]))
    for one in document["consumers"]:
        consumer_state = ReplicatedConsumerState(
            one["name"], one["created"], ConsumerConfig.from_json(one["config"])
        )
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size + length
        consumer_state.state = ConsumerState()
        apply_change(data[at - length : at], consumer_state.state)
        consumer_state.version, consumer_state.picked, consumer_state.resume = (
            one["version"],
            one["picked"],
            one["resume"],
        )
        consumer_state.delivered_at, consumer_state.acked_at = one.get(
            "active", (0, 0)
        )  # older servers do not write it
        state.consumer_states.append(consumer_state)
    if at != len(data):
        raise ReplicaStateError("it has another length than it says")
    return state
