"""ReplicatedConsumerState: the state of a consumer of a replicated stream, as all replicas agree on it.

Promises: changed only by entries, in place, so that it is the same at the same index everywhere; whether
it wants a message decides what interest and work queues keep. The leader's own delivery state is
ahead of it, by what is not agreed on yet; who leads next goes on from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.subject import matches
from ....store.consumer_state import ConsumerState, changing
from ..consumers.message_selector import StartPosition

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...slices import Steps

STEP = 512  # messages looked at in one step


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
