"""A consumer's state on the disk: what was delivered, what is acknowledged, what waits for an ack.

The file is a small log of checksummed records: a checkpoint with the whole state, then what changed from save
to save; so a save costs by what changed, not by how much is pending. When the log has grown to several times
its checkpoint, a new file with a new checkpoint takes its place in one step. `save` only keeps the state;
`Commit.run` compares it with the one before, writes and syncs: all that is slow runs in the commit's thread.

A crash leaves the state of some save not older than the last one committed. A log that is damaged gives the
state before the damage, and `fault` says so: messages are then delivered again, none is lost. A damaged
checkpoint raises.
"""

from dataclasses import dataclass, field
from struct import Struct, iter_unpack, pack
from typing import Protocol

from . import record
from .errors import Damaged, StoreClosed, StoreError, StoreFailed
from .fs import Disk, FileSystem, read_file, write_file
from .handles import Handles
from .stream import Commit

_SEED = 0x636F6E73
_FACTS = Struct("<QQQQIIII")
_PENDING = Struct("<QQq")
_GONE = Struct("<Q")
_COUNT = Struct("<QQ")
_SMALLEST = 64 << 10  # bytes of log before a new checkpoint is worth its two syncs
_GROWTH = 4  # the log may grow to so many times its checkpoint


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


class ConsumerStore(Protocol):
    """Keeps one consumer's state. The commit protocol is that of `StreamStore`."""

    def load(self) -> ConsumerState | None:
        """Give the state as last saved; None if none ever was. Raises Damaged and OSError."""
        ...

    def save(self, state: ConsumerState) -> None:
        """Keep a state, which the caller does not change any more, for the next commit."""
        ...

    def begin_commit(self) -> Commit | None:
        """Take the last state saved; None if there is nothing new."""
        ...

    def finish(self, commit: Commit) -> None:
        """Take note that `commit.run()` has returned or raised."""
        ...

    def commit_sync(self) -> None:
        """Commit at once, in this thread. Raises OSError."""
        ...

    def close(self) -> None:
        """Commit and let go of the file."""
        ...

    def delete(self) -> None:
        """Close without committing and remove the file."""
        ...


class MemoryConsumer:
    """The state of a consumer that need not survive."""

    def __init__(self) -> None:
        self._state: ConsumerState | None = None

    def load(self) -> ConsumerState | None:
        """Give the state as last saved."""
        return self._state

    def save(self, state: ConsumerState) -> None:
        """Keep a state."""
        self._state = state

    def begin_commit(self) -> Commit | None:
        """Give None: there is no disk."""
        return None

    def finish(self, commit: Commit) -> None:
        """Do nothing: there are no commits."""

    def commit_sync(self) -> None:
        """Do nothing: there is no disk."""

    def close(self) -> None:
        """Do nothing."""

    def delete(self) -> None:
        """Forget the state."""
        self._state = None


def encode_change(state: ConsumerState, before: ConsumerState | None) -> bytes:
    """Say what changed since `before`, or everything: for `apply_change`."""
    if before is None:
        pending, redelivered = state.pending, state.redelivered
        acked: list[int] = []
        settled: list[int] = []
    else:
        old, counted = before.pending, before.redelivered
        pending = {seq: entry for seq, entry in state.pending.items() if old.get(seq) != entry}
        redelivered = {seq: count for seq, count in state.redelivered.items() if counted.get(seq) != count}
        acked = [seq for seq in old if seq not in state.pending]
        settled = [seq for seq in counted if seq not in state.redelivered]
    return b"".join(
        [
            _FACTS.pack(
                *state.delivered,
                *state.ack_floor,
                len(pending),
                len(redelivered),
                len(acked),
                len(settled),
            ),
            *[_PENDING.pack(seq, *entry) for seq, entry in pending.items()],
            *[_COUNT.pack(seq, count) for seq, count in redelivered.items()],
            pack(f"<{len(acked)}Q", *acked),
            pack(f"<{len(settled)}Q", *settled),
        ]
    )


def _encode(state: ConsumerState, before: ConsumerState | None) -> bytes:
    """Build a record: what changed since `before`, or everything."""
    kind = record.CHECKPOINT if before is None else record.DELTA
    return record.encode(kind, state.delivered[1], _SEED, body=encode_change(state, before))


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


class _Commit:
    """One save of a `FileConsumer` on its way to the disk."""

    def __init__(self, store: "FileConsumer", state: ConsumerState) -> None:
        self._store = store
        self.state = state
        self.last_seq = state.delivered[1]
        self.error: BaseException | None = None
        self.done = False

    def run(self) -> None:
        """Write and sync; raises OSError. In any thread, once."""
        try:
            self._store._write(self.state)
            self.done = True
        except BaseException as error:
            self.error = error
            raise


class FileConsumer:
    """A `ConsumerStore` in the folder `directory`; the file is `state`."""

    def __init__(
        self, directory: str, *, fs: FileSystem | None = None, handles: Handles | None = None
    ) -> None:
        self.directory = directory
        self.path = f"{directory}/state"
        self.fault = ""
        self._fs: FileSystem = Disk() if fs is None else fs
        self._own_handles = handles is None
        self._handles = Handles(self._fs, 1) if handles is None else handles
        self._next: ConsumerState | None = None
        self._commit: _Commit | None = None
        self._refusal: StoreError | None = None
        # As the file has it; only `load` and the commit under way touch these.
        self._written: ConsumerState | None = None
        self._end = 0
        self._checkpoint = 0

    def load(self) -> ConsumerState | None:
        """Give the state as last committed; None if none ever was. Raises Damaged and OSError."""
        if not self._fs.exists(self.path):
            return None
        data = read_file(self._fs, self.path)
        first = record.decode_at(data, 0, _SEED)
        if first is None or first.kind != record.CHECKPOINT:
            raise Damaged(0, f"{self.path}: the checkpoint is damaged")
        state = ConsumerState()
        apply_change(first.body, state)
        end = first.length
        while (one := record.decode_at(data, end, _SEED)) is not None and one.kind == record.DELTA:
            apply_change(one.body, state)
            end += one.length
        if record.resync(data, end, _SEED) < len(data):
            self.fault = f"{self.path}: damaged at {end}, an older state was taken"
        elif end == len(data):
            self._written, self._end, self._checkpoint = _copy(state), end, first.length
        # With anything after `end` the next save writes a whole new file.
        return state

    def save(self, state: ConsumerState) -> None:
        """Keep a state for the next commit."""
        if self._refusal is not None:
            raise self._refusal
        self._next = state

    def begin_commit(self) -> Commit | None:
        """Take the last state saved."""
        if self._commit is not None:
            raise RuntimeError("the last commit is not finished")
        if self._refusal is not None:
            raise self._refusal
        if self._next is None:
            return None
        self._commit = _Commit(self, self._next)
        self._next = None
        return self._commit

    def _write(self, state: ConsumerState) -> None:
        """Write a state durably; in the commit's thread."""
        if self._written is not None and self._end < max(_SMALLEST, _GROWTH * self._checkpoint):
            data = _encode(state, self._written)
            with self._handles.pinned(self.path) as file:
                self._fs.write(file, data, self._end)
                self._fs.sync(file)
            self._end += len(data)
        else:
            data = _encode(state, None)
            self._handles.forget(self.path)
            self._fs.make_directory(self.directory)
            write_file(self._fs, self.path, data)
            self._end = self._checkpoint = len(data)
        self._written = state

    def finish(self, commit: Commit) -> None:
        """Take note that `commit.run()` has returned or raised."""
        if commit is not self._commit or self._commit is None:
            raise ValueError("not this consumer's commit")
        if not self._commit.done:
            self._refusal = StoreFailed(f"{self.path}: {self._commit.error}")
        self._commit = None

    def commit_sync(self) -> None:
        """Commit at once, in this thread; raises OSError."""
        commit = self.begin_commit()
        if commit is not None:
            try:
                commit.run()
            finally:
                self.finish(commit)

    def close(self) -> None:
        """Commit and let go of the file; raises OSError."""
        if isinstance(self._refusal, StoreClosed):
            return
        try:
            if self._refusal is None:
                self.commit_sync()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._handles.forget(self.path)
        if self._own_handles:
            self._handles.close()
        self._refusal = StoreClosed(self.path)

    def delete(self) -> None:
        """Remove the file; no commit may be under way. Raises OSError."""
        self._let_go()
        self._fs.remove(self.path)


def _copy(state: ConsumerState) -> ConsumerState:
    return ConsumerState(state.delivered, state.ack_floor, dict(state.pending), dict(state.redelivered))
