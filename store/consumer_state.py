"""Where a consumer stands, what changes of that, and both as bytes.

Promises: a change applied to the state before it gives the state after it; its bytes name only what differs.
Costs by the change where that is known (`ConsumerChange`), else by the state.
"""

from dataclasses import dataclass, field
from struct import Struct, iter_unpack, pack

_FACTS = Struct("<QQQQIIII")
_PENDING = Struct("<QQq")
_GONE = Struct("<Q")
_COUNT = Struct("<QQ")


@dataclass(slots=True)
class ConsumerState:
    """Where a consumer stands.

    `delivered` and `ack_floor` are (consumer sequence, stream sequence); `pending` maps a stream sequence to
    (consumer sequence, time of the last delivery in ns); `redelivered` maps a stream sequence to how often it
    was redelivered.
    """

    delivered: tuple[int, int] = (0, 0)
    ack_floor: tuple[int, int] = (0, 0)
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    redelivered: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class ConsumerChange:
    """What became of a consumer since it was saved before.

    delivered, ack_floor: as they are now; pending: the entries that are new, None for what is not pending any
    more; redelivered: the counts that are new, 0 for none any more.
    """

    delivered: tuple[int, int] = (0, 0)
    ack_floor: tuple[int, int] = (0, 0)
    pending: dict[int, tuple[int, int] | None] = field(default_factory=dict)
    redelivered: dict[int, int] = field(default_factory=dict)

    def apply(self, state: ConsumerState) -> None:
        """Bring `state` forward."""
        state.delivered, state.ack_floor = self.delivered, self.ack_floor
        pending, redelivered = state.pending, state.redelivered
        for seq, entry in self.pending.items():
            if entry is None:
                pending.pop(seq, None)
            else:
                pending[seq] = entry
        for seq, count in self.redelivered.items():
            if count:
                redelivered[seq] = count
            else:
                redelivered.pop(seq, None)


def encode_change(state: ConsumerState | ConsumerChange, before: ConsumerState | None) -> bytes:
    """Say what changed since `before`, or everything: for `apply_change`."""
    if isinstance(state, ConsumerChange):
        return _encode_known(state, before or ConsumerState())
    if before is None:
        return _pack(state, state.pending, state.redelivered, [], [])
    old, counted = before.pending, before.redelivered
    return _pack(
        state,
        {seq: entry for seq, entry in state.pending.items() if old.get(seq) != entry},
        {seq: count for seq, count in state.redelivered.items() if counted.get(seq) != count},
        [seq for seq in old if seq not in state.pending],
        [seq for seq in counted if seq not in state.redelivered],
    )


def _encode_known(change: ConsumerChange, before: ConsumerState) -> bytes:
    """The same where it is known what may have changed: costs by that."""
    old, counted = before.pending, before.redelivered
    new, counts = change.pending, change.redelivered
    return _pack(
        change,
        {seq: entry for seq, entry in new.items() if entry is not None and old.get(seq) != entry},
        {seq: count for seq, count in counts.items() if count and counted.get(seq) != count},
        [seq for seq, entry in new.items() if entry is None and seq in old],
        [seq for seq, count in counts.items() if not count and seq in counted],
    )


def _pack(
    state: ConsumerState | ConsumerChange,
    pending: dict[int, tuple[int, int]],
    redelivered: dict[int, int],
    acked: list[int],
    settled: list[int],
) -> bytes:
    sizes = (len(pending), len(redelivered), len(acked), len(settled))
    return b"".join(
        [
            _FACTS.pack(*state.delivered, *state.ack_floor, *sizes),
            *[_PENDING.pack(seq, *entry) for seq, entry in pending.items()],
            *[_COUNT.pack(seq, count) for seq, count in redelivered.items()],
            pack(f"<{len(acked)}Q", *acked),
            pack(f"<{len(settled)}Q", *settled),
        ]
    )


def apply_change(body: bytes, state: ConsumerState) -> None:
    """Bring `state` forward by what `encode_change` said. Raises struct.error when that is cut off."""
    *facts, pending, redelivered, acked, settled = _FACTS.unpack_from(body)
    at = _FACTS.size

    def part(size: int) -> bytes:
        nonlocal at
        at += size
        return body[at - size : at]

    entries = part(pending * _PENDING.size)
    counts = part(redelivered * _COUNT.size)
    for (seq,) in _GONE.iter_unpack(part(acked * _GONE.size)):
        state.pending.pop(seq, None)
    for (seq,) in _GONE.iter_unpack(part(settled * _GONE.size)):
        state.redelivered.pop(seq, None)
    for seq, number, time in _PENDING.iter_unpack(entries):
        state.pending[seq] = (number, time)
    for seq, count in iter_unpack(_COUNT.format, counts):
        state.redelivered[seq] = count
    state.delivered = (facts[0], facts[1])
    state.ack_floor = (facts[2], facts[3])


def copied(state: ConsumerState) -> ConsumerState:
    """Give an equal state that shares nothing."""
    return ConsumerState(state.delivered, state.ack_floor, dict(state.pending), dict(state.redelivered))
