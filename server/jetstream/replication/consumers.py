"""The consumers of a replicated stream: the state that all replicas agree on, and how it is replicated.

`ReplicatedConsumerState` is the agreed state of one consumer.

Promises:
- Only entries change it, in place, so that it is the same at the same index everywhere.
- Whether it needs a message decides what interest and work queue retention keep.
- The leader's own delivery state is ahead of it, by the changes that are not agreed on yet; the next leader
  goes on from the agreed state.

`ReplicatedPersistence` has the replicas agree on what the leader of a consumer did.

Promises:
- Changes reach the log in order, one under way at a time, each relative to the one before.
- A callback given to `after` is called once everything that had happened before it is agreed on, and never if
  it is not.
- Plain acks and deliveries are collected for `REST`, and a little longer if many messages are pending.
- Even with very many pending messages, the size of what is sent depends only on what changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.subject import matches
from ....store.consumer_state import ConsumerChange, ConsumerState, changing, encoding
from ...clock import DeadlineTimer
from ...slices import Slices
from ..consumers.delivery_state import MANY
from ..consumers.message_selector import StartPosition

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...clock import Clock
    from ...slices import LoopTurns, Steps
    from ..consumers.delivery_state import DeliveryState
    from ..consumers.persistence import ConsumerPersistence

STEP = 512  # messages examined in one step
REST = 10_000_000  # ns between two changes of one consumer
PER_PENDING = 5_000  # ns that this grows per pending message, up to MANY: only so many are compared

# Proposes (name, base, whole, change). The callback gets whether the change was applied, or None if nobody
# knows.
Propose = Callable[[str, int, bool, bytes, Callable[[bool | None], None]], None]


class ReplicatedConsumerState:
    """The state of one consumer that all replicas agree on.

    name, config: the consumer's.
    created: when it was created, ns.
    filters: the subjects of its filters; empty if it selects everything.
    state: what is delivered, acknowledged, pending and due again.
    version: how many changes were applied.
    delivered_at, acked_at: when a message was last delivered and acknowledged, ns; 0 for never.
    picked, resume: see `consumers.message_selector.StartPosition`.
    """

    __slots__ = (
        "acked_at",
        "config",
        "created",
        "delivered_at",
        "filters",
        "name",
        "picked",
        "resume",
        "state",
        "version",
    )

    def __init__(self, name: str, created: int, config: ConsumerConfig) -> None:
        self.name = name
        self.created = created
        self.config = config
        self.filters = tuple(config.filters)
        self.state = ConsumerState()
        self.version = 0
        self.delivered_at = self.acked_at = 0
        self.picked: list[int] = []
        self.resume = 0

    def begin(self, start: StartPosition) -> None:
        """Set the position at which a new consumer begins."""
        before = max(start.next_seq - 1, 0)
        self.state = ConsumerState((0, before), (0, before))
        self.picked, self.resume = list(start.picked), start.resume

    def configure(self, config: ConsumerConfig) -> None:
        """Take over a changed configuration."""
        self.config = config
        self.filters = tuple(config.filters)

    # --- its state

    @property
    def passed(self) -> int:
        """The stream sequence of the last message delivered."""
        return self.state.delivered[1]

    def start(self) -> StartPosition:
        """Return the position from which the next leader reads on."""
        after = self.state.delivered[1] + 1
        if self.picked:
            return StartPosition(self.picked[0], list(self.picked), self.resume)
        return StartPosition(max(after, self.resume) if self.resume else after, [])

    def needs(self, seq: int) -> bool:
        """Return whether a message that the consumer selects has to be kept for it."""
        state = self.state
        return seq in state.redelivered or seq > state.delivered[1] or seq in state.pending

    def selects(self, subject: str) -> bool:
        """Return whether the consumer's filters match a subject."""
        filters = self.filters
        return not filters or subject in filters or any(matches(one, subject) for one in filters)

    # --- changes

    def changing(self, body: bytes, store: StreamStore | None, time: int, *, whole: bool) -> Steps[list[int]]:
        """Apply in steps what the leader did until `time` (ns); return the sequences no longer needed.

        body: the encoded change.
        store: the stream's messages; None if nobody asks for those sequences, and none are returned.
        whole: whether `body` is a complete state, not a change of the one before.
        """
        before = self.state
        delivered, floor = before.delivered, before.ack_floor
        if whole:
            state = ConsumerState()
            yield from changing(body, state)
            self.state = state
            cared = [*before.pending, *before.redelivered]
            acked = not before.pending.keys() <= state.pending.keys()
        else:
            acks, cleared = yield from changing(body, before)
            cared, acked = [*acks, *cleared], bool(acks)
        self.version += 1
        self._note_activity(delivered, floor, time, acked=acked)
        passed = self.passed
        if self.resume:
            self.picked = [seq for seq in self.picked if seq > passed]
            if not self.picked and passed >= self.resume:
                self.resume = 0
        if store is None:
            return []
        return (yield from self._done_with(cared, self._between(store, delivered[1], passed)))

    def _done_with(self, cared: list[int], delivered: Iterator[int]) -> Steps[list[int]]:
        """Return those of the sequences that need not be kept for the consumer any more, each once."""
        found: dict[int, None] = {}
        for place, seq in enumerate(chain(cared, delivered), 1):
            if not self.needs(seq):
                found[seq] = None
            if place % STEP == 0:
                yield
        return list(found)

    def _note_activity(
        self, delivered: tuple[int, int], floor: tuple[int, int], time: int, *, acked: bool
    ) -> None:
        """Note when a message was delivered and acknowledged.

        delivered, floor: as they were before the change.
        acked: whether some message is not pending any more.
        """
        state = self.state
        if state.delivered[0] < delivered[0]:
            self.delivered_at = self.acked_at = 0  # the consumer was reset
        elif state.delivered[0] > delivered[0]:
            self.delivered_at = time
        if self.config.ack_policy != "none" and (state.ack_floor[0] > floor[0] or acked):
            self.acked_at = time

    def _between(self, store: StreamStore, after: int, upto: int) -> Iterator[int]:
        """Yield the sequences that the filters select after `after`, up to `upto`."""
        seq = store.next_seq(self.filters, after + 1)
        while 0 < seq <= upto:
            yield seq
            seq = store.next_seq(self.filters, seq + 1)


class ReplicatedPersistence:
    """A `ConsumerPersistence` that keeps a consumer's delivery state in the log."""

    def __init__(
        self,
        state: ReplicatedConsumerState,
        delivery_state: DeliveryState,
        clock: Clock,
        turns: LoopTurns,
        propose: Propose,
    ) -> None:
        self._state = state
        self._delivery_state = delivery_state
        self._clock = clock
        self._turns = turns
        self._propose = propose
        self._timer = DeadlineTimer(clock, self._begin)
        self._known = True  # whether the next change is relative to the agreed state
        self._waiting: list[Callable[[], None]] = []
        self._dirty = self._running = self._closed = False
        self._last = 0

    def changed(self) -> None:
        """Note that the delivery state changed; the change is proposed soon."""
        if self._dirty or self._closed:
            return
        self._dirty = True
        if not self._running:
            self._arm()

    def _arm(self) -> None:
        rest = REST + min(self._delivery_state.outstanding, MANY) * PER_PENDING
        self._timer.at(max(self._last + rest, self._clock.now()))

    def after(self, done: Callable[[], None]) -> None:
        """Propose the changes at once, and call `done` when they are agreed on."""
        if self._closed:
            return
        self._waiting.append(done)
        self._dirty = True
        if not self._running:
            self._timer.at(self._clock.now())

    def _begin(self) -> None:
        if self._running or self._closed or not self._dirty:
            return
        self._dirty = False
        waiting, self._waiting = self._waiting, []
        self._last = self._clock.now()
        self._running = True
        state, known, news = self._state, self._known, self._delivery_state.to_save()
        if not known and isinstance(news, ConsumerChange):
            news = self._delivery_state.state()
        version = state.version

        def finished(taken: bool | None) -> None:
            self._finished(waiting, taken)

        def encoded(change: bytes) -> None:
            if not self._closed:
                self._propose(state.name, version, not known, change, finished)

        steps = encoding(news, state.state if known else None)
        Slices(self._turns, steps, encoded, lambda _: finished(None))

    def _finished(self, waiting: list[Callable[[], None]], taken: bool | None) -> None:
        self._running = False
        if self._closed:
            return
        self._known = bool(taken)  # after an unknown outcome the next change is a complete state
        if taken:
            for done in waiting:
                done()
        else:
            self._waiting = waiting + self._waiting
            self._dirty = True
        if self._waiting and taken:
            self._timer.at(self._clock.now())
        elif self._dirty:
            self._arm()

    def close(self) -> None:
        """End, because another replica leads. What was not agreed on happens again there."""
        self._closed = True
        self._timer.clear()
        self._waiting.clear()

    def halt(self) -> None:
        """End; the same as `close`, which does not block either."""
        self.close()

    def write_out(self) -> None:
        """Do nothing: the log is on the disk."""

    def abandon(self) -> None:
        """End, because the consumer is deleted."""
        self.close()


class LeaderReplication:
    """The `ConsumerReplication` of one consumer whose leader is here."""

    def __init__(
        self, state: ReplicatedConsumerState, clock: Clock, turns: LoopTurns, propose: Propose
    ) -> None:
        self._state = state
        self._clock = clock
        self._turns = turns
        self._propose = propose

    def state(self) -> ConsumerState:
        """Return a copy of the agreed state."""
        state = self._state.state
        return ConsumerState(state.delivered, state.ack_floor, dict(state.pending), dict(state.redelivered))

    def start(self) -> StartPosition:
        """Return the position from which to read on."""
        return self._state.start()

    def last_active(self) -> tuple[int, int]:
        """Return when a message was last delivered and acknowledged, in ns; 0 for never."""
        return self._state.delivered_at, self._state.acked_at

    def persistence(self, delivery_state: DeliveryState) -> ConsumerPersistence:
        """Return the persistence that replicates the changes of `delivery_state`."""
        return ReplicatedPersistence(self._state, delivery_state, self._clock, self._turns, self._propose)
