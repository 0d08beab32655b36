"""A consumer's state on the disk: what was delivered, what is acknowledged, and what waits for an ack.

The file is a small log of checksummed records. It begins with a checkpoint, which has the whole state; then
comes what changed from save to save. So the cost of a save depends on what changed, not on how much is
pending. When the log has grown to several times its checkpoint, a new file with a new checkpoint replaces it
in one step. `save` only keeps the state, or the known changes. `Commit.run` compares it with the state
before, writes and syncs, so that everything slow runs in the commit's thread.

The log is kept twice, as `state` and `state.copy`. Every save goes to both, but only the first is synced. So
damage to one of them loses nothing (`repaired`), and a save needs no second sync. Saves are numbered, and
the file with the later save counts.

A crash leaves the state of a save that is not older than the last one committed. Where both logs are damaged,
`load` returns the state before the damage, and `damage` names it, also after the next start (`state.damaged`
is kept). Messages are then delivered again, and none is lost. Two damaged checkpoints raise Damaged.

A checkpoint has the consumer's identity as its subject. A file with another identity is set aside, and never
taken for the consumer's.
"""

from contextlib import suppress
from typing import Protocol

from ..protocol.lazy_dataclass import dataclass
from . import record
from .consumer_state import ConsumerChange, ConsumerState, apply_change, copied, encode_change
from .copies import COPY, UNREADABLE
from .errors import Damaged, StoreClosed, StoreError, StoreFailed
from .fs import Disk, FileSystem, read_file, set_aside, write_file, write_unsynced
from .handles import Handles
from .identity import ANYBODY, ForeignFilesError, Identity
from .stream import Commit

STATE = "state"
_KEPT = ".damaged"
_SEED = 0x636F6E73
_SMALLEST = 64 << 10  # bytes of log from which on a new checkpoint is worth its two syncs
_GROWTH = 4  # times the size of its checkpoint that the log may grow to


class ConsumerStore(Protocol):
    """Keeps the state of one consumer. The commit protocol is that of `StreamStore`.

    damage: what `load` found to be lost, "" if nothing.
    repaired: what `load` found damaged without any loss.
    """

    damage: str
    repaired: str

    def load(self) -> ConsumerState | None:
        """Return the state as last saved, None if there never was one. Raises Damaged and OSError."""
        ...

    def save(self, state: ConsumerState | ConsumerChange) -> None:
        """Keep a state, or what changed since the last one, for the next commit.

        The caller must not change it afterwards. The first save after opening must be a whole state.
        """
        ...

    def begin_commit(self) -> Commit | None:
        """Take the last state saved. Return None if there is nothing new."""
        ...

    def finish(self, commit: Commit) -> None:
        """Take note that `commit.run()` has returned or raised."""
        ...

    def commit_sync(self) -> None:
        """Commit at once, in this thread. Raises OSError."""
        ...

    def close(self) -> None:
        """Commit and close the files."""
        ...

    def delete(self) -> None:
        """Close without committing, and remove the files."""
        ...


class MemoryConsumer:
    """The state of a consumer that need not survive."""

    damage = repaired = ""

    def __init__(self) -> None:
        self._state: ConsumerState | None = None

    def load(self) -> ConsumerState | None:
        """Return the state as last saved."""
        return self._state

    def save(self, state: ConsumerState | ConsumerChange) -> None:
        """Keep a state."""
        if isinstance(state, ConsumerState):
            self._state = copied(state)
        elif self._state is not None:
            state.apply(self._state)

    def begin_commit(self) -> Commit | None:
        """Return None: there is no disk."""
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


def _encode(
    number: int, state: ConsumerState | ConsumerChange, before: ConsumerState | None, identity: int = 0
) -> bytes:
    """Return the record of save `number`: what changed since `before`, or everything, with the identity."""
    kind = record.CHECKPOINT if before is None else record.DELTA
    named = identity.to_bytes(8, "little") if identity and before is None else b""
    body = encode_change(state, before)
    return record.encode(kind, state.delivered[1], _SEED, time=number, subject=named, body=body)


@dataclass(slots=True)
class _Log:
    """The contents of one of the two files.

    state: None if it cannot be read.
    number: the number of the last save, 0 if it was written by a version that did not count.
    data: the good part of the file.
    checkpoint: the bytes of `data` that are the first record.
    identity: whose state it is, 0 if unknown.
    damaged: whether something is lost here.
    torn: whether something follows that is no record, as after a crash.
    """

    state: ConsumerState | None = None
    number: int = 0
    data: bytes = b""
    checkpoint: int = 0
    identity: int = 0
    damaged: bool = False
    torn: bool = False


def _read(fs: FileSystem, path: str) -> _Log | None:
    """Read one of the two files. Return None if it does not exist. Raises OSError."""
    if not fs.exists(path):
        return None
    try:
        data = read_file(fs, path)
    except OSError as error:
        if error.errno not in UNREADABLE:
            raise
        return _Log(damaged=True)
    first = record.decode_at(data, 0, _SEED)
    if first is None or first.kind != record.CHECKPOINT:
        return _Log(damaged=True)
    state, end, number = ConsumerState(), first.length, first.time
    identity = int.from_bytes(first.subject, "little")
    apply_change(first.body, state)
    while (one := record.decode_at(data, end, _SEED)) is not None and one.kind == record.DELTA:
        apply_change(one.body, state)
        end, number = end + one.length, one.time
    damaged = record.resync(data, end, _SEED) < len(data)
    return _Log(state, number, data[:end], first.length, identity, damaged, torn=end < len(data))


class _Commit:
    """One save of a `FileConsumer` on its way to the disk."""

    little = prompt = False

    def __init__(self, store: "FileConsumer", saves: list[ConsumerState | ConsumerChange]) -> None:
        self._store = store
        self._saves = saves
        self.last_seq = saves[-1].delivered[1]
        self.error: BaseException | None = None
        self.done = False

    def run(self) -> None:
        """Write and sync. Called once, in any thread. Raises OSError."""
        try:
            self._store._write(self._saves)
            self.done = True
        except BaseException as error:
            self.error = error
            raise


class FileConsumer:
    """A `ConsumerStore` in the folder `directory`. The files are `state` and `state.copy`.

    damage: what is lost, "" if nothing.
    repaired: which file was rewritten from the other, and why.
    identity: the consumer's identity.
    """

    def __init__(
        self,
        directory: str,
        *,
        fs: FileSystem | None = None,
        handles: Handles | None = None,
        identity: Identity = ANYBODY,
    ) -> None:
        self._identity = identity
        self.directory = directory
        self.path = f"{directory}/{STATE}"
        self.damage = self.repaired = ""
        self._fs: FileSystem = Disk() if fs is None else fs
        self._own_handles = handles is None
        self._handles = Handles(self._fs, 1) if handles is None else handles
        # Saved but not committed: the last state and the changes since, or changes only.
        self._next: list[ConsumerState | ConsumerChange] = []
        self._commit: _Commit | None = None
        self._refusal: StoreError | None = None
        # The state in both files, shared with nobody. Only `load` and the commit under way touch these.
        self._written: ConsumerState | None = None
        self._number = 0
        self._end = 0
        self._checkpoint = 0
        self._copied = False  # whether the copy holds the same
        self._strange = ""  # what was done with a file of another consumer

    def load(self) -> ConsumerState | None:
        """Return the state as last committed, None if there never was one.

        Raises Damaged (ForeignFilesError if the files are another consumer's) and OSError.
        """
        first, copy = self._own()
        known = [log for log in (first, copy) if log is not None and log.state is not None]
        if not known:
            if first is None and copy is None:
                return None
            raise Damaged(0, f"{self.path}: neither the state nor its copy can be read")
        best = max(known, key=lambda log: log.number)  # the first file if both know as much
        assert best.state is not None
        if best.damaged:
            self._keep_damaged(self.path if best is first else self.path + COPY)
        if self._fs.exists(self.path + _KEPT):
            self.damage = f"{self.path} was damaged, an older state was taken (see {self.path}{_KEPT})"
        self._repair(best, first, copy)
        self._number = best.number
        if not best.torn and best.identity == self._identity.value:
            self._written, self._end, self._checkpoint = copied(best.state), len(best.data), best.checkpoint
        # Otherwise the next save writes complete new files.
        return best.state

    def _own(self) -> tuple[_Log | None, _Log | None]:
        """Read both files, and set aside one that belongs to another consumer."""
        found = {path: _read(self._fs, path) for path in (self.path, self.path + COPY)}
        foreign = [path for path, log in found.items() if log is not None and self._is_foreign(log)]
        own = [log for path, log in found.items() if path not in foreign and log is not None]
        if foreign and not any(log.state is not None for log in own):
            raise ForeignFilesError(f"{foreign[0]} belongs to another consumer")
        for path in foreign:
            self._strange = f"another consumer's and set aside ({set_aside(self._fs, path)})"
            found[path] = None
        first, copy = found.values()
        return first, copy

    def _is_foreign(self, log: _Log) -> bool:
        return log.state is not None and not self._identity.owns(log.identity)

    def _repair(self, best: _Log, first: _Log | None, copy: _Log | None) -> None:
        """Rewrite the file that knows less. One that never existed is created."""
        if best is not first:
            self.repaired = f"{self.path} is {self._wrong(first)}, rewritten from its copy"
            write_file(self._fs, self.path, best.data)
        elif copy is None or copy.data != best.data or copy.torn:
            if best.number:
                self.repaired = f"{self.path}{COPY} is {self._wrong(copy)}, rewritten"
            self._copy(best.data)
        self._copied = True

    def _wrong(self, log: _Log | None) -> str:
        if log is None:
            return self._strange or "missing"
        return "damaged" if log.damaged else "behind"

    def _copy(self, data: bytes) -> None:
        """Write the whole copy. It can be made again, so an OSError does no harm."""
        self._handles.forget(self.path + COPY)
        self._copied = False
        with suppress(OSError):
            write_unsynced(self._fs, self.path + COPY, data)
            self._copied = True

    def _keep_damaged(self, path: str) -> None:
        """Keep a copy of the damaged file, which the next saves would overwrite."""
        if not self._fs.exists(self.path + _KEPT):
            write_unsynced(self._fs, self.path + _KEPT, read_file(self._fs, path))

    def save(self, state: ConsumerState | ConsumerChange) -> None:
        """Keep a state for the next commit."""
        if self._refusal is not None:
            raise self._refusal
        if isinstance(state, ConsumerState):
            self._next.clear()
        self._next.append(state)

    def begin_commit(self) -> Commit | None:
        """Take the last state saved."""
        if self._commit is not None:
            raise RuntimeError("the last commit is not finished")
        if self._refusal is not None:
            raise self._refusal
        if not self._next:
            return None
        self._commit = _Commit(self, self._next)
        self._next = []
        return self._commit

    def _write(self, saves: list[ConsumerState | ConsumerChange]) -> None:
        """Write what was saved durably. Called in the commit's thread."""
        number, written = self._number + 1, self._written
        saved = _together(saves)
        if written is not None and self._end < max(_SMALLEST, _GROWTH * self._checkpoint):
            data = _encode(number, saved, written)
            with self._handles.pinned(self.path) as file:
                self._fs.write(file, data, self._end)
                self._fs.sync(file)
            if self._copied:
                self._append_copy(data)
            self._end += len(data)
            self._written = _after(saved, written)
        else:
            self._written = _after(saved, written)
            data = _encode(number, self._written, None, self._identity.value)
            self._handles.forget(self.path)
            self._fs.make_directory(self.directory)
            write_file(self._fs, self.path, data)
            self._copy(data)
            self._end = self._checkpoint = len(data)
        self._number = number

    def _append_copy(self, data: bytes) -> None:
        try:
            with self._handles.pinned(self.path + COPY) as file:
                self._fs.write(file, data, self._end)
        except OSError:
            self._copied = False  # until the next checkpoint

    def finish(self, commit: Commit) -> None:
        """Take note that `commit.run()` has returned or raised."""
        if commit is not self._commit or self._commit is None:
            raise ValueError("not this consumer's commit")
        if not self._commit.done:
            self._refusal = StoreFailed(f"{self.path}: {self._commit.error}")
        self._commit = None

    def commit_sync(self) -> None:
        """Commit at once, in this thread. Raises OSError."""
        commit = self.begin_commit()
        if commit is not None:
            try:
                commit.run()
            finally:
                self.finish(commit)

    def close(self) -> None:
        """Commit and close the files. Raises OSError."""
        if isinstance(self._refusal, StoreClosed):
            return
        try:
            if self._refusal is None:
                self.commit_sync()
        finally:
            self._release()

    def _release(self) -> None:
        for path in (self.path, self.path + COPY):
            self._handles.forget(path)
        if self._own_handles:
            self._handles.close()
        self._refusal = StoreClosed(self.path)

    def delete(self) -> None:
        """Remove the files. No commit may be under way. Raises OSError."""
        self._release()
        for path in (self.path + _KEPT, self.path + COPY, self.path):
            self._fs.remove(path)


def _together(saves: list[ConsumerState | ConsumerChange]) -> ConsumerState | ConsumerChange:
    """Return one save that combines several."""
    first, *more = saves
    if not more:
        return first
    together = copied(first) if isinstance(first, ConsumerState) else ConsumerChange()
    for one in saves:
        if not isinstance(one, ConsumerChange):
            continue
        if isinstance(together, ConsumerState):
            one.apply(together)
        else:
            together.delivered, together.ack_floor = one.delivered, one.ack_floor
            together.pending.update(one.pending)
            together.redelivered.update(one.redelivered)
    return together


def _after(saved: ConsumerState | ConsumerChange, written: ConsumerState | None) -> ConsumerState:
    """Return the state after a save, as an object that nobody else refers to."""
    if isinstance(saved, ConsumerState):
        return copied(saved)
    if written is None:
        raise StoreError("a change was saved of a state that never was")
    saved.apply(written)
    return written
