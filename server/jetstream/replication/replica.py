"""Replica: one server's copy of a stream, as the state machine of its Raft group.

A replica is current (entries are applied as they come) or catching up: the log's entries do not continue its
state, and wait while messages and state come from another replica, see `catchup`.

Promises:
- At a start, `durable_index` is the entry up to which the disk holds everything.
- The answer to an entry is sent once, by the leader that applied it.
- A damaged replica applies no more entries (`failure`).
- An entry that is applied in part is never on the disk, nor in the state that another replica gets.
- The log may be compacted up to the index that `snapshot()` returns, never further: that is the last
  checkpoint (`checkpoint`).

A replica knows neither asyncio nor the network: it proposes through `ReplicaLog`, and its group calls it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from ....protocol.api.stream import StreamConfig
from ....store.errors import StoreError
from ....store.memory import MemoryStream
from ...slices import Slices, at_once
from .. import advisories
from . import entry as entries
from . import state as states
from .catchup import BEGUN, CatchupReceiver, CatchupSenderError, answer
from .checkpoint import Checkpoint
from .entry_applier import EntryApplier
from .leader_proposals import LeaderProposals, ReplicaLog
from .stream import ReplicatedStream

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...slices import Steps
    from ..consumers.core import Consumer
    from ..streams.context import StreamContext

MOST_WAITING = 32 << 20  # bytes of entries that wait for the end of a catchup
STEP = 128 << 10  # bytes of entries applied in one step; at most RUN publishes, or one entry more
_MARK = Struct("<qQ")  # what a snapshot contains: the stream's creation time (ns), the index


class ReplicaError(Exception):
    """This replica cannot go on, but another one can."""


class ReplicaOwner(Protocol):
    """What a replica needs of the object that made it."""

    def replaced(self, replica: Replica) -> None:
        """The replica's stream is from now on another object over the same store."""

    def ask(self, replica: Replica, question: bytes, *, another: bool = False) -> None:
        """Ask another replica, the leader first, until one answers; its answer goes to `Replica.answered`.

        another: ask, after a moment, another one than answered last, because what that one has is too old.
        """

    def unused(self, consumer: Consumer) -> None:
        """Nobody uses a consumer any more: it may be deleted."""

    def store_failed(self, replica: Replica, error: BaseException) -> None:
        """The replica's disk refuses: the group's member here has to give up."""


class Replica:
    """One replica of a stream.

    durable_index: the index up to which it is durable, 0 while catching up.
    applier: applies entries to its stream.
    proposals: proposes entries while it leads.
    catchup: the receiver while catching up, otherwise None.
    failure: why the replica has ended, or "".
    """

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        context: StreamContext,
        created: int,
        log: ReplicaLog,
        owner: ReplicaOwner,
        group: str = "",
    ) -> None:
        """`config` counts only while the store has no state. group: its name. Raises ReplicaStateError."""
        self._store = store
        self._context = context
        self._host = context.host
        self._created = created
        self._group = group
        self.proposals = LeaderProposals(log, context, owner.unused)
        self._owner = owner
        self._waiting: list[tuple[int, bytes]] = []
        self._waiting_bytes = 0
        self._saving = False
        self._waiting_from = self._waiting_upto = 0
        self._deferred: Steps[None] | None = None  # waiting entries, while they are applied
        self.failure = ""
        self.catchup: CatchupReceiver | None = None
        begun = store.note.startswith(BEGUN)
        state = states.decode(store.note) if store.note and not begun else None
        if state is not None and state.created != created:
            raise states.ReplicaStateError("it is of another stream of this name")
        if state is not None and state.group != group:
            raise states.ReplicaStateError(f"it is of another group, {state.group}")
        if state is None and config.first_seq > 1 and not store.last_seq:
            store.skip_to(config.first_seq - 1)
        self.stream = self._over(config if state is None else state.config, state)
        self._begin()
        if begun:
            self._start_catchup(0, "an earlier filling was cut short")

    def join(self) -> None:
        """Fill it from another replica: the group began without it, over messages that are not in the log."""
        self._start_catchup(0, "it has nothing of its own here")

    def _over(self, config: StreamConfig, state: states.ReplicaState | None) -> ReplicatedStream:
        stream = ReplicatedStream(
            config, self._store, self._context, self._created, proposer=self.proposals, group=self._group
        )
        self.proposals.stream = stream
        if state is not None:
            states.install(stream, state)
        stream.start()
        return stream

    def _begin(self) -> None:
        self.applier = EntryApplier(self.stream)
        self.checkpoint = Checkpoint(self.stream, self._host, self._reached, self._refused)
        self.durable_index = self.checkpoint.durable

    # --- the group's application

    def apply(self, news: Sequence[tuple[int, bytes]], upto: int) -> Steps[None] | None:
        """Apply committed entries; the returned steps end with the state of `upto`.

        Raises any error that ends this replica, also in the steps.
        """
        self._check()
        for at, (index, data) in enumerate(news):
            if entries.begins(data):
                self._start_empty(index, data)
                news = news[at + 1 :]
                break
        if self.catchup is not None:
            self._wait(news, upto)
            return None
        return self._applying(news, upto) if self._deferred is None else self._applying_after(news, upto)

    def _check(self) -> None:
        if self.failure:
            raise ReplicaError(self.failure)

    def _applying_after(self, news: Sequence[tuple[int, bytes]], upto: int) -> Steps[None]:
        while self._deferred is not None:  # the entries before these
            yield
            self._check()
        yield from self._applying(news, upto)

    def _applying(self, news: Sequence[tuple[int, bytes]], upto: int) -> Steps[None]:
        stream, applier, size, rested, stored = self.stream, self.applier, 0, 0, self._store.last_seq
        for index, data in news:
            if size - rested >= STEP or self._store.last_seq - stored >= entries.RUN:
                rested, stored = size, self._store.last_seq
                applier.finish(index - 1)
                yield
                self._check()
            while self.checkpoint.gathering:
                yield
                self._check()
            try:
                outcome = yield from applier.applying(index, data)
            except Exception as error:  # it may be applied in part: that must not reach the disk
                self.failure = self.failure or f"entry {index}: {type(error).__name__}: {error}"
                raise
            size += len(data)
            if outcome is not None and stream.leading:
                self.proposals.outcomes[index] = outcome
        applier.finish(upto)
        self.checkpoint.grown(size)

    def snapshot(self) -> tuple[int, bytes] | None:
        """Return the snapshot of the last checkpoint, (index, bytes); without one, begin one."""
        index = self.durable_index
        if not index:
            self.checkpoint.begin()
            return None
        return index, _MARK.pack(self._created, index)

    def restore(self, data: bytes, index: int) -> None:
        """Take a leader's snapshot: fetch the state of that index or a later one from another replica."""
        created, _ = _MARK.unpack(data)
        if created != self._created:
            raise ReplicaError("a snapshot of another stream")
        if index > self.stream.index or self.catchup is not None:
            self._start_catchup(index, f"the log does not reach back to its entry {self.stream.index}")

    def _start_empty(self, index: int, data: bytes) -> None:
        """Start over with nothing, because no replica has all: drop also the part that is here."""
        begin = entries.decode(data)
        if not isinstance(begin, entries.ResetStream) or not isinstance(self._store, MemoryStream):
            raise ReplicaError("only a stream in memory can start again")
        self.follow()
        self.checkpoint.stop()
        self.stream.hand_over()
        config = StreamConfig.from_json(json.loads(begin.config))
        self._store = MemoryStream()
        self._store.skip_to(max(config.first_seq, 1) - 1)
        state = states.ReplicaState(index, begin.time, self._created, config, self._group)
        self.catchup = None
        self._drop_deferred()
        self._waiting.clear()
        self._waiting_bytes = 0
        self.stream = self._over(config, state)
        self._begin()
        self._owner.replaced(self)

    # --- leadership

    @property
    def current(self) -> bool:
        """Whether entries are applied here as they come."""
        return self.catchup is None and self._deferred is None and not self.failure

    def lead(self) -> bool:
        """Begin to lead, with all entries applied. Return False if the replica cannot and must resign."""
        if not self.current:
            return False
        self.stream.lead()
        return True

    def follow(self) -> None:
        """Stop leading, as another replica leads."""
        self.stream.follow()
        self.proposals.outcomes.clear()

    # --- catching up

    def _start_catchup(self, index: int, why: str) -> None:
        """Begin to fetch a state of `index` or later; the reason is logged."""
        self.follow()
        self.checkpoint.stop()
        self.durable_index = 0
        if self.catchup is None:
            self._host.log.info(f"Stream '{self.stream.label}' is filled from the other servers: {why}")
            self.catchup = CatchupReceiver(self._store, self._created)
            self._waiting_from = self._waiting_upto = index
        self._waiting_from = max(self._waiting_from, index)
        self._ask()

    def _ask(self, *, another: bool = False) -> None:
        if self.catchup is not None and not self._saving:
            self._owner.ask(self, self.catchup.ask(), another=another)

    def answer(self, question: bytes) -> bytes:
        """Return the answer to another replica. Raises CatchupSenderError if this one cannot help."""
        if self.failure or self.catchup is not None:
            raise CatchupSenderError("this replica is not current")
        return answer(self.stream, question)

    def answered(self, data: bytes) -> None:
        """Take in an answer, and ask the next question once it is on the disk.

        Raises CatchupError if it was damaged (`ask` again), CatchupMismatchError if only an empty store can
        help.
        """
        catchup = self.catchup
        if catchup is None or self._saving:
            return
        catchup.take(data)
        commit = self._store.begin_commit()
        if commit is None:
            self._saved(None)
            return
        self._saving = True

        def done(error: BaseException | None) -> None:
            self._saving = False
            self._store.finish(commit)
            self._saved(error)

        self._host.executor.work(commit.run, done)

    def _saved(self, error: BaseException | None) -> None:
        if error is not None:
            self._refused(error)
        elif self.catchup is not None and self.catchup.state is None:
            self._ask()
        elif self.catchup is not None and not self._catchup_done():
            self._ask(another=True)

    def _wait(self, news: Sequence[tuple[int, bytes]], upto: int) -> None:
        self._waiting += news
        self._waiting_bytes += sum(len(data) for _, data in news)
        self._waiting_upto = upto
        if self._waiting_bytes > MOST_WAITING:
            # The state that is being fetched will be newer than these entries.
            self._waiting_from = upto
            self._waiting.clear()
            self._waiting_bytes = 0

    def _catchup_done(self) -> bool:
        """Go on from the fetched state, which is on the disk. Return False if it is too old for the log."""
        assert self.catchup is not None and self.catchup.state is not None
        state = self.catchup.state
        if state.index < self._waiting_from:
            self.catchup = CatchupReceiver(self._store, self._created)
            return False
        self.catchup = None
        held = f"{self._store.messages} messages up to {self._store.last_seq}"
        self._host.log.info(f"Stream '{self.stream.label}' is filled, with {held}")
        self.stream.hand_over()
        self.stream = self._over(state.config, state)
        self._begin()
        self._owner.replaced(self)
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        news = [(index, data) for index, data in waiting if index > state.index]
        self._deferred = self._applying(news, self._waiting_upto)
        turns = self._host.turns
        Slices(turns, self._deferred, self._drop_deferred, lambda error: self._end(self.failure, error))
        return True

    def _drop_deferred(self, _: object = None) -> None:
        """Forget the entries that had waited, applied or not."""
        deferred, self._deferred = self._deferred, None
        if deferred is not None:
            deferred.close()

    # --- the end

    def _reached(self, index: int) -> None:
        """Note a checkpoint that is on the disk; the log may be compacted up to there, see `snapshot`."""
        self.durable_index = index

    def _refused(self, error: BaseException) -> None:
        if not self.failure:
            advisories.storage_failed(self._host, self.stream.name, error)
            self._end(f"the stream's store: {error}", error)

    def _end(self, why: str, error: BaseException) -> None:
        self.failure = why
        self.stream.ack_queue.error = error
        self.follow()
        self._owner.store_failed(self, error)

    def damaged(self, where: str) -> None:
        """End, because a message was found damaged: this replica differs from the others."""
        self._refused(StoreError(f"a message is damaged: {where}"))

    def stop(self) -> None:
        """Stop with the server, leaving everything on the disk. Raises OSError, StoreError."""
        self.follow()
        if self.failure or self.catchup is not None or self._deferred is not None or self.stream.between:
            self._drop_deferred()
            self.checkpoint.stop()
            self.stream.abandon()
            return
        self.checkpoint.close()
        self.stream.stop()

    def hand_over(self) -> StreamStore:
        """End, and return the store with all that was applied: `conversion`. Raises OSError, StoreError."""
        self.follow()
        self.write_out()
        return self.stream.hand_over()

    def write_out(self) -> None:
        """Write what is applied to the disk, after the group's end. Blocks. Raises OSError, StoreError."""
        if self._deferred is not None:
            at_once(self._deferred)
            self._drop_deferred()
        if self.stream.between:
            raise StoreError("an entry is applied in part")
        self.checkpoint.close()

    def delete(self) -> None:
        """Remove the replica and its messages."""
        self.follow()
        self._drop_deferred()
        self.checkpoint.stop()
        self.stream.delete()
