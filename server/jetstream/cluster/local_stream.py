"""LocalStream: one stream of the cluster on this server, replicated or not.

A stream with one copy (R1) is a plain `Stream`; one with more has a `ReplicaMembership` in its group.

Promises:
- What is served here is what the meta group assigned, in one of these two forms at a time.
- Nothing that was acknowledged gets lost in the conversion from one to the other.
- `close` leaves nothing of the stream on the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....protocol.api.stream import StreamConfig
from ....protocol.errors import ApiError, api_error
from ....store.errors import StoreError
from ...cluster.announce import node_of
from ..account.document import ClusterMark
from ..account.stream_closer import StreamCloser
from ..consumers import lifecycle
from ..meta.command import PeersConfirmed
from ..meta.health import HOPELESS
from ..replication import conversion
from ..replication.membership import ReplicaMembership
from . import advisories, r1
from .leadership import Leadership, has_begun
from .local_info import LocalStreamContext, LocalStreamView
from .replica_files import StreamFiles

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ..account.account import JetStreamAccount
    from ..consumers.core import Consumer
    from ..meta.assignment import ConsumerAssignment, StreamAssignment
    from ..meta.reconcile import ChangeReplica
    from ..replication import Replica
    from ..replication.entry import Entry, Outcome
    from ..replication.stream import ReplicatedStream
    from ..streams.core import Stream

_EVERY = 4  # ticks between two checks of what is to be done
_CONTACT = 6  # ticks within which a member should have answered its leader


class LocalStream(LocalStreamView):
    """One stream in the form that it has here, and its conversion to the other form."""

    def __init__(
        self, context: LocalStreamContext, account: JetStreamAccount, assignment: StreamAssignment
    ) -> None:
        super().__init__(context, account, assignment)
        self.opening: r1.StreamOpening | None = None
        self._leadership = Leadership(self)
        self.unused = self._leadership.unused
        self._led = False
        self._ticks = 0
        self._hopeless = False  # whether it was logged that no server has what is missing here
        self._reserved: StreamConfig | None = None
        self._changing = False  # whether the conversion to R1 is under way

    # --- opening

    def open(self, *, lost: bool, consumers: list[ConsumerAssignment]) -> None:
        """Open the stream with nothing on the disk. lost: it was here before.

        Raises ApiError, OSError, StoreError.
        """
        if lost:
            others = self.assignment.replicated
            begun = (
                "is started again, from what the others have"
                if others
                else "was the only copy, and begins empty"
            )
            self.warn(f"was here, and is not any more: it {begun}")
        if self.assignment.replicated:
            self._join(self.assignment.group)
            return
        config = self._config()
        self.account.marks[self.name] = ClusterMark(self.assignment.group)
        staged = self.account.staged.pop(self.name, None)
        if staged is not None:  # its consumers are decided on next
            self._serve(staged.adopt(self.assignment.created, self.ended))
            return
        stream = self.account.make(config, self.assignment.created)
        self._serve(stream)
        r1.sync_consumers(self, stream, consumers, self.ended)

    def open_from_disk(self, consumers: list[ConsumerAssignment], done: Callable[[str], None]) -> None:
        """Open the stream as it is on the disk; `done` is called with "", or why that is not possible.

        Raises StoreError if the document cannot be read, and otherwise what opening the stream raises.
        """
        found = self.account.directory.read_stream(self.name)
        if found is None or found.document is None:
            raise StoreError("it cannot be read" if found is None else found.damage)
        mark = ClusterMark.of(found.document)
        if mark is not None and mark.replicated:
            self._recover_replica(mark.group)
            done("")
            return
        self.account.marks[self.name] = ClusterMark(self.assignment.group if mark is None else mark.group)

        def opened(stream: Stream[Consumer]) -> None:
            self.opening, why = None, ""
            self._serve(stream)
            r1.sync_consumers(self, stream, consumers, self.ended)
            try:
                if self.assignment.replicated:
                    self._start_group()
            except (OSError, StoreError) as error:
                why = str(error)
            done(why)

        self.opening = r1.StreamOpening(self, found, self.ended, opened, done)
        self.opening.start()

    def _recover_replica(self, group: str) -> None:
        """Go on as a member of the group, or as an R1 stream if the group has ended."""
        ours = self.assignment.replicated and group == self.assignment.group
        if ours or self.environment.incarnations(group).begun():
            self._join(group)
            return
        self._reserve(self._config())
        self._alone(self._membership(group).local.open())

    def _join(self, group: str, store: StreamStore | None = None) -> None:
        """Join the group. store: what a new group is bootstrapped over."""
        self.leader_since = self.environment.clock.now()
        self.membership = self._membership(group, store)
        self._reserve(self._config())
        self.membership.start()
        self.environment.ticker.add(self._tick)

    def _membership(self, group: str, store: StreamStore | None = None) -> ReplicaMembership:
        context, files = self.account.context(self.name), StreamFiles(self.account, self.name)
        return ReplicaMembership(context, files, self.environment, self, group, store)

    def _serve(self, stream: Stream[Consumer]) -> None:
        """Serve an R1 stream."""
        self.stream = stream
        self._reserved = stream.config
        if not has_begun(self.assignment):
            self._confirm_alone()
            self.environment.ticker.add(self._tick)
        self.announce_served()

    def _start_group(self) -> None:
        """Convert an R1 stream to the first replica of a group. Raises OSError, StoreError."""
        stream = self.stream
        assert stream is not None
        self.account.streams.pop(self.name, None)
        self.stream = None
        self._join(self.assignment.group, conversion.scale_up(stream, self.assignment.group))

    def _config(self) -> StreamConfig:
        return StreamConfig.from_json(self.assignment.config)

    def _reserve(self, config: StreamConfig | None) -> None:
        """Reserve the bytes of this configuration, instead of those reserved before."""
        if self._reserved is not None:
            self.account.reserve(self._reserved, -1)
        self._reserved = config
        if config is not None:
            self.account.reserve(config, 1)

    # --- changes

    def change(self, action: ChangeReplica) -> None:
        """Take over another configuration, or other peers. Raises ApiError, OSError, StoreError."""
        self.assignment = action.stream
        config = self._config()
        if self.membership is not None:
            if action.before.config != action.stream.config:
                self._reserve(config)
                if config.storage == "file":
                    self.account.write_document(config, self.assignment.created)
                self._leadership.configured()
            return
        stream = self.stream
        if stream is None:
            return
        if action.before.config != action.stream.config:
            self.account.change(stream, config)
            self._reserved = config
            self.announce_served()
        if self.assignment.replicated:
            self._start_group()
        elif not has_begun(self.assignment):
            self._confirm_alone()
            self.environment.ticker.add(self._tick)

    def _dissolve(self) -> None:
        """Begin to convert the stream to R1, because this server is and stays its group's only member."""
        membership = self.membership
        if membership is None or self._changing:
            return
        self._changing = True
        membership.release(self._alone)

    def _alone(self, replica: Replica) -> None:
        """Convert the replica of a group that has ended to an R1 stream."""
        self._changing = False
        if self.closed:
            replica.stop()
            return
        self.membership = None
        cluster_mark = self.account.marks[self.name]
        try:
            self.stream = conversion.scale_down(replica, self.account.streams, self.ended)
            self.account.marks[self.name] = ClusterMark(cluster_mark.group)
            if self.stream.config.storage == "file":
                offsets = self.stream.source_offsets.to_json()
                self.account.write_document(self.stream.config, self.assignment.created, offsets)
            if self.assignment.replicated:
                self._start_group()
                return
        except (ApiError, OSError, StoreError) as error:
            self.error = str(error)
            self.warn(f"cannot go on by itself: {self.error}")
            return
        r1.sync_consumers(self, self.stream, self.consumers(), self.ended)
        self._confirm_alone()

    # --- the end

    def close(self, gone: bool, done: Callable[[], None]) -> None:
        """Close the stream and delete what is here. gone: the stream is deleted; otherwise others keep it."""
        announces = gone and self.leads()
        self._end()

        def removed() -> None:
            self.account.marks.pop(self.name, None)
            try:
                if self.assignment.storage == "file":
                    self.account.remove_files(self.name)
            except OSError as error:
                self.warn(f"cannot be removed: {error}")
            if announces:
                self.announce_deleted()
            done()

        membership, self.membership = self.membership, None
        if membership is not None:
            self.account.streams.pop(self.name, None)
            self._reserve(None)
            membership.delete(removed)
            return
        if self.name in self.account.streams:
            self._reserved = None
            try:
                self.account.remove(self.name)
            except ApiError as error:
                self.warn(f"cannot be removed: {error.description}")
        removed()

    def stop(self, done: Callable[[], None]) -> None:
        """Close the stream; its files stay."""
        opening, self.opening = self.opening, None
        if opening is not None:
            opening.stop(lambda: self.stop(done))
            return
        self._end()
        self.account.streams.pop(self.name, None)
        self._reserve(None)
        membership, self.membership = self.membership, None
        if membership is not None:
            membership.stop(done)
            return
        StreamCloser(self.account.host.executor, [] if self.stream is None else [self.stream], done)

    def _end(self) -> None:
        self.closed = True
        self.environment.ticker.remove(self._tick)

    # --- consumers

    def consumer_made(self, consumer: ConsumerAssignment) -> None:
        """Create or change a consumer; one that is already as decided stays as it is."""
        if self.membership is not None:
            self._leadership.consumer_made(consumer)
        elif self.stream is not None:
            r1.sync_consumer(self, self.stream, consumer, self.ended)

    def consumer_changed(self, consumer: ConsumerAssignment) -> None:
        """Change a consumer's configuration."""
        self.consumer_made(consumer)

    def consumer_gone(self, consumer: ConsumerAssignment) -> None:
        """Remove a consumer."""
        if self.membership is not None:
            self._leadership.consumer_gone(consumer)
        elif self.stream is not None:
            there = self.stream.consumers.get(consumer.name)
            if there is not None and there.created == consumer.created:
                there.delete()
            elif consumer.name in self.stream.consumers.offline:
                try:
                    lifecycle.remove_offline(self.stream, consumer.name)
                except ApiError as error:
                    self.warn(f"keeps files of consumer '{consumer.name}': {error.description}")
            self.announce_deleted(consumer.name)

    def ended(self, consumer: Consumer) -> None:
        """Remove a consumer of an R1 stream that has ended, and ask the meta group to delete it."""
        lifecycle.remove(consumer.stream, consumer)
        if not self.closed:
            self._leadership.unused(consumer)
            self.environment.ticker.add(self._tick)

    # --- MembershipListener

    def opened(self, stream: ReplicatedStream) -> None:
        """See MembershipListener."""
        self.stream = self.account.streams[self.name] = stream

    def leading(self) -> None:
        """See MembershipListener: announce that this server leads, and begin a leader's duties."""
        self._led = True
        label = f"{self.account.name} > {self.name}"
        self.environment.log.info(f"JetStream cluster new stream leader for '{label}'")
        self._leadership.begin()
        advisories.leader_elected(self)
        self.account.appeared(self.name)
        self.announce_served()

    def following(self) -> None:
        """See MembershipListener: log and publish a lost quorum."""
        membership = self.membership
        group = None if membership is None else membership.group
        if self._led and group is not None and not group.leader:
            reached = {member for member, silent in group.peers.silence().items() if silent <= _CONTACT}
            if len((reached | {group.member}) & group.members.voters) < group.members.quorum:
                self.warn("has NO quorum, stalled")
                advisories.quorum_lost(self)
        self._led = False

    def leader_changed(self) -> None:
        """See MembershipListener."""
        membership = self.membership
        group = None if membership is None else membership.group
        leader = "" if group is None else group.leader
        if bool(leader) != bool(self.leader) or leader:
            self.leader_since = self.environment.clock.now()
        self.leader = leader
        self.had_leader = self.had_leader or bool(leader)

    # --- time

    def _tick(self) -> None:
        self._ticks += 1
        membership = self.membership
        if membership is not None and membership.leads and self._ticks % _EVERY:
            self._leadership.confirm_peers(again=False)
            return
        if self._ticks % _EVERY:
            return
        if membership is None:
            if not has_begun(self.assignment):
                self._confirm_alone()
            elif not self._leadership.ask_deletions():
                self.environment.ticker.remove(self._tick)
            return
        hopeless = membership.local.hopeless
        if hopeless and not self._hopeless:
            self.warn(f"has no leader: {HOPELESS}")
        self._hopeless = hopeless
        if membership.leads:
            self._leadership.tick()
            if self._has_ended(membership):
                self._dissolve()

    def _has_ended(self, membership: ReplicaMembership) -> bool:
        """Return whether the group is not needed any more: this server is and stays its only member."""
        group, assignment = membership.group, self.assignment
        if assignment.replicated and assignment.group == membership.name:
            return False
        return group is not None and group.members.all == frozenset({group.member})

    def _confirm_alone(self) -> None:
        """Report to the meta group that the only copy is here, and on the disk."""
        if not self.assignment.replicated and self.stream is not None:
            self.context.forward(PeersConfirmed(self.assignment.account, self.name, self.assignment.placed))

    def server_lost(self, server_id: str) -> None:
        """Note that there is no route to the server of that id any more."""
        if self.membership is not None:
            self.membership.member.server_lost(server_id)

    # --- orders

    def order(self, entry: Entry, done: Callable[[Outcome | Exception], None]) -> None:
        """Have an entry agreed on, if the stream is replicated and led here; `done` gets its result."""
        membership = self.membership
        if membership is None or membership.replica is None or not membership.leads:
            done(api_error("JSClusterNotAvailErr"))
        else:
            membership.replica.proposals.propose(entry, done)

    def step_down(self, preferred: str, done: Callable[[ApiError | None], None]) -> None:
        """Hand the lead to `preferred` (a meta member), or else to the member that has most of the log.

        `done` is called at once; whether there is another leader is known only later.
        """
        group = None if self.membership is None else self.membership.group
        if group is not None and group.ready:
            node = node_of(preferred)
            alive = group.members.voters & group.peers.alive() - {group.member}
            chosen = [voter for voter in alive if preferred and node_of(voter) == node]
            if chosen:
                group.leadership.transfer(chosen[0])
            else:
                group.leadership.resign()
        done(None)
