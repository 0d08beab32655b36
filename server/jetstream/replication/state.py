"""What a replica knows besides its messages: the state that goes with each checkpoint, and with a snapshot.

Promises: with the messages of the same moment it is all that the next entries' effects depend on; what the
messages contain themselves (ids that are still stored, TTLs) is read back from them. A JSON object for what
is small, and columns for what can be much. Bytes that are no state raise ReplicaStateError.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from struct import Struct, error
from typing import TYPE_CHECKING, Any, TypedDict

from ....protocol import headers
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamConfig
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
    """These bytes are no state that this server understands."""


@dataclass(slots=True)
class ReplicaState:
    """index, time: of the last entry. created: the stream's, ns; which stream it is, if the name came again.
    group: whose entries are counted.

    remembered_from: the first message whose id is remembered; gone: (time, sequence, id) of those remembered
    whose message is not stored (any more). positions: source -> (sequence, identity).
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
    consumer_states: list[ReplicatedConsumerState] = field(default_factory=list)


class PartialReplicaState(TypedDict):
    """Some of `ReplicaState`."""

    last_id: bytes
    remembered_from: int
    gone: list[tuple[int, int, bytes]]
    positions: dict[str, tuple[int, str]]


def gather(stream: ReplicatedStream) -> ReplicaState:
    """Give the state of a stream now; it shares its consumers' states: they change with the next entry."""
    return at_once(gathering(stream))


def gathering(stream: ReplicatedStream) -> Steps[ReplicaState]:
    """The same in steps, during which no entry may be applied."""
    states = list(stream.states.values())
    index, time = stream.index, stream.time.at
    known = yield from knowing(stream)
    return ReplicaState(
        index, time, stream.created, stream.config, stream.group, **known, consumer_states=states
    )


def knowledge(stream: Stream[Consumer]) -> PartialReplicaState:
    """Give what any stream knows besides its messages and consumers."""
    return at_once(knowing(stream))


def knowing(stream: Stream[Consumer]) -> Steps[PartialReplicaState]:
    """The same in steps, during which nothing may be stored or removed."""
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
    }


def install(stream: ReplicatedStream, state: ReplicaState) -> None:
    """Let a stream just made over the messages of that moment know what `gather` gave."""
    stream.index = state.index
    stream.time.pass_to(state.time)
    for index, (sequence, identity) in state.positions.items():
        stream.source_offsets.note(index, SourceOffset(sequence, identity), 0)
    stream.states.update({consumer_state.name: consumer_state for consumer_state in state.consumer_states})
    _remember(stream.dedupe, stream.store, state)
    stream.dedupe.last_id = state.last_id
    if stream.expiry.active:
        for headed in stream.store.headed(stream.store.first_seq):
            try:
                message = stream.store.get(headed)
            except StoreError:
                continue
            stream.expiry.load(message)


def _remember(dedupe: DedupeWindow, store: StreamStore, state: ReplicaState) -> None:
    """Bring the window back in its order: that of the sequences."""
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
    """Give a state's bytes."""
    return at_once(encoding(state))


def encoding(state: ReplicaState) -> Steps[bytes]:
    """The same in steps, during which no entry may be applied."""
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
    """Read a state. Raises ReplicaStateError."""
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
