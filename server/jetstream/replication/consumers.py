"""The consumers of a replicated stream: their state as all replicas agree on it, and how that is replicated.

`ReplicatedConsumerState`. Promises: changed only by entries, in place, so that it is the same at the same
index everywhere; whether it wants a message decides what interest and work queues keep. The leader's own
delivery state is ahead of it, by what is not agreed on yet; who leads next goes on from here.

`ReplicatedPersistence` lets the replicas agree on what a consumer's leader did. Promises: changes reach the
log in order, one under way at a time, each relative to the one before; who waits (`after`) is called once all
that had happened before is agreed on, and never when it is not. Plain acks and deliveries go together, within
`REST` and a little more for much that is pending. Where very much is, what is sent costs by what changed.
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

STEP = 512  # messages looked at in one step
REST = 10_000_000  # ns between two changes of one consumer
PER_PENDING = 5_000  # ns more of it per pending message, up to MANY: they are compared, more are not

# Proposes (name, base, whole, change); the callback gets whether it was taken in, None: nobody knows.
Propose = Callable[[str, int, bool, bytes, Callable[[bool | None], None]], None]


class ReplicatedConsumerState:
    """One consumer's. version: how many changes were applied; picked, resume: see
    `consumers.message_selector.StartPosition`.

    delivered_at, acked_at: when the last message was delivered and acknowledged, ns; 0 for never.
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
        """It is new, and begins there."""
        before = max(start.next_seq - 1, 0)
        self.state = ConsumerState((0, before), (0, before))
        self.picked, self.resume = list(start.picked), start.resume

    def configure(self, config: ConsumerConfig) -> None:
        """Take over another configuration."""
        self.config = config
        self.filters = tuple(config.filters)

    # --- its state

    @property
    def passed(self) -> int:
        """The last stream sequence delivered."""
        return self.state.delivered[1]

    def start(self) -> StartPosition:
        """Where the next leader reads on."""
        after = self.state.delivered[1] + 1
        if self.picked:
            return StartPosition(self.picked[0], list(self.picked), self.resume)
        return StartPosition(max(after, self.resume) if self.resume else after, [])

    def needs(self, seq: int) -> bool:
        """Whether a message that it selects has to be kept for it."""
        state = self.state
        return seq in state.redelivered or seq > state.delivered[1] or seq in state.pending

    def selects(self, subject: str) -> bool:
        """Whether its filters match the subject."""
        filters = self.filters
        return not filters or subject in filters or any(matches(one, subject) for one in filters)

    # --- changes

    def changing(self, body: bytes, store: StreamStore | None, time: int, *, whole: bool) -> Steps[list[int]]:
        """Take in what the leader did until `time`; give the sequences that it is done with by that.

        store: None where nobody asks for those.
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
        """Those of them that need not be kept for it any more, each once."""
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
        """delivered, floor: as they were before; acked: whether something is not pending any more."""
        state = self.state
        if state.delivered[0] < delivered[0]:
            self.delivered_at = self.acked_at = 0  # it began anew
        elif state.delivered[0] > delivered[0]:
            self.delivered_at = time
        if self.config.ack_policy != "none" and (state.ack_floor[0] > floor[0] or acked):
            self.acked_at = time

    def _between(self, store: StreamStore, after: int, upto: int) -> Iterator[int]:
        """The messages it selects and was given lately."""
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
        self._known = True  # whether the delivery state's changes follow the agreed state
        self._waiting: list[Callable[[], None]] = []
        self._dirty = self._running = self._closed = False
        self._last = 0

    def changed(self) -> None:
        """Let it be known soon."""
        if self._dirty or self._closed:
            return
        self._dirty = True
        if not self._running:
            self._arm()

    def _arm(self) -> None:
        rest = REST + min(self._delivery_state.outstanding, MANY) * PER_PENDING
        self._timer.at(max(self._last + rest, self._clock.now()))

    def after(self, done: Callable[[], None]) -> None:
        """Let it be known at once, and call `done` when it is agreed on."""
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
        self._known = bool(taken)  # what is not known is sent as a whole next time
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
        """End: another leads. What was not agreed on will be done again."""
        self._closed = True
        self._timer.clear()
        self._waiting.clear()

    def halt(self) -> None:
        """End, as `close`, which does not block."""
        self.close()

    def write_out(self) -> None:
        """Do nothing: what the log has is on the disk."""

    def abandon(self) -> None:
        """End: the consumer is deleted."""
        self.close()


class LeaderReplication:
    """A `ConsumerReplication` for the leader of one consumer."""

    def __init__(
        self, state: ReplicatedConsumerState, clock: Clock, turns: LoopTurns, propose: Propose
    ) -> None:
        self._state = state
        self._clock = clock
        self._turns = turns
        self._propose = propose

    def state(self) -> ConsumerState:
        """What is agreed on; the caller gets its own."""
        state = self._state.state
        return ConsumerState(state.delivered, state.ack_floor, dict(state.pending), dict(state.redelivered))

    def start(self) -> StartPosition:
        """Where to read on."""
        return self._state.start()

    def last_active(self) -> tuple[int, int]:
        """When the last message was delivered and acknowledged."""
        return self._state.delivered_at, self._state.acked_at

    def persistence(self, delivery_state: DeliveryState) -> ConsumerPersistence:
        """The persistence that replicates the changes of `delivery_state`."""
        return ReplicatedPersistence(self._state, delivery_state, self._clock, self._turns, self._propose)
