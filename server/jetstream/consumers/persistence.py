"""Saves a consumer's delivery state, and repairs a saved state that does not fit the stream.

`ConsumerPersistence` is the port. `ConsumerStateWriter` saves the state on this disk. A replicated consumer
gets another implementation from its `ConsumerReplication`.

Promises of `ConsumerStateWriter`:
- At most one commit runs at a time.
- The write of a change begins within `INTERVAL`, or when the commit before it ends.
- The callbacks of `after` are called when all changes before the call are durable.
- A failed write is logged, and nothing more is written or confirmed. The state on the disk is older then, so
  that messages are delivered again rather than lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ....store.consumer import ConsumerStore
from ....store.errors import StoreError
from ....store.stream import Commit
from ...clock import DeadlineTimer
from .delivery_state import DeliveryState

if TYPE_CHECKING:
    from ....store.consumer_state import ConsumerState
    from ...task_executor import Job
    from ..host import JetStreamHost
    from .message_selector import StartPosition

INTERVAL = 100_000_000  # ns between the beginnings of two writes, unless `after` asks for one


class ConsumerPersistence(Protocol):
    """Saves a delivery state so that it survives a crash."""

    def changed(self) -> None:
        """Save the state soon, because it changed."""

    def after(self, done: Callable[[], None]) -> None:
        """Save at once what changed, whether `changed` was called or not, and then call `done`."""

    def close(self) -> None:
        """Save what is not saved yet, if possible, and end. Blocks."""

    # `close` in two steps, of which only the second one blocks:

    def halt(self) -> None:
        """Accept no more changes."""

    def write_out(self) -> None:
        """Save what is not saved yet. Blocks; may run in any thread."""

    def abandon(self) -> None:
        """End without saving, because the consumer is deleted."""


class NotPersisted:
    """A `ConsumerPersistence` that saves nothing: the state ends with the server."""

    def changed(self) -> None:
        """Do nothing."""

    def after(self, done: Callable[[], None]) -> None:
        """Call `done` at once."""
        done()

    def close(self) -> None:
        """Do nothing."""

    def halt(self) -> None:
        """Do nothing."""

    def write_out(self) -> None:
        """Do nothing."""

    def abandon(self) -> None:
        """Do nothing."""


class ConsumerReplication(Protocol):
    """What the replicas of a stream agree on about one of its consumers."""

    def state(self) -> ConsumerState:
        """Return the replicated delivery state."""

    def start(self) -> StartPosition:
        """Return the position where the consumer continues to read."""

    def last_active(self) -> tuple[int, int]:
        """Return the times of the last delivery and of the last ack, ns; 0 for never."""

    def persistence(self, delivery_state: DeliveryState) -> ConsumerPersistence:
        """Return the persistence that replicates the changes of `delivery_state`."""


class ConsumerStateWriter:
    """Saves one consumer's delivery state in its store.

    what: the consumer in log lines.
    """

    __slots__ = (
        "_broken",
        "_closed",
        "_delivery_state",
        "_dirty",
        "_ending",
        "_host",
        "_job",
        "_last",
        "_running",
        "_store",
        "_timer",
        "_waiting",
        "_what",
    )

    def __init__(
        self, store: ConsumerStore, delivery_state: DeliveryState, host: JetStreamHost, what: str
    ) -> None:
        self._store = store
        self._delivery_state = delivery_state
        self._host = host
        self._what = what
        self._timer = DeadlineTimer(host.clock, self._begin)
        self._waiting: list[Callable[[], None]] = []
        self._dirty = False
        self._closed = self._broken = False
        # the running commit, and its work on the executor
        self._running: Commit | None = None
        self._job: Job | None = None
        self._ending: tuple[Commit, Job | None] | None = None  # what was running at `halt`
        self._last = 0

    def changed(self) -> None:
        """Save the state soon, because it changed."""
        if self._dirty or self._closed or self._broken:
            return
        self._dirty = True
        if self._running is None:
            self._timer.at(max(self._last + INTERVAL, self._host.clock.now()))

    def after(self, done: Callable[[], None]) -> None:
        """Save as soon as the disk is free, and then call `done`."""
        if self._closed or self._broken:
            return
        self._waiting.append(done)
        self._dirty = True
        if self._running is None and len(self._waiting) == 1:
            # Not at once, so that acks that came in the same turn share the write.
            self._host.executor.soon(self._begin)

    def _begin(self) -> None:
        if self._running is not None or self._closed or self._broken or not self._dirty:
            return
        if self._timer.timer is not None:
            self._timer.clear()
        self._dirty = False
        waiting, self._waiting = self._waiting, []
        self._last = self._host.clock.now()
        try:
            self._store.save(self._delivery_state.to_save())
            commit = self._store.begin_commit()
        except (OSError, StoreError) as error:
            self._failed(error)
            return
        if commit is None:
            for done in waiting:
                done()
            return
        self._running = commit

        def finished(error: BaseException | None) -> None:
            if self._running is not commit:
                return  # closed meanwhile
            self._running = self._job = None
            self._store.finish(commit)
            if error is not None:
                self._failed(error)
            else:
                for done in waiting:
                    done()
            if self._waiting:
                self._host.executor.soon(self._begin)
            elif self._dirty:
                self._timer.at(max(self._last + INTERVAL, self._host.clock.now()))

        job = self._host.executor.work(commit.run, finished)
        self._job = job if self._running is commit else None

    def _failed(self, error: BaseException) -> None:
        self._broken = True
        self._waiting.clear()
        self._host.log.error(f"{self._what}: its state can not be written: {error}")

    def halt(self) -> None:
        """Accept no more changes. `write_out` completes the stop."""
        self._closed = True
        self._timer.clear()
        self._waiting.clear()
        if self._running is not None:
            self._ending = (self._running, self._job)
            self._running = self._job = None

    def _wait(self) -> None:
        """Wait for the commit that was running at `halt`. Blocks."""
        ending, self._ending = self._ending, None
        if ending is None:
            return
        commit, job = ending
        error = None if job is None else job.result()
        self._store.finish(commit)
        if error is not None:
            self._failed(error)

    def close(self) -> None:
        """Save what is not saved yet, and close the file. Blocks."""
        self.halt()
        self.write_out()

    def write_out(self) -> None:
        """Save what is not saved yet, and close the file, after `halt`. Blocks; may run in any thread."""
        self._wait()
        try:
            if self._dirty and not self._broken:
                self._store.save(self._delivery_state.to_save())
                self._store.commit_sync()
            self._store.close()
        except (OSError, StoreError) as error:
            self._failed(error)

    def abandon(self) -> None:
        """Delete the file without saving, because the consumer is deleted."""
        self.halt()
        self._wait()
        try:
            self._store.delete()
        except (OSError, StoreError) as error:
            self._failed(error)


def repair(state: DeliveryState, first_seq: int, last_seq: int) -> list[str]:
    """Change a state so that nothing is delivered or pending that is not in the stream.

    first_seq, last_seq: the stream's first and last sequence. Returns a line for the log for each kind of
    change.
    """
    lines: list[str] = []
    pending = {**state.pending, **state.aside}
    if state.stream_seq > last_seq:
        lines.append(f"delivered sequence {state.stream_seq} is past the stream's last {last_seq}")
        for seq in [seq for seq in pending if seq > last_seq]:
            state.forget(seq)
            del pending[seq]
        for seq in [seq for seq in state.redelivered if seq > last_seq]:
            state.recount(seq, 0)
        state.stream_seq = last_seq
        state.consumer_seq = max((entry[0] for entry in pending.values()), default=state.consumer_seq)
    if state.floor_stream > state.stream_seq:
        lines.append(f"ack floor {state.floor_stream} is past the delivered sequence {state.stream_seq}")
        state.floor_stream = state.stream_seq
        state.floor_consumer = min(state.floor_consumer, state.consumer_seq)
    below = [seq for seq in pending if seq < first_seq or seq <= state.floor_stream]
    if below:
        lines.append(f"{len(below)} pending messages are below the ack floor or gone from the stream")
        for seq in below:
            state.forget(seq)
            state.recount(seq, 0)
    above = [seq for seq in pending if seq > state.stream_seq]
    if above:
        lines.append(f"{len(above)} pending messages are past the delivered sequence {state.stream_seq}")
        for seq in above:
            state.forget(seq)
    for seq in [seq for seq in state.redelivered if seq < first_seq]:
        state.recount(seq, 0)
    if lines:  # a sound state keeps its ack floor, which stays below what was given up, as on the reference
        state.advance_floor()
    return lines
