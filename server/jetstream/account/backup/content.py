"""Content: what an archive has of a stream besides its messages, in the archive's format.

Promises: a consumer's state never reaches beyond the stream's state at the moment the backup began. An entry
that cannot be read raises ArchiveError, which names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .....protocol.api.consumer import ConsumerConfig
from .....protocol.api.stream import StreamState
from .....protocol.archive.entries import CONSUMERS, STATE, ArchiveEntry, ArchiveError
from .....protocol.errors import ApiError
from .....protocol.lazy_dataclass import dataclass
from .....store.consumer_state import ConsumerState

Json = dict[str, Any]


@dataclass(slots=True)
class SavedConsumer:
    """One consumer of an archive: its name, configuration and delivery state."""

    name: str
    config: ConsumerConfig
    state: ConsumerState


def state_entry(state: StreamState, now: int) -> ArchiveEntry:
    """Return the first entry of an archive. now: the entry's time, ns."""
    return ArchiveEntry(STATE, now, body=json.dumps(state.to_json()).encode())


def read_state(entry: ArchiveEntry) -> StreamState:
    """Read the first entry of an archive. Raises ArchiveError."""
    if entry.name != STATE or entry.seq:
        raise ArchiveError(f"it begins with {entry.name!r}, not with {STATE}")
    try:
        return StreamState.from_json(json.loads(entry.body))
    except (ValueError, ApiError) as error:
        raise ArchiveError(f"{STATE} cannot be read: {error}") from error


def consumer_entry(consumer: SavedConsumer, first: int, last: int, now: int) -> ArchiveEntry:
    """Return a consumer's entry in the archive of a stream from the sequence `first` to `last`.

    The state is cut off at both. now: the entry's time, ns.
    """
    state = _raised(consumer.state, first)
    pending = {seq: entry for seq, entry in state.pending.items() if seq <= last}
    redelivered = {str(seq): count for seq, count in state.redelivered.items() if seq <= last}
    shown: Json = {
        "delivered": _pair(state.delivered, last),
        "ack_floor": _pair(state.ack_floor, last),
    }
    if pending:
        shown["pending"] = {
            str(seq): {"Sequence": number, "Timestamp": time} for seq, (number, time) in pending.items()
        }
    if redelivered:
        shown["redelivered"] = redelivered
    document = {"config": consumer.config.to_json() | {"name": consumer.name}, "state": shown}
    return ArchiveEntry(CONSUMERS + consumer.name, now, body=json.dumps(document).encode())


def _raised(state: ConsumerState, first: int) -> ConsumerState:
    """Return a state whose ack floor is not below the messages before `first`, which are gone.

    nats-server 2.15 drops a restored state with a lower floor without a word (`Update` of consumerFileStore
    in filestore.go), and delivers again what was acknowledged. The floor becomes what its `checkAckFloor`
    (consumer.go) would make of it: just below the lowest pending message, or what was delivered.
    """
    if state.ack_floor[1] + 1 >= first:
        return state
    number, seq = state.delivered
    delivered = number, max(seq, first - 1)
    pending = {seq: entry for seq, entry in state.pending.items() if seq >= first}
    lowest = min(pending, default=0)
    floor = (pending[lowest][0] - 1, lowest - 1) if lowest else delivered
    redelivered = {seq: count for seq, count in state.redelivered.items() if seq >= first}
    return ConsumerState(delivered, floor, pending, redelivered)


def _pair(numbers: tuple[int, int], last: int) -> Json:
    return {"consumer_seq": numbers[0], "stream_seq": min(numbers[1], last)}


def read_consumer(entry: ArchiveEntry) -> SavedConsumer:
    """Read a consumer's entry. Raises ArchiveError."""
    name = entry.name.removeprefix(CONSUMERS)
    if name == entry.name or entry.seq:
        raise ArchiveError(f"{entry.name!r} stands where a consumer should")
    try:
        document = json.loads(entry.body)
        config = ConsumerConfig.from_json(document["config"])
        saved = document["state"]
        state = ConsumerState(
            (int(saved["delivered"]["consumer_seq"]), int(saved["delivered"]["stream_seq"])),
            (int(saved["ack_floor"]["consumer_seq"]), int(saved["ack_floor"]["stream_seq"])),
            dict(_pending(saved.get("pending") or {})),
            {int(seq): int(count) for seq, count in (saved.get("redelivered") or {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, ApiError) as error:
        raise ArchiveError(f"consumer {name!r} cannot be read: {error}") from error
    return SavedConsumer(name, config, state)


def _pending(saved: Json) -> Iterator[tuple[int, tuple[int, int]]]:
    for seq, entry in saved.items():
        yield int(seq), (int(entry["Sequence"]), int(entry["Timestamp"]))
