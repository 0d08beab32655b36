"""GroupCommit: makes a stream's messages durable, with one sync for all that arrived during the one before.

Promises:
- The answer to a publish, its republish and the consumers' wake-up wait until the message is on disk, or
  written, if `sync_interval` delays its sync.
- They happen in the order in which the messages were stored.
- A stream runs one sync at a time.
- A commit runs on a thread, unless that would cost more than it saves: if it only writes a little, because
  its sync is delayed, or if somebody awaits it who alone sends anything, and syncs were quick so far.
  After a slow commit, the next ones run on a thread until enough of them in a row were quick.
- A failed sync is never repeated. Its publishers get an error, and the stream takes no more messages.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from ....protocol.lazy_dataclass import dataclass
from ....store.errors import StoreError
from ...loop_writes import ALONE, SLOW, LoopWrites

if TYPE_CHECKING:
    from ....store.stream import Commit, StreamStore
    from ...loop_writes import ReadState
    from ...task_executor import Done, Job, TaskExecutor

Send = Callable[[str, bytes, bytes], object]  # subject, header, body
Answer = tuple[bytes, bytes]  # reply subject, body


class AckQueue(Protocol):
    """Keeps the answers to stored messages until the messages are safe.

    answers: (reply, body) of each message that asked for an answer, in the order of the messages.
    republish: (subject, header, body) of each message to republish, in the same order.
    idle: whether no commit is planned, so that code which stores something must call `wake`.
    error: why the stream takes nothing more; None while it does.
    """

    answers: list[Answer]
    republish: list[tuple[str, bytes, bytes]]
    idle: bool
    error: BaseException | None

    def wake(self) -> None:
        """Take note that something was stored."""

    def after(self, done: Done) -> None:
        """Call `done(None)` once all that is stored so far is safe, or `done(error)` if that fails."""


class StreamAckQueue(AckQueue, Protocol):
    """An `AckQueue`, as the stream that ends it sees it."""

    def close(self) -> None:
        """Commit and answer what can be, and begin nothing after that. Blocks."""

    # `close` in three steps, of which only the second one blocks:

    def halt(self) -> None:
        """Begin no more commits."""

    def write_out(self) -> None:
        """Commit what can be committed. Blocks; may run in any thread."""

    def answer(self) -> None:
        """Send the answers."""


@dataclass(slots=True, eq=False)
class _Batch:
    """The messages of one commit, and what happens once they are on disk.

    last: the sequence of the last message.
    answers, republish: see `AckQueue`.
    waiting: the callbacks of `after`.
    commit, job: the running commit; None before it begins.
    """

    last: int
    answers: list[Answer]
    republish: list[tuple[str, bytes, bytes]]
    waiting: list[Done]
    commit: Commit | None = None
    job: Job | None = None


class GroupCommit:
    """An `AckQueue` that commits one stream's store.

    The publish path appends to `answers` when it has stored a message, and calls `wake` when `idle` is true.
    """

    __slots__ = (
        "_answer",
        "_began",
        "_closed",
        "_committed",
        "_ending",
        "_executor",
        "_failed",
        "_finished",
        "_loop_writes",
        "_reads",
        "_running",
        "_send",
        "_store",
        "_waiting",
        "answers",
        "error",
        "idle",
        "republish",
    )

    def __init__(
        self,
        store: StreamStore,
        executor: TaskExecutor,
        reads: ReadState,
        send: Send,
        answer: Callable[[list[Answer]], object],
        committed: Callable[[int], None],
        failed: Callable[[BaseException], bytes],
    ) -> None:
        self._store = store
        self._executor = executor
        self._reads = reads
        self._send = send
        self._answer = answer
        self._committed = committed
        self._failed = failed
        self._waiting: list[Done] = []
        self._running: _Batch | None = None
        self._ending: _Batch | None = None  # the batch that was running at `halt`
        self._finished: list[tuple[_Batch, BaseException | None]] = []  # written out, not answered yet
        self._closed = False
        self._began = 0.0  # when the running commit began, by `perf_counter`
        self._loop_writes = LoopWrites()
        self.answers: list[Answer] = []
        self.republish: list[tuple[str, bytes, bytes]] = []
        self.idle = True
        self.error: BaseException | None = None

    def wake(self) -> None:
        """Begin a commit soon, but after everything that is being handled now has been stored."""
        if self.idle:
            self.idle = False
            if self._reads.reading:
                self._reads.at_end.append(self._read_ended)
            else:
                self._executor.soon(self._begin)

    def _read_ended(self) -> None:
        """Commit what one read brought: now, if it is a single awaited publish of who alone sends anything.

        One who sends more without awaiting answers gets larger commits if these wait for a turn of the loop.
        """
        reads = self._reads
        if len(self.answers) == 1 and reads.clock.now() - reads.since >= ALONE:
            self._begin(alone=True)
        else:
            self._executor.soon(self._begin)

    def after(self, done: Done) -> None:
        """Call `done(None)` once all that is stored so far is on disk, or `done(error)` if that fails."""
        self._waiting.append(done)
        self.wake()

    def _begin(self, *, alone: bool = False) -> None:
        """Begin a commit. alone: whether nobody else has to wait if the loop waits for its sync."""
        if self._closed:
            return
        batch = _Batch(self._store.last_seq, self.answers, self.republish, self._waiting)
        self.answers, self.republish, self._waiting = [], [], []
        if self.error is not None:
            self.idle = True
            self._refuse_batch(batch, self.error)
            return
        try:
            batch.commit = self._store.begin_commit()
        except (OSError, StoreError) as error:
            self.error = error
            self.idle = True
            self._refuse_batch(batch, error)
            return
        if batch.commit is None:
            self.idle = True
            self._confirm(batch)
            return
        self._running = batch
        self._began = perf_counter()
        writes = self._loop_writes
        prompt = batch.commit.prompt and writes.quick >= 0
        if prompt or (alone and batch.commit.little and writes.quick >= writes.needed):
            self._run_here(batch.commit)
        else:
            batch.job = self._executor.work(batch.commit.run, self._done)

    def _run_here(self, commit: Commit) -> None:
        failure: BaseException | None = None
        try:
            commit.run()
        except Exception as error:  # as from a thread
            failure = error
        self._done(failure)

    def _done(self, error: BaseException | None) -> None:
        batch = self._running
        if batch is None:  # halted: `write_out` finishes the batch
            return
        self._running = None
        assert batch.commit is not None
        if perf_counter() - self._began <= SLOW:
            self._loop_writes.quick += 1
        elif batch.commit.little:
            self._loop_writes.was_slow(synced_here=batch.job is None and not batch.commit.prompt)
        try:
            self._store.finish(batch.commit)
            if error is None:
                self._confirm(batch)
            else:
                self.error = error
                self._refuse_batch(batch, error)
        finally:
            # Whatever the callbacks did, what was stored meanwhile must get its commit.
            if self.answers or self.republish or self._waiting or self._store.last_seq != batch.last:
                if batch.job is None:  # it ran on the loop, which then has its turn
                    self._executor.soon(self._begin)
                else:
                    self._begin()
            else:
                self.idle = True

    def _confirm(self, batch: _Batch) -> None:
        send = self._send
        for subject, header, body in batch.republish:
            send(subject, header, body)
        self._answer(batch.answers)
        self._committed(batch.last)
        for done in batch.waiting:
            done(None)

    def _refuse_batch(self, batch: _Batch, error: BaseException) -> None:
        body = self._failed(error)
        self._answer([(reply, body) for reply, _ in batch.answers])
        for done in batch.waiting:
            done(error)

    def close(self) -> None:
        """Commit and answer all that is stored, and begin nothing more. Blocks."""
        if self._closed:
            return
        self.halt()
        self.write_out()
        self.answer()

    def halt(self) -> None:
        """Begin no more commits. `write_out` and then `answer` complete the stop."""
        if not self._closed:
            self._closed = True
            self._ending, self._running = self._running, None

    def write_out(self) -> None:
        """Commit all that is stored, after waiting for the running commit. Blocks; may run in any thread."""
        running, self._ending = self._ending, None
        if running is not None and running.job is not None and running.commit is not None:
            self.error = running.job.result()
            self._store.finish(running.commit)
            self._finished.append((running, self.error))
        batch = _Batch(self._store.last_seq, self.answers, self.republish, self._waiting)
        self.answers, self.republish, self._waiting = [], [], []
        if self.error is None:
            try:
                self._store.commit_sync()
            except (OSError, StoreError) as failure:
                self.error = failure
        self._finished.append((batch, self.error))

    def answer(self) -> None:
        """Answer the batches that `write_out` finished. Must run on the loop."""
        finished, self._finished = self._finished, []
        for batch, error in finished:
            if error is None:
                self._confirm(batch)
            else:
                self._refuse_batch(batch, error)
