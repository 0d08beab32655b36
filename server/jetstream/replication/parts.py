"""ReplicatedParts: the parts of a stream whose contents follow from the entries of a log alone.

Promises: time, random numbers and the consumers that count are those of the log. What is asked for is
proposed. Only the leader publishes and logs; a failure of the store ends the replica instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ....store.errors import StoreError
from ..quota import Quota
from ..streams.context import StreamContext, StreamDeps
from ..streams.output import AccountOutput
from ..streams.parts import PublishReceiver
from ..streams.stream_consumers import StreamConsumers
from . import entry as entries
from .ack_queue import AppliedAckQueue
from .consumers import ReplicatedConsumerState
from .entry import Outcome
from .log_time import DeterministicRandom, LogClock, LogTime
from .proposals import SourceProposals
from .removal import EntryRemoval

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....protocol.errors import ApiError
    from ....store.stream import StreamStore
    from ..consumers.core import Consumer
    from ..streams.commit import Answer
    from ..streams.contents import StreamContents
    from ..streams.ingest import Ingest
    from ..streams.origin_storage import CommittedStream
    from ..streams.output import StreamOutput
    from ..streams.parts import CommitEvents
    from ..streams.removal import MessageRemoval
    from ..streams.served_consumers import ServedConsumers


class CountingQuota(Quota):
    """Counts what is used and refuses nothing: the leader checks the limits before it proposes."""

    __slots__ = ()

    @property
    def guarded(self) -> bool:
        """Always False: servers are not equally full, so a limit here would make replicas differ."""
        return False

    def refusal(self, size: int, copies: int = 1) -> ApiError | None:
        """Return None: nothing is refused."""
        del size, copies
        return None


class StreamProposer(PublishReceiver, Protocol):
    """Takes what a leader wants to have agreed on; it proposes the publishes that it receives."""

    def propose_expiry(self, what: int) -> None:
        """Propose the removal of expired messages: AGE or LIFETIMES."""

    def propose_schedules(self) -> None:
        """Propose that the schedules which are due fire."""

    def propose(self, entry: entries.Entry, done: Callable[[Outcome | Exception], None]) -> None:
        """Have an entry agreed on; `done` gets its result, or why it was not agreed on."""

    def change(
        self, name: str, base: int, whole: bool, change: bytes, done: Callable[[bool | None], None]
    ) -> None:
        """Propose a change of a consumer's state; see `consumers`."""

    def unused(self, consumer: Consumer) -> None:
        """Report a consumer that ended by itself because nobody used it (or because of `RemoveConsumer`)."""


class LeaderOutput:
    """A `StreamOutput` that is silent unless this replica leads. Followers only answer direct gets."""

    def __init__(self, output: StreamOutput, time: LogTime) -> None:
        self._output = output
        self._time = time
        self.send_answers = output.send_answers
        self.log_failure = output.log_failure

    def send(self, subject: str, header: bytes, body: bytes, *, own: bool = False) -> None:
        """Publish a message, if this replica leads."""
        if self._time.leading:
            self._output.send(subject, header, body, own=own)

    def send_each(self, messages: list[Answer]) -> None:
        """Publish messages, if this replica leads."""
        if self._time.leading:
            self._output.send_each(messages)

    def store_failed(self, error: Exception) -> None:
        """Raise an error of the store, which ends this replica; any other is the same on all of them."""
        if isinstance(error, (StoreError, OSError)):
            raise error
        if self._time.leading:
            self._output.store_failed(error)


class ReplicatedParts:
    """Makes the parts of one replica's stream.

    time, random: those of the log.
    states: what the replicas agree on about each consumer.
    applied: the ack queue, once it is made.
    entry_removal: the removal, once it is made.
    """

    applied: AppliedAckQueue
    entry_removal: EntryRemoval

    def __init__(self, config: StreamConfig, context: StreamContext, proposer: StreamProposer) -> None:
        self.time = LogTime(context.host.clock)
        self.random = DeterministicRandom()
        self.states: StreamConsumers[ReplicatedConsumerState] = StreamConsumers()
        served = AccountOutput(context.account, context.host, context.label(config.name))
        self.output: StreamOutput = LeaderOutput(served, self.time)
        self._proposer = proposer
        self._host = context.host
        self._quota = context.limits.quota(config.storage, config.num_replicas)

    def deps(self, consumers: ServedConsumers[Any]) -> StreamDeps:
        """Return the log's time, random numbers and consumers, and a quota that only counts."""
        del consumers
        due = self._proposer.propose_expiry
        age = LogClock(self.time, lambda: due(entries.AGE))
        ttl = LogClock(self.time, lambda: due(entries.LIFETIMES))
        schedules = LogClock(self.time, self._proposer.propose_schedules)
        quota = CountingQuota(parent=self._quota)
        return StreamDeps(age, age, ttl, schedules, self.random.below, quota, self.states, alone=False)

    def ack_queue(self, store: StreamStore, events: CommitEvents) -> AppliedAckQueue:
        """Return what answers publishers when their entry is applied."""
        self.applied = AppliedAckQueue(self._host.executor, store, self.output, events.committed)
        return self.applied

    def removal(
        self,
        contents: StreamContents,
        consumers: ServedConsumers[Any],
        removed: Callable[[int, str], None],
    ) -> EntryRemoval:
        """Return what removes messages only as part of an entry."""
        turns, propose = self._host.turns, self._proposer.propose
        self.entry_removal = EntryRemoval(
            contents, turns, self.output, consumers, removed, self.time, propose
        )
        return self.entry_removal

    def receiver(self, ingest: Ingest) -> PublishReceiver:
        """Return the proposer: publishes go to the log first."""
        del ingest
        return self._proposer

    def origin_target(
        self, contents: StreamContents, ingest: Ingest, removal: MessageRemoval, stream: CommittedStream
    ) -> SourceProposals:
        """Return what proposes their messages."""
        del ingest, removal, stream
        return SourceProposals(self._host.executor, contents.store, self.time.next, self._proposer.propose)
