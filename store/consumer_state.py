"""ConsumerState: what a consumer was given and acknowledged, what changes of that, and both as bytes.

Promises: a change applied to the state before it gives the state after it; its bytes name only what differs.
Costs by the change where that is known (`ConsumerChange`), else by the state; `encoding` and `changing` do it
in steps.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from struct import Struct
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]
STEP = 2048  # entries of one step

_FACTS = Struct("<QQQQIIII")
_PENDING = Struct("<QQq")
_GONE = Struct("<Q")
_COUNT = Struct("<QQ")


@dataclass(slots=True)
class ConsumerState:
    """What a consumer was given, acknowledged, and has pending.

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
    """Encode what changed since `before`, or everything: for `apply_change`."""
    return _end(encoding(state, before))


def encoding(state: ConsumerState | ConsumerChange, before: ConsumerState | None) -> Steps[bytes]:
    """The same in steps, during which neither may change."""
    old = ConsumerState() if before is None else before
    pending, acked = yield from _differing(state.pending, old.pending, _pending_row)
    counts, dropped = yield from _differing(state.redelivered, old.redelivered, _COUNT.pack)
    if isinstance(state, ConsumerState):
        acked = yield from _missing(old.pending, state.pending)
        dropped = yield from _missing(old.redelivered, state.redelivered)
    sizes = (
        len(pending) // _PENDING.size,
        len(counts) // _COUNT.size,
        len(acked) // _GONE.size,
        len(dropped) // _GONE.size,
    )
    facts = _FACTS.pack(*state.delivered, *state.ack_floor, *sizes)
    return b"".join([facts, pending, counts, acked, dropped])


def _differing(
    new: Mapping[int, T | None], old: Mapping[int, T], row: Callable[[int, T], bytes]
) -> Steps[tuple[bytearray, bytearray]]:
    """Rows of the entries of `new` that are others than in `old`, and of those that are none (any more)."""
    rows, gone = bytearray(), bytearray()
    entries = iter(new.items())
    while page := list(islice(entries, STEP)):
        rows += b"".join([row(seq, entry) for seq, entry in page if entry and old.get(seq) != entry])
        gone += b"".join([_GONE.pack(seq) for seq, entry in page if not entry and seq in old])
        if len(page) == STEP:
            yield
    return rows, gone


def _missing(old: Mapping[int, object], new: Mapping[int, object]) -> Steps[bytearray]:
    """Rows of what is in `old` only."""
    rows = bytearray()
    entries = iter(old)
    while page := list(islice(entries, STEP)):
        rows += b"".join([_GONE.pack(seq) for seq in page if seq not in new])
        if len(page) == STEP:
            yield
    return rows


def _pending_row(seq: int, entry: tuple[int, int]) -> bytes:
    return _PENDING.pack(seq, *entry)


def apply_change(body: bytes, state: ConsumerState) -> None:
    """Apply what `encode_change` encoded to `state`. Raises struct.error when that is cut off."""
    _end(changing(body, state))


def changing(body: bytes, state: ConsumerState) -> Steps[tuple[list[int], list[int]]]:
    """The same in steps; gives what is not pending any more, and what is not redelivered any more."""
    *facts, pending, redelivered, acked, dropped = _FACTS.unpack_from(body)
    at = _FACTS.size
    parts: list[memoryview] = []
    for size in (
        pending * _PENDING.size,
        redelivered * _COUNT.size,
        acked * _GONE.size,
        dropped * _GONE.size,
    ):
        parts.append(memoryview(body)[at : at + size])
        at += size
    entries, counts, gone, uncounted = parts
    acks = yield from _dropping(gone, state.pending)
    cleared = yield from _dropping(uncounted, state.redelivered)
    for start in range(0, len(entries), STEP * _PENDING.size):
        page = entries[start : start + STEP * _PENDING.size]
        state.pending.update({seq: (number, time) for seq, number, time in _PENDING.iter_unpack(page)})
        if len(page) == STEP * _PENDING.size:
            yield
    for start in range(0, len(counts), STEP * _COUNT.size):
        page = counts[start : start + STEP * _COUNT.size]
        state.redelivered.update(_COUNT.iter_unpack(page))
        if len(page) == STEP * _COUNT.size:
            yield
    state.delivered = (facts[0], facts[1])
    state.ack_floor = (facts[2], facts[3])
    return acks, cleared


def _dropping(rows: memoryview, entries: dict[int, Any]) -> Steps[list[int]]:
    """Drop these; give those that were there."""
    dropped: list[int] = []
    for start in range(0, len(rows), STEP * _GONE.size):
        page = rows[start : start + STEP * _GONE.size]
        dropped += [seq for (seq,) in _GONE.iter_unpack(page) if entries.pop(seq, None) is not None]
        if len(page) == STEP * _GONE.size:
            yield
    return dropped


def _end(steps: Steps[T]) -> T:
    """Do all steps; give what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def copied(state: ConsumerState) -> ConsumerState:
    """Give an equal state that shares nothing."""
    return ConsumerState(state.delivered, state.ack_floor, dict(state.pending), dict(state.redelivered))
