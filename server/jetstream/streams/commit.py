"""GroupCommit: what arrives while one sync runs is written and synced together by the next.

Promises: an answer, a republish and a consumer's wake-up for a message are only given when the message is
on disk; they are given in the order in which the messages were stored; one sync at a time
per stream. A sync that failed is never repeated: its publishers get an error, and the stream stops taking
messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ....store.errors import StoreError

if TYPE_CHECKING:
    from ....store.stream import Commit, StreamStore
    from ...task_executor import Done, Job, TaskExecutor

Send = Callable[[str, bytes, bytes], object]  # subject, header, body
Answer = tuple[bytes, bytes]  # reply subject, body


class AckQueue(Protocol):
    """Keeps the answers to stored messages until the messages are safe.

    answers: (reply, body), republish: (subject, header, body), both in the order of the messages. error: why
    nothing more is taken. idle: somebody must `wake` it.
    """

    answers: list[Answer]
    republish: list[tuple[str, bytes, bytes]]
    idle: bool
    error: BaseException | None

    def wake(self) -> None:
        """Something was stored."""

    def after(self, done: Done) -> None:
        """Call `done` once all that is stored so far is safe (or with the error why it is not)."""

    def close(self) -> None:
        """Commit and answer what can be, and no more after that. Blocks."""

    # The same in three steps, of which only the second one blocks:

    def halt(self) -> None:
        """Begin nothing more."""

    def write_out(self) -> None:
        """Commit what can be committed; in any thread."""

    def answer(self) -> None:
        """Send the answers."""


class _Batch:
    """What waits for one commit."""

    __slots__ = ("answers", "commit", "job", "last", "republish", "waiting")

    def __init__(
        self,
        last: int,
        answers: list[Answer],
        republish: list[tuple[str, bytes, bytes]],
        waiting: list[Done],
    ) -> None:
        self.last = last
        self.answers = answers
        self.republish = republish
        self.waiting = waiting
        self.commit: Commit | None = None
        self.job: Job | None = None


class GroupCommit:
    """The commits of one stream's store.

    `answers` holds (reply, body) of stored messages that are not on disk yet; the publish path appends to it
    and calls `wake` when `idle` is true.
    """

    __slots__ = (
        "_answer",
        "_closed",
        "_committed",
        "_ending",
        "_executor",
        "_failed",
        "_finished",
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
        send: Send,
        answer: Callable[[list[Answer]], object],
        committed: Callable[[int], None],
        failed: Callable[[BaseException], bytes],
    ) -> None:
        self._store = store
        self._executor = executor
        self._send = send
        self._answer = answer
        self._committed = committed
        self._failed = failed
        self._waiting: list[Done] = []
        self._running: _Batch | None = None
        self._ending: _Batch | None = None  # the one that ran when it was halted
        self._finished: list[tuple[_Batch, BaseException | None]] = []  # written out, and not answered yet
        self._closed = False
        self.answers: list[Answer] = []
        self.republish: list[tuple[str, bytes, bytes]] = []
        self.idle = True
        self.error: BaseException | None = None

    def wake(self) -> None:
        """Begin a commit once everything that is being handled now has been stored."""
        if self.idle:
            self.idle = False
            self._executor.soon(self._begin)

    def after(self, done: Done) -> None:
        """Call `done` once all that is stored so far is on disk (or with the error why it is not)."""
        self._waiting.append(done)
        self.wake()

    def _take(self) -> _Batch:
        batch = _Batch(self._store.last_seq, self.answers, self.republish, self._waiting)
        self.answers, self.republish, self._waiting = [], [], []
        return batch

    def _begin(self) -> None:
        if self._closed:
            return
        batch = self._take()
        if self.error is not None:
            self.idle = True
            self._give_up(batch, self.error)
            return
        try:
            batch.commit = self._store.begin_commit()
        except (OSError, StoreError) as error:
            self.error = error
            self.idle = True
            self._give_up(batch, error)
            return
        if batch.commit is None:
            self.idle = True
            self._give(batch)
            return
        self._running = batch
        batch.job = self._executor.work(batch.commit.run, self._done)

    def _done(self, error: BaseException | None) -> None:
        batch = self._running
        if batch is None:  # `write_out` sees to it
            return
        self._running = None
        assert batch.commit is not None
        try:
            self._store.finish(batch.commit)
            if error is None:
                self._give(batch)
            else:
                self.error = error
                self._give_up(batch, error)
        finally:
            # Whatever the callbacks did, what was stored meanwhile must get its commit.
            if self.answers or self.republish or self._waiting or self._store.last_seq != batch.last:
                self._begin()
            else:
                self.idle = True

    def _give(self, batch: _Batch) -> None:
        send = self._send
        for subject, header, body in batch.republish:
            send(subject, header, body)
        self._answer(batch.answers)
        self._committed(batch.last)
        for done in batch.waiting:
            done(None)

    def _give_up(self, batch: _Batch, error: BaseException) -> None:
        body = self._failed(error)
        self._answer([(reply, body) for reply, _ in batch.answers])
        for done in batch.waiting:
            done(error)

    def close(self) -> None:
        """Commit and answer all that is stored, blocking, and begin nothing more."""
        if self._closed:
            return
        self.halt()
        self.write_out()
        self.answer()

    def halt(self) -> None:
        """Begin nothing more; `write_out` and then `answer` end it."""
        if not self._closed:
            self._closed = True
            self._ending, self._running = self._running, None

    def write_out(self) -> None:
        """Commit all that is stored. Blocks; in any thread."""
        running, self._ending = self._ending, None
        if running is not None and running.job is not None and running.commit is not None:
            self.error = running.job.wait()
            self._store.finish(running.commit)
            self._finished.append((running, self.error))
        batch = self._take()
        if self.error is None:
            try:
                self._store.commit_sync()
            except OSError as failure:
                self.error = failure
        self._finished.append((batch, self.error))

    def answer(self) -> None:
        """Answer what was stored last; on the loop."""
        finished, self._finished = self._finished, []
        for batch, error in finished:
            if error is None:
                self._give(batch)
            else:
                self._give_up(batch, error)
