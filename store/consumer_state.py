"""ConsumerState: what a consumer was given and acknowledged, the changes of that, and both as bytes.

Promises: a change applied to the state before it results in the state after it, and its bytes contain only
what differs. The cost depends on the change where that is known (`ConsumerChange`), otherwise on the state.
`encoding` and `changing` work in steps.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import field
from itertools import islice
from struct import Struct
from typing import Any, TypeVar

from ..protocol.lazy_dataclass import dataclass

T = TypeVar("T")
Steps = Generator[None, None, T]
STEP = 2048  # entries in one step

_FACTS = Struct("<QQQQIIII")
_PENDING = Struct("<QQq")
_GONE = Struct("<Q")
_COUNT = Struct("<QQ")


@dataclass(slots=True)
class ConsumerState:
    """What a consumer was given, what it acknowledged, and what is pending.

    delivered, ack_floor: (consumer sequence, stream sequence).
    pending: stream sequence -> (consumer sequence, time of the last delivery in ns).
    redelivered: stream sequence -> how often the message was redelivered.
    """

    delivered: tuple[int, int] = (0, 0)
    ack_floor: tuple[int, int] = (0, 0)
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    redelivered: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class ConsumerChange:
    """What changed in a consumer since its last save.

    delivered, ack_floor: the present values.
    pending: the entries that are new; None for an entry that is no longer pending.
    redelivered: the counts that are new; 0 for an entry that no longer has one.
    """

    delivered: tuple[int, int] = (0, 0)
    ack_floor: tuple[int, int] = (0, 0)
    pending: dict[int, tuple[int, int] | None] = field(default_factory=dict)
    redelivered: dict[int, int] = field(default_factory=dict)

    def apply(self, state: ConsumerState) -> None:
        """Apply the change to `state`."""
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
    """Return what changed since `before`, or everything, in the form that `apply_change` reads."""
    return _end(encoding(state, before))


def encoding(state: ConsumerState | ConsumerChange, before: ConsumerState | None) -> Steps[bytes]:
    """Like `encode_change`, in steps. Neither argument may change meanwhile."""
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
    """Return rows of the entries of `new` that differ from `old`, and of those that are gone."""
    rows, gone = bytearray(), bytearray()
    entries = iter(new.items())
    while page := list(islice(entries, STEP)):
        rows += b"".join([row(seq, entry) for seq, entry in page if entry and old.get(seq) != entry])
        gone += b"".join([_GONE.pack(seq) for seq, entry in page if not entry and seq in old])
        if len(page) == STEP:
            yield
    return rows, gone


def _missing(old: Mapping[int, object], new: Mapping[int, object]) -> Steps[bytearray]:
    """Return rows of the entries that are in `old` only."""
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
    """Apply what `encode_change` encoded to `state`. Raises struct.error if the bytes are cut off."""
    _end(changing(body, state))


def changing(body: bytes, state: ConsumerState) -> Steps[tuple[list[int], list[int]]]:
    """Like `apply_change`, in steps. Return what is no longer pending, and what is no longer redelivered."""
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
    """Remove the entries, and return those that existed."""
    dropped: list[int] = []
    for start in range(0, len(rows), STEP * _GONE.size):
        page = rows[start : start + STEP * _GONE.size]
        dropped += [seq for (seq,) in _GONE.iter_unpack(page) if entries.pop(seq, None) is not None]
        if len(page) == STEP * _GONE.size:
            yield
    return dropped


def _end(steps: Steps[T]) -> T:
    """Run all steps, and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def copied(state: ConsumerState) -> ConsumerState:
    """Return an equal state that shares nothing."""
    return ConsumerState(state.delivered, state.ack_floor, dict(state.pending), dict(state.redelivered))
