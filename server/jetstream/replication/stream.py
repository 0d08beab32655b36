"""A stream that changes only by the entries of a log; apart from that it is the core of any stream.

Promises: its contents follow from the entries alone, so that all replicas hold the same after the same
entry; `EntryApplier` is the only way in. Only while it leads does it subscribe, deliver and propose; a
follower does nothing for anybody but answer direct gets while it is current. What it does in another way
than a stream on one server, its parts do: `ReplicatedParts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...slices import Steps, at_once
from ..consumers.core import Consumer
from ..streams.core import Stream
from .consumers import LeaderReplication, ReplicatedConsumerState
from .parts import ReplicatedParts

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.stream import StreamStore
    from ..streams.context import StreamContext
    from .parts import StreamProposer


class ReplicatedStream(Stream[Consumer]):
    """The stream of one replica.

    index: of the last entry applied.
    group: the group that the index belongs to.
    between: whether the next entry is applied in part, so that the contents belong to no index.
    time, random: those of the log.
    states: what the replicas agree on about each consumer.
    applied: answers publishers when their entry is applied.
    entry_removal: removes messages as part of an entry.
    """

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        context: StreamContext,
        created: int,
        *,
        proposer: StreamProposer,
        group: str = "",
    ) -> None:
        """proposer: takes proposals while this replica leads."""
        parts = ReplicatedParts(config, context, proposer)
        self.index = 0
        self.between = False
        self.group = group
        self.time, self.random, self.states = parts.time, parts.random, parts.states
        self._proposer = proposer
        self._reads = False  # whether it answers direct gets as a follower
        super().__init__(config, store, context, created, parts)
        self.applied, self.entry_removal = parts.applied, parts.entry_removal
        self.compacts = False  # space must not be returned before a checkpoint

    @property
    def leading(self) -> bool:
        """Whether this replica leads."""
        return self.time.leading

    def start(self) -> None:
        """Begin as a follower: only entries enforce limits, and nothing is subscribed to."""
        self.contents.update_usage()

    def beginning(self) -> Steps[None]:
        """Do the same as `start`, as steps."""
        self.start()
        yield from ()

    def _listen(self) -> None:
        at_once(self.subscriptions.changing(self._wanted()))

    def lead(self) -> None:
        """Serve the stream, as everything before this leadership is applied."""
        self.time.leading = True
        self.limits.rearm()
        self.expiry.rearm()
        self.schedules.rearm()
        for state in self.states.values():
            self.start_consumer(state)
        self._reads = False
        self.direct_get.configure(self.config)
        self._listen()
        self.start_sourcing()

    def follow(self) -> None:
        """Stop serving the stream, as another replica leads."""
        self.time.leading = False
        self.end_batches()
        self._listen()
        for consumer in list(self.consumers.values()):
            consumer.retire()
            consumer.delivery_state.drop_all()
            self.removal.release(consumer.delivery_state.remains())
        self.consumers.clear()
        if self.sourcing is not None:
            self.sourcing.stop()
            self.sourcing = None
        self._reads = False
        self.direct_get.stop()
        self.limits.stop()
        self.expiry.stop()
        self.schedules.stop()

    def serve_reads(self, current: bool) -> None:
        """As a follower, answer direct gets from now on if the replica is current, otherwise no more."""
        if self.leading or current is self._reads:
            return
        self._reads = current
        self.configure_reads()

    def configure_reads(self) -> None:
        """Answer direct gets as the configuration says, if this replica answers any."""
        if self.leading or self._reads:
            self.direct_get.configure(self.config)
        else:
            self.direct_get.stop()

    def abandon(self) -> None:
        """Stop, and leave on the disk only the last checkpoint."""
        self._silence()
        self.ack_queue.close()
        self.store.abandon()

    def start_consumer(self, state: ReplicatedConsumerState) -> None:
        """Deliver to a consumer's subscribers, from the position that the replicas agree on."""
        replication = LeaderReplication(state, self.clock, self.host.turns, self._proposer.change)
        consumer = Consumer(self, state.name, state.config, state.created, replication=replication)
        self.consumers[state.name] = consumer
        consumer.start(self._proposer.unused)
