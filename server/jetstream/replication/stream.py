"""A stream that is driven by a log: the core of any stream, with the log in the place of its server.

Promises: its contents follow from the entries alone, so that all replicas hold the same after the same entry;
`applying_entry` is the only way in. Only while it leads does it subscribe, answer, deliver and propose; a
follower sends nothing to anybody. A store that fails ends the replica (`applying_entry` raises) and is never
ignored for a single message, since the replica would differ from the others.

An entry that takes long is applied in steps. The result is the same wherever they pause: nothing else changes
the stream meanwhile, and each part of the entry begins when the one before has ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamConfig
from ....protocol.errors import ApiError, api_error
from ....store.errors import StoreError
from ...slices import Slices, Steps, at_once
from ..consumers.core import Consumer
from ..consumers.start import choose, picks_last
from ..quota import Quota
from ..streams.context import StreamContext, StreamDeps
from ..streams.core import Ordered, Stream
from ..streams.publish_headers import ROLLUP
from ..streams.readers import Readers
from ..streams.subscriptions import StreamSubscriptions
from . import entry as entries
from .ack_queue import AppliedAckQueue
from .consumers import LeaderReplication, ReplicatedConsumerState
from .entry import Outcome
from .log_time import DeterministicRandom, LogClock, LogTime
from .proposals import PurgeProposals, SourceProposals
from .removal import EntryRemoval
from .source_entries import SourceEntries

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...accounts.subscription import Message, Publish
    from ...task_executor import Done
    from ..streams.commit import AckQueue
    from ..streams.origin_consumer import Origin

LARGE = 8192  # bytes of a message that may cause many removals


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


class Proposer(Protocol):
    """Takes what a leader wants to have agreed on."""

    def read(self, run: list[Publish]) -> None:
        """Propose publishes that came together."""

    def receive(self, message: Message) -> None:
        """Propose one publish."""

    def due(self, what: int) -> None:
        """Propose the removal of expired messages: AGE or LIFETIMES."""

    def order(self, entry: entries.Entry, done: Callable[[Outcome | Exception], None]) -> None:
        """Have an entry agreed on; `done` gets its result, or why it was not agreed on."""

    def change(
        self, name: str, base: int, whole: bool, change: bytes, done: Callable[[bool | None], None]
    ) -> None:
        """Propose a change of a consumer's state; see `consumers`."""

    def unused(self, consumer: Consumer) -> None:
        """Report a consumer that ended by itself because nobody used it (or because of `RemoveConsumer`)."""


class ReplicatedStream(Stream[Consumer]):
    """The stream of one replica.

    index: of the last entry applied.
    group: the group that the index belongs to.
    between: whether the next entry is applied in part, so that the contents belong to no index.
    proposer: takes proposals while this replica leads.
    """

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        context: StreamContext,
        created: int,
        *,
        proposer: Proposer,
        group: str = "",
    ) -> None:
        self.index = 0
        self.between = False
        self.group = group
        self.time = LogTime(context.host.clock)
        self.random = DeterministicRandom()
        self.states: Readers[ReplicatedConsumerState] = Readers()
        self._proposer = proposer
        self.source_proposals = SourceProposals(context.host.executor, self.time.next, proposer.order)
        super().__init__(config, store, context, created)
        self.source_entries: SourceEntries = SourceEntries(
            store, self.source_offsets, self.ingest, self.removals, self.store_failed
        )
        self.compacts = False  # space must not be returned before a checkpoint

    def _new_deps(self) -> StreamDeps:
        due = self._proposer.due
        age = LogClock(self.time, lambda: due(entries.AGE))
        ttl = LogClock(self.time, lambda: due(entries.LIFETIMES))
        config = self.config
        quota = CountingQuota(parent=self.context.limits.quota(config.storage, config.num_replicas))
        return StreamDeps(age, age, ttl, self.random.below, quota, self.states)

    def _removal(self) -> EntryRemoval:
        """Return a removal that works only as part of an entry."""
        self.removals = EntryRemoval(self.contents, self.host.turns, self)
        return self.removals

    def _new_ack_queue(self) -> AckQueue:
        self.applied = AppliedAckQueue(self.host.executor, self.send, self.send_each, self._after_applied)
        return self.applied

    def _after_applied(self) -> None:
        last = self.store.last_seq
        if self.leading:
            self._committed(last)
        else:
            self.committed_seq = last
            self.update_usage()

    # --- who it is

    @property
    def leading(self) -> bool:
        """Whether this replica leads."""
        return self.time.leading

    def start(self) -> None:
        """Begin as a follower: only entries enforce limits, and nothing is subscribed to."""
        self.update_usage()

    def beginning(self) -> Steps[None]:
        """Do the same as `start`, as steps."""
        self.start()
        yield from ()

    def start_sourcing(self) -> None:
        """Follow the origins, but only as the leader."""
        if self.leading:
            super().start_sourcing()

    def _new_subscriptions(self) -> StreamSubscriptions:
        """Return subscriptions whose publishes go to the log first."""
        return StreamSubscriptions(self.account, self._proposer.receive, self._proposer.read)

    def _wanted(self) -> list[str]:
        """Return the subjects to subscribe to: none, unless this replica leads."""
        return super()._wanted() if self.leading else []

    def _listen(self) -> None:
        at_once(self.subscriptions.changing(self._wanted()))

    def lead(self) -> None:
        """Serve the stream, as everything before this leadership is applied."""
        self.time.leading = True
        self.limits.rearm()
        self.expiry.rearm()
        for state in self.states.values():
            self._start_consumer(state)
        self.direct_get.configure(self.config)
        self._listen()
        self.start_sourcing()

    def follow(self) -> None:
        """Stop serving the stream, as another replica leads."""
        self.time.leading = False
        self._listen()
        for consumer in list(self.consumers.values()):
            consumer.retire()
            consumer.delivery_state.drop_all()
            self.removal.release(consumer.delivery_state.remains())
        self.consumers.clear()
        if self.sourcing is not None:
            self.sourcing.stop()
            self.sourcing = None
        self.direct_get.stop()
        self.limits.stop()
        self.expiry.stop()

    def abandon(self) -> None:
        """Stop, and leave on the disk only the last checkpoint."""
        self._silence()
        self.ack_queue.close()
        self.store.abandon()

    # --- what the core does otherwise

    def send(self, subject: str, header: bytes, body: bytes, *, own: bool = False) -> None:
        """Publish a message, if this replica leads."""
        if self.leading:
            super().send(subject, header, body, own=own)

    def send_each(self, messages: list[tuple[bytes, bytes]]) -> None:
        """Publish messages, if this replica leads."""
        if self.leading:
            super().send_each(messages)

    def store_failed(self, error: Exception) -> None:
        """Raise an error of the store, which ends this replica; any other is the same on all of them."""
        if isinstance(error, (StoreError, OSError)):
            raise error
        if self.leading:
            super().store_failed(error)

    def remove_acked(self, sequence: int, consumer: Consumer) -> None:
        """Do nothing yet: the message is removed when the replicas agree that it is acknowledged."""

    def remove_all_acked(self, sequences: list[int], consumer: Consumer) -> None:
        """Do nothing yet, as `remove_acked`."""

    def consumer_changed(self) -> None:
        """Do nothing yet: see `_add_consumer` and `_remove_consumer`."""

    def _save_offsets(self) -> None:
        """Do nothing: offsets are part of the replica's state."""

    # --- what is asked for, of the leader

    def order_purge(
        self, done: Callable[[Ordered], None], *, subject: str = "", up_to: int = 0, keep: int = 0
    ) -> None:
        """Propose a purge, in several entries if it is large."""
        wanted = entries.Purge(0, subject, up_to, keep)
        proposals = PurgeProposals(self.store, self.time, self._proposer.order, done, wanted)
        steps = self.prepared((subject,) if subject else ())
        Slices(self.host.turns, steps, lambda _: proposals.propose(), done)

    def order_delete(self, done: Callable[[Ordered], None], sequence: int, *, erase: bool) -> None:
        """Propose to remove a message."""
        self._proposer.order(entries.DeleteMsg(self.time.next(), sequence, erase), _answering(done))

    # --- what comes from other streams, to the leader

    def mirror(
        self, origin: Origin, sequence: int, subject: str, header: bytes, body: bytes, time: int
    ) -> None:
        """Propose a message of the mirror's origin."""
        self.source_proposals.add(
            entries.MirroredMsgs, (sequence, time, subject, header, body), origin.refused
        )

    def copy(self, origin: Origin, sequence: int, subject: str, header: bytes, body: bytes) -> None:
        """Propose a message of a source."""
        message = (origin.index, origin.identity, sequence, subject, header, body)
        self.source_proposals.add(entries.SourcedMsgs, message, origin.refused)

    def pass_by(self, sequence: int) -> None:
        """Propose to skip the sequences up to `sequence`."""

        def propose(error: BaseException | None) -> None:
            if error is not None or self.store.last_seq >= sequence:
                return
            now = self.time.next()
            if self.store.messages == 0:
                self._proposer.order(entries.Purge(now, "", sequence + 1, 0), _nothing)
            else:
                self._proposer.order(entries.Skip(now, sequence), _nothing)

        self.when_safe(propose)  # after the messages that an earlier attempt brought

    def reset_source(self, index: str) -> None:
        """Propose to forget how far a source was read."""
        self._proposer.order(entries.ForgetSource(self.time.next(), index), _nothing)

    def when_safe(self, done: Done) -> None:
        """Call `done` once all that came from origins so far is agreed on, or with an error if it is not."""
        self.source_proposals.after(done)

    # --- entries

    def applying_entry(self, index: int, data: bytes) -> Steps[Outcome]:
        """Apply an entry, unless it was applied before. Raises any error that ends this replica."""
        if index <= self.index:
            return None
        entry = entries.decode(data)
        self.time.pass_to(entry.time)
        self.random.begin(index)
        self.between = True
        outcome = yield from _APPLY[type(entry)](self, entry)
        yield from self.removals.finishing()
        self.between = False
        self.index = index
        return outcome

    def finish_entries(self, upto: int) -> None:
        """Send the answers of all entries up to `upto`, which have been applied."""
        self.index = max(self.index, upto)
        self.applied.flush()

    def _publishes(self, entry: entries.Publishes) -> Steps[Outcome]:
        run, start = entry.run, 0
        if len(run) == 1:
            self.ingest.read(run)
            return None
        for end in self._rests(run):
            self.ingest.read(run[start:end] if end - start < len(run) else run)
            yield from self.removals.finishing()
            if end % entries.RUN == 0:
                yield
            start = end
        return None

    def _rests(self, run: list[Publish]) -> list[int]:
        """Return where to pause: after every RUN publishes, and after each that may remove much."""
        ends = [*range(entries.RUN, len(run), entries.RUN), len(run)]
        if self.config.allow_rollup_hdrs or self.config.max_bytes > 0:
            much = [at for at, one in enumerate(run, 1) if one[3] > LARGE or (one[2] and ROLLUP in one[4])]
            ends = sorted({*ends, *much})
        return ends

    def _delete(self, entry: entries.DeleteMsg) -> Outcome:
        return self.delete_message(entry.sequence, erase=entry.erase)

    def _purge(self, entry: entries.Purge) -> Steps[Outcome]:
        return (yield from self.removal.purging(subject=entry.subject, up_to=entry.up_to, keep=entry.keep))

    def _expiry(self, entry: entries.Expire) -> Steps[Outcome]:
        if entry.what == entries.AGE:
            yield from self.limits.expiring()
        else:
            self.expiry.expire()
        return True

    def _configure(self, entry: entries.Configure) -> Steps[Outcome]:
        config = StreamConfig.from_json(json.loads(entry.config))
        yield from self.applying(config)
        if not self.leading:
            self.direct_get.stop()
        return True

    # --- consumers

    def _add_consumer(self, entry: entries.AddConsumer) -> Steps[Outcome]:
        config = ConsumerConfig.from_json(json.loads(entry.config))
        state = self.states.get(entry.name)
        if state is None:
            most, picks = self.config.max_msgs_per_subject, None
            if picks_last(config, most):
                picks = yield from self.store.picking(config.filters)
            if self.leading:
                yield from self.prepared(config.filters)
            self.states[entry.name] = state = ReplicatedConsumerState(entry.name, entry.created, config)
            state.begin(choose(config, self.store, most, picks))
            if self.leading:
                self._start_consumer(state)
            return True
        state.configure(config)
        self.states.refiltered(entry.name, self.store.last_seq)
        consumer = self.consumers.get(entry.name)
        if consumer is not None:
            consumer.update(config)
        self.remove_in_turns(self.removal.sweeping())
        return True

    def _start_consumer(self, state: ReplicatedConsumerState) -> None:
        """Deliver to a consumer's readers, from the position that the replicas agree on."""
        replication = LeaderReplication(state, self.clock, self.host.turns, self._proposer.change)
        consumer = Consumer(self, state.name, state.config, state.created, replication=replication)
        self.consumers[state.name] = consumer
        consumer.start(self._proposer.unused)

    def _remove_consumer(self, entry: entries.RemoveConsumer) -> Outcome:
        state = self.states.pop(entry.name, None)
        if state is None:
            return False
        consumer = self.consumers.pop(entry.name, None)
        if consumer is not None:
            consumer.delete()
        self.removal.release([state.state.pending, state.state.redelivered])
        self.remove_in_turns(self.removal.sweeping())
        return True

    def _change(self, entry: entries.ConsumerDelta) -> Steps[Outcome]:
        state = self.states.get(entry.name)
        if state is None or (not entry.whole and entry.base != state.version):
            return False
        store = self.store if self.retention.by_interest or self.retention.by_work else None
        acked = yield from state.changing(entry.change, store, entry.time, whole=entry.whole)
        yield from self.retention.all_acked(acked, state)
        return True


def _answering(done: Callable[[Ordered], None]) -> Callable[[Outcome | Exception], None]:
    """Return a callback that answers the requester, with JSClusterNotAvailErr when the outcome is unknown."""

    def finished(outcome: Outcome | Exception) -> None:
        done(outcome if isinstance(outcome, int | ApiError) else api_error("JSClusterNotAvailErr"))

    return finished


def _nothing(_: object) -> None:
    """Do nothing: an origin whose proposal was lost starts over by itself."""


def _whole(
    apply: Callable[[ReplicatedStream, Any], Outcome],
) -> Callable[[ReplicatedStream, Any], Steps[Outcome]]:
    """Return `apply` as a generator without pauses, for entries that take little time."""

    def steps(stream: ReplicatedStream, entry: Any) -> Steps[Outcome]:
        yield from ()
        return apply(stream, entry)

    return steps


_APPLY: dict[type[Any], Callable[[ReplicatedStream, Any], Steps[Outcome]]] = {
    entries.Publishes: ReplicatedStream._publishes,
    entries.DeleteMsg: _whole(ReplicatedStream._delete),
    entries.Purge: ReplicatedStream._purge,
    entries.Expire: ReplicatedStream._expiry,
    entries.Configure: ReplicatedStream._configure,
    entries.AddConsumer: ReplicatedStream._add_consumer,
    entries.RemoveConsumer: _whole(ReplicatedStream._remove_consumer),
    entries.ConsumerDelta: ReplicatedStream._change,
    entries.MirroredMsgs: lambda stream, entry: stream.source_entries.mirrored(entry),
    entries.SourcedMsgs: lambda stream, entry: stream.source_entries.copied(entry),
    entries.Skip: _whole(lambda stream, entry: stream.source_entries.skip(entry)),
    entries.ForgetSource: _whole(lambda stream, entry: stream.source_entries.forget(entry)),
}
