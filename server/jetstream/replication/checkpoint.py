"""Checkpoints: a replica's messages and state on its disk, as of one entry of the log.

Promises:
- The messages, removals and state of a checkpoint become durable together, in one commit of the store, whose
  note is the state. After a crash the disk therefore holds the replica exactly as of some checkpoint, and the
  log's later entries lead on from there.
- Nothing that comes after a checkpoint reaches the disk before the next one. In particular, the space of a
  removed message is returned only after a checkpoint that includes the removal.
- `durable` is the index up to which the log may be compacted.

Checkpoints are lazy, since the log holds the entries meanwhile. The state is encoded in steps, and no entry
is applied between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....store.errors import StoreError
from ...clock import DeadlineTimer
from ...slices import Slices, at_once
from . import state as states

if TYPE_CHECKING:
    from ....store.stream import Commit
    from ...slices import Steps
    from ...task_executor import Job
    from ..host import JetStreamHost
    from .stream import ReplicatedStream

REST = 1_000_000_000  # ns from the first entry after a checkpoint to the next checkpoint
PER_BYTE = 1_000  # ns that this grows per byte of state, because the state is written whole
MOST = 8 << 20  # bytes of entries after which a checkpoint begins without waiting


class Checkpoint:
    """Makes the checkpoints of one replica.

    durable: the index of the last checkpoint on the disk.
    done: is called with the index after each checkpoint.
    failed: is called with the error when the disk refuses; there are no more checkpoints then.
    """

    def __init__(
        self,
        stream: ReplicatedStream,
        host: JetStreamHost,
        done: Callable[[int], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._stream = stream
        self._store = stream.store
        self._executor, self._clock, self._turns = host.executor, host.clock, host.turns
        self._on_checkpoint = done
        self._failed = failed
        self._timer = DeadlineTimer(host.clock, self.begin)
        self.durable = stream.index
        self._job: Job | None = None
        self._gathering: Steps[bytes] | None = None
        self._under_way: tuple[Commit, Commit | None, int] | None = None
        self._grown = self._rest = 0
        self._closed = False

    def grown(self, size: int) -> None:
        """Note that entries of `size` bytes were applied; a checkpoint follows, at once if they are many."""
        self._grown += size
        if self._under_way is not None or self.gathering or self._closed:
            return
        if self._grown >= MOST:
            self.begin()
        elif self._timer.timer is None:
            self._timer.at(self._clock.now() + REST + self._rest)

    @property
    def gathering(self) -> bool:
        """Whether the state is being encoded; no entry may be applied until that is done."""
        return self._gathering is not None

    def begin(self) -> None:
        """Begin a checkpoint, unless one is under way or nothing was applied since the last one."""
        stream = self._stream
        if self._under_way is not None or self.gathering or self._closed or stream.index <= self.durable:
            return
        if stream.between:  # an entry is applied in part; `grown` is called at its end
            return
        self._timer.clear()
        self._grown = 0
        index = stream.index
        self._gathering = steps = self._noting()
        Slices(self._turns, self._unless_stopped(steps), lambda note: self._commit(note, index), self._end)

    def _noting(self) -> Steps[bytes]:
        state = yield from states.gathering(self._stream)
        note = yield from states.encoding(state)
        if len(note) > states.MUCH:
            yield
        return note

    def _unless_stopped(self, steps: Steps[bytes]) -> Steps[bytes]:
        while True:
            if self._gathering is not steps:
                return b""
            try:
                next(steps)
            except StopIteration as end:
                return bytes(end.value)
            yield

    def _commit(self, note: bytes, index: int) -> None:
        if self._gathering is None:  # stopped meanwhile
            return
        self._gathering = None
        store = self._store
        try:
            commit = self._take(note)
            work = store.begin_maintenance() if commit is not None else None
        except (OSError, StoreError) as error:
            self._end(error)
            return
        if commit is None:
            self._reached(index)
            return
        self._under_way = (commit, work, index)

        def run() -> None:
            commit.run()
            if work is not None:
                work.run()

        job = self._executor.work(run, self._done)
        self._job = job if self._under_way is not None else None

    def _take(self, note: bytes) -> Commit | None:
        self._rest = len(note) * PER_BYTE
        self._store.note = note
        return self._store.begin_commit()

    def _done(self, error: BaseException | None) -> None:
        if self._under_way is None:
            return
        (commit, work, index), self._under_way, self._job = self._under_way, None, None
        self._store.finish(commit)
        if work is not None:
            self._store.finish(work)
        if error is not None:
            self._end(error)
            return
        self._reached(index)
        if self._grown:
            self.grown(0)

    def _reached(self, index: int) -> None:
        self.durable = index
        self._on_checkpoint(index)

    def _end(self, error: BaseException) -> None:
        self._closed = True
        self._gathering = None
        self._timer.clear()
        self._failed(error)

    def stop(self) -> None:
        """Make no more checkpoints. Blocks until the one under way is done."""
        self._timer.clear()
        self._gathering = None
        if self._job is not None:
            self._done(self._job.result())
        self._timer.clear()
        self._closed = True

    def close(self) -> None:
        """Make a last checkpoint. Blocks; raises OSError, StoreError."""
        failed = self._closed
        self.stop()
        if failed or self._stream.index <= self.durable:
            return
        commit = self._take(at_once(self._noting()))
        if commit is not None:
            try:
                commit.run()
            finally:
                self._store.finish(commit)
        self.durable = self._stream.index
