"""A stream that is driven by a log: the core of any stream, with the log in the place of its server.

Promises: what it holds follows from the entries alone, so that all replicas hold the same after the same
entry; `applying_entry` is the only way in. Only while it leads does it listen, answer, deliver and propose;
a follower says nothing to anybody. A store that fails ends the replica (`applying_entry` raises), never just
one message: it would not be like the others any more.

An entry is applied in steps where that takes long. What comes of it is the same wherever they rest: nothing
else changes what the stream holds meanwhile, and each part of it begins when the one before has ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamConfig
from ....protocol.errors import ApiError, api_error
from ....store.errors import StoreError
from ...slices import Steps, at_once
from ..consumers.core import Consumer
from ..consumers.start import choose, picks_last
from ..quota import Quota
from ..streams.core import Ordered, Stream
from ..streams.ingest import Duplicate
from ..streams.publish_headers import ROLLUP
from ..streams.readers import Readers
from ..streams.source_offsets import SourceOffset
from ..streams.subscriptions import StreamSubscriptions
from ..streams.validation.environment import StreamDeps
from . import entry as entries
from .ack_queue import AppliedAckQueue
from .consumer_replication import LeaderReplication
from .consumer_state import ReplicatedConsumerState
from .deterministic_random import DeterministicRandom
from .logtime import LogClock, LogTime
from .purge import ReplicatedPurge
from .removal import EntryRemoval
from .source_proposals import SourceProposals

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...accounts.message import Message
    from ...accounts.subscription import Publish
    from ..account.account import JetStreamAccount
    from ..streams.commit import AckQueue, Done
    from ..streams.origin_consumer import Origin
    from ..streams.source import SourceOrigin

RUN = 512  # publishes of one step
LARGE = 8192  # bytes of a message that may push out many

# What an entry came to, for who proposed it: a number or True; an ApiError; None: nothing to tell.
Outcome = int | bool | ApiError | None


class CountingQuota(Quota):
    """Counts what is used and refuses nothing: room is judged by the leader before it proposes."""

    __slots__ = ()

    @property
    def guarded(self) -> bool:
        """Never: servers are not equally full."""
        return False

    def refusal(self, size: int, copies: int = 1) -> ApiError | None:
        """Never."""
        del size, copies
        return None


class Proposer(Protocol):
    """Where a leader hands in what is to be agreed on."""

    def read(self, run: list[Publish]) -> None:
        """Publishes that came together."""

    def receive(self, message: Message) -> None:
        """One publish."""

    def due(self, what: int) -> None:
        """Something has come to its end: AGE or LIFETIMES."""

    def order(self, entry: entries.Entry, done: Callable[[Outcome | Exception], None]) -> None:
        """Have an entry agreed on; `done` gets what it came to, or why it was not."""

    def change(
        self, name: str, base: int, whole: bool, change: bytes, done: Callable[[bool | None], None]
    ) -> None:
        """What a consumer did; see `relay`."""

    def unused(self, consumer: Consumer) -> None:
        """A consumer has ended by itself, since nobody used it (or `RemoveConsumer` ended it)."""


class ReplicatedStream(Stream):
    """One replica. index: of the last entry applied, group: whose entry that is. between: whether another one
    is applied in part: what the stream holds is of no index then.

    desk: takes, while it leads, what is to be proposed.
    """

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        account: JetStreamAccount,
        created: int,
        *,
        desk: Proposer,
        group: str = "",
    ) -> None:
        self.index = 0
        self.between = False
        self.group = group
        self.time = LogTime(account.host.clock)
        self.dice = DeterministicRandom()
        self.standings: Readers[ReplicatedConsumerState] = Readers()
        self._desk = desk
        self.arrivals = SourceProposals(account.host.runner, self.time.next, desk.order)
        super().__init__(config, store, account, created)

    def _rules(self) -> StreamDeps:
        due = self._desk.due
        age = LogClock(self.time, lambda: due(entries.AGE))
        ttl = LogClock(self.time, lambda: due(entries.LIFETIMES))
        config = self.config
        quota = CountingQuota(parent=self.account.quota(config.storage, config.num_replicas))
        return StreamDeps(age, age, ttl, self.dice.below, quota, self.standings)

    def _removal(self) -> EntryRemoval:
        """Together with an entry."""
        self.removals = EntryRemoval(self)
        return self.removals

    def _settler(self) -> AckQueue:
        self.applied = AppliedAckQueue(self.host.runner, self.send, self.send_each, self._settled)
        return self.applied

    def _settled(self) -> None:
        last = self.store.last_seq
        if self.leading:
            self._committed(last)
        else:
            self.committed_seq = last
            self.settle()

    # --- who it is

    @property
    def leading(self) -> bool:
        """Whether this replica leads."""
        return self.time.leading

    def start(self) -> None:
        """Begin as a follower: nothing is enforced but by entries, nothing heard."""
        self.settle()

    def beginning(self) -> Steps[None]:
        """As `start`."""
        self.start()
        yield from ()

    def start_inflow(self) -> None:
        """Follow origins only as the leader."""
        if self.leading:
            super().start_inflow()

    def _hearing(self) -> StreamSubscriptions:
        """What is heard goes to the log first."""
        return StreamSubscriptions(self.account.account, self._desk.receive, self._desk.read)

    def _wanted(self) -> list[str]:
        """Hear the subjects only as the leader."""
        return super()._wanted() if self.leading else []

    def _listen(self) -> None:
        at_once(self.hearing.changing(self._wanted()))

    def lead(self) -> None:
        """Everything before this leadership is applied: speak for the stream."""
        self.time.leading = True
        self.limits.rearm()
        self.expiry.rearm()
        for standing in self.standings.values():
            self._man(standing)
        self.direct.configure()
        self._listen()
        self.start_inflow()

    def follow(self) -> None:
        """Another leads: be silent."""
        self.time.leading = False
        self._listen()
        for consumer in list(self.consumers.values()):
            consumer.retire()
            consumer.ledger.drop_all()
            self.removal.release(consumer.ledger.remains())
        self.consumers.clear()
        if self.inflow is not None:
            self.inflow.stop()
            self.inflow = None
        self.direct.stop()
        self.limits.stop()
        self.expiry.stop()

    def abandon(self) -> None:
        """Stop and leave on the disk only what the last checkpoint left."""
        self._silence()
        self.committer.close()
        self.store.abandon()

    # --- what the core does otherwise

    def send(self, subject: str, header: bytes, body: bytes, *, own: bool = False) -> None:
        """Publish, as the leader."""
        if self.leading:
            super().send(subject, header, body, own=own)

    def send_each(self, messages: list[tuple[bytes, bytes]]) -> None:
        """Publish, as the leader."""
        if self.leading:
            super().send_each(messages)

    def troubled(self, error: Exception) -> None:
        """A fault of the store ends this replica; any other is the same on all of them."""
        if isinstance(error, (StoreError, OSError)):
            raise error
        if self.leading:
            super().troubled(error)

    def _tidy(self) -> None:
        """Nothing by itself: what is given back must not run ahead of what is kept."""

    def remove_acked(self, sequence: int, consumer: Consumer) -> None:
        """Nothing yet: the message goes when the replicas agree that it is acknowledged."""

    def remove_all_acked(self, sequences: list[int], consumer: Consumer) -> None:
        """The same."""

    def consumer_changed(self) -> None:
        """Nothing yet: see `_seat` and `_unseat`."""

    def _save_positions(self) -> None:
        """Nothing: they are part of the replica's state."""

    # --- what is asked for, of the leader

    def order_purge(
        self, done: Callable[[Ordered], None], *, subject: str = "", up_to: int = 0, keep: int = 0
    ) -> None:
        """Propose to purge, in several entries if it is much."""
        ReplicatedPurge(self, self._desk.order, done, entries.Purge(0, subject, up_to, keep))

    def order_delete(self, done: Callable[[Ordered], None], sequence: int, *, erase: bool) -> None:
        """Propose to remove a message."""
        self._desk.order(entries.DeleteMsg(self.time.next(), sequence, erase), _told(done))

    # --- what comes from other streams, to the leader

    def mirror(
        self, link: Origin, sequence: int, subject: str, header: bytes, body: bytes, time: int
    ) -> None:
        """Propose a message of the mirror's origin."""
        self.arrivals.add(entries.MirroredMsgs, (sequence, time, subject, header, body), link.refused)

    def copy(self, link: SourceOrigin, sequence: int, subject: str, header: bytes, body: bytes) -> None:
        """Propose a message of a source."""
        message = (link.index, link.identity, sequence, subject, header, body)
        self.arrivals.add(entries.SourcedMsgs, message, link.refused)

    def pass_by(self, sequence: int) -> None:
        """Propose to use up sequences."""

        def propose(error: BaseException | None) -> None:
            if error is not None or self.store.last_seq >= sequence:
                return
            now = self.time.next()
            if self.store.messages == 0:
                self._desk.order(entries.Purge(now, "", sequence + 1, 0), _nothing)
            else:
                self._desk.order(entries.Skip(now, sequence), _nothing)

        self.when_safe(propose)  # after what an earlier attempt brought

    def begin_source_anew(self, index: str) -> None:
        """Propose to forget a source's position."""
        self._desk.order(entries.ForgetSource(self.time.next(), index), _nothing)

    def when_safe(self, done: Done) -> None:
        """Call `done` once all that came so far is agreed on."""
        self.arrivals.after(done)

    # --- entries

    def applying_entry(self, index: int, data: bytes) -> Steps[Outcome]:
        """Apply an entry; one that was applied before does nothing. Raises what ends this replica."""
        if index <= self.index:
            return None
        entry = entries.decode(data)
        self.time.pass_to(entry.time)
        self.dice.begin(index)
        self.between = True
        outcome = yield from _APPLY[type(entry)](self, entry)
        yield from self.removals.finishing()
        self.between = False
        self.index = index
        return outcome

    def settle_entries(self, upto: int) -> None:
        """All entries up to `upto` were given: tell of what they came to."""
        self.index = max(self.index, upto)
        self.applied.settle()

    def _publishes(self, entry: entries.Publishes) -> Steps[Outcome]:
        run, start = entry.run, 0
        if len(run) == 1:
            self.ingest.read(run)
            return None
        for end in self._rests(run):
            self.ingest.read(run[start:end] if end - start < len(run) else run)
            yield from self.removals.finishing()
            if end % RUN == 0:
                yield
            start = end
        return None

    def _rests(self, run: list[Publish]) -> list[int]:
        """Where to rest in a run: after so many, and after each that may remove much."""
        ends = [*range(RUN, len(run), RUN), len(run)]
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
            self.direct.stop()
        return True

    def _skip(self, entry: entries.Skip) -> Outcome:
        self.store.skip_to(entry.last)
        return True

    def _mirrored(self, entry: entries.MirroredMsgs) -> Steps[Outcome]:
        stored = 0
        for sequence, time, subject, header, body in entry.messages:
            if sequence > self.store.last_seq:  # a leader may have asked again for what came already
                self.ingest.replicate(sequence, subject, header, body, time)
                stored += 1
                yield from self.removals.finishing()
                if stored % RUN == 0:
                    yield
        return stored

    def _copied(self, entry: entries.SourcedMsgs) -> Steps[Outcome]:
        """Store what came from sources; ends at the first refusal, which is given."""
        stored = 0
        for index, identity, sequence, subject, header, body in entry.messages:
            known = self.positions.of(index)
            if known is not None and known.identity == identity and sequence <= known.sequence:
                continue
            try:
                copy = self.ingest.store(subject, header, body, sourced=True)
                stored += 1
            except Duplicate as duplicate:
                copy = duplicate.sequence
            except ApiError as error:
                return error
            except Exception as error:  # one message must not end all replicas
                self.troubled(error)
                return api_error("JSStreamStoreFailedF", err=str(error) or type(error).__name__)
            self.positions.note(index, SourceOffset(sequence, identity), copy)
            yield from self.removals.finishing()
            if stored % RUN == 0:
                yield
        return stored

    def _forget(self, entry: entries.ForgetSource) -> Outcome:
        self.positions.forget(entry.source)
        return True

    # --- consumers

    def _seat(self, entry: entries.AddConsumer) -> Steps[Outcome]:
        config = ConsumerConfig.from_json(json.loads(entry.config))
        standing = self.standings.get(entry.name)
        if standing is None:
            most, picks = self.config.max_msgs_per_subject, None
            if picks_last(config, most):
                picks = yield from self.store.picking(config.filters)
            if self.leading:
                yield from self.prepared(config.filters)
            self.standings[entry.name] = standing = ReplicatedConsumerState(entry.name, entry.created, config)
            standing.begin(choose(config, self.store, most, picks))
            if self.leading:
                self._man(standing)
            return True
        standing.configure(config)
        self.standings.refiltered(entry.name, self.store.last_seq)
        consumer = self.consumers.get(entry.name)
        if consumer is not None:
            consumer.update(config)
        self.let_go(self.removal.sweeping())
        return True

    def _man(self, standing: ReplicatedConsumerState) -> None:
        """Deliver to a consumer's readers, from where the replicas agree that it stands."""
        post = LeaderReplication(standing, self.clock, self.host.turns, self._desk.change)
        consumer = Consumer(self, standing.name, standing.config, standing.created, post=post)
        self.consumers[standing.name] = consumer
        consumer.start(self._desk.unused)

    def _unseat(self, entry: entries.RemoveConsumer) -> Outcome:
        standing = self.standings.pop(entry.name, None)
        if standing is None:
            return False
        consumer = self.consumers.pop(entry.name, None)
        if consumer is not None:
            consumer.delete()
        self.removal.release([standing.state.pending, standing.state.redelivered])
        self.let_go(self.removal.sweeping())
        return True

    def _change(self, entry: entries.ConsumerDelta) -> Steps[Outcome]:
        standing = self.standings.get(entry.name)
        if standing is None or (not entry.whole and entry.base != standing.version):
            return False
        store = self.store if self.interest.by_interest or self.interest.by_work else None
        acked = yield from standing.changing(entry.change, store, entry.time, whole=entry.whole)
        yield from self.interest.all_acked(acked, standing)
        return True


def _told(done: Callable[[Ordered], None]) -> Callable[[Outcome | Exception], None]:
    """Tell who asked; of what nobody knows, that the cluster could not say."""

    def finished(outcome: Outcome | Exception) -> None:
        done(outcome if isinstance(outcome, int | ApiError) else api_error("JSClusterNotAvailErr"))

    return finished


def _nothing(_: object) -> None:
    """A link that was not heard begins again by itself."""


def _whole(
    apply: Callable[[ReplicatedStream, Any], Outcome],
) -> Callable[[ReplicatedStream, Any], Steps[Outcome]]:
    """As steps, of which there are none: it takes little."""

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
    entries.AddConsumer: ReplicatedStream._seat,
    entries.RemoveConsumer: _whole(ReplicatedStream._unseat),
    entries.ConsumerDelta: ReplicatedStream._change,
    entries.MirroredMsgs: ReplicatedStream._mirrored,
    entries.SourcedMsgs: ReplicatedStream._copied,
    entries.Skip: _whole(ReplicatedStream._skip),
    entries.ForgetSource: _whole(ReplicatedStream._forget),
}
