"""ReplicaMembership: this server's replica of a stream, and its membership in the stream's group.

Promises: a replica is opened over what its disk holds for certain. One that was found damaged is set aside;
it is never served, and no other replica gets anything from it. A new one catches up from the others. A
replica that cannot lead resigns. The bytes of proposals under way have a bound (`full`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ....protocol.api.stream import StreamConfig
from ....store.errors import StoreError
from ...cluster.announce import node_of
from ...cluster.member import RaftMember
from ...cluster.proposals import ProposalLostError
from . import Replica, conversion
from .catchup import CatchupError, CatchupMismatchError, CatchupRequests, CatchupSenderError
from .entry import ResetStream, encode
from .group_peers import AssignmentView, GroupAssignment, GroupPeers
from .opening import FailedReplica, ReplicaFiles, ReplicaOpener
from .state import ReplicaStateError

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...cluster.member import GroupEnvironment
    from ...cluster.raft_node import RaftNode
    from ...cluster.state_machine import StateMachine
    from ..consumers.core import Consumer
    from ..streams.context import StreamContext
    from .stream import ReplicatedStream

MOST_UNDER_WAY = 64 << 20  # bytes proposed and not agreed on yet
_AGAIN = 20  # ticks after which a failed replica is opened again
_RESIGN = 8  # ticks between two attempts to let another member lead


class MembershipListener(AssignmentView, Protocol):
    """Knows what was decided about the stream, and is called when something changes here."""

    def opened(self, stream: ReplicatedStream) -> None:
        """The stream is from now on this object."""

    def leading(self) -> None:
        """The replica here leads, and serves the stream."""

    def following(self) -> None:
        """The replica here no longer leads."""

    def leader_changed(self) -> None:
        """The group has another leader, or none."""


class ReplicaMembership:
    """A server's replica of one stream: the listener of its group, and the log and owner of the replica.

    name: the group's.
    replica: None while there is none.
    failure: why there is no replica, "" while there is one.
    """

    def __init__(
        self,
        context: StreamContext,
        files: ReplicaFiles,
        environment: GroupEnvironment,
        listener: MembershipListener,
        group: str,
        unused: Callable[[Consumer], None],
        store: StreamStore | None = None,
    ) -> None:
        """context, files: the stream's. environment: of the groups on this server. group: its name.

        unused: is called with a consumer that nobody uses any more.
        store: what the group is bootstrapped over; None for what the disk has.
        """
        self.name = group
        self.replica: Replica | None = None
        self.failure = ""
        self._context = context
        self._environment = environment
        self._listener = listener
        self._unused = unused
        self._label = f"{context.account.name} > {listener.assignment.config['name']}"
        self._peers = GroupPeers(listener, group, environment.node)
        self._member = self._new_member()
        transport = environment.transport
        self._catch_up = CatchupRequests(
            self.name,
            transport,
            self._answer,
            self._answered,
            lambda: self._peers.to_ask(self.group),
            lambda: not self.catching_up,
        )
        self._opener = ReplicaOpener(files, group, self._over, self._damaged, self._log_error, store)
        self._under_way = 0
        self._again = 0  # ticks until the replica is opened again; 0 if it need not be
        self._ticks = self._next_resign = 0
        self._leaving = False
        self._then: Callable[[], None] | None = None

    # --- lifecycle

    def start(self) -> None:
        """Join the group; the replica is opened once its incarnation is known."""
        self._environment.ticker.add(self._tick)
        self._catch_up.start()
        self._member.start()

    def stop(self, done: Callable[[], None]) -> None:
        """Resign as leader and leave the group. By `done`, all that was applied is on the disk."""

        def left() -> None:
            self._drop()
            done()

        group = self.group
        if group is None or not group.ready or self._leaving:
            self._end(left)
            return
        group.resign()
        soon = self._environment.executor.soon
        soon(lambda: soon(lambda: self._end(left)))  # once the resignation has been sent

    @property
    def damage(self) -> str:
        """Why the replica has to be filled again, "" if it need not."""
        return self._opener.damage

    def delete(self, done: Callable[[], None]) -> None:
        """Leave the group, and remove its files and the messages, but not the document."""

        def left() -> None:
            self._environment.executor.work(self._member.erase, erased)

        def erased(error: BaseException | None) -> None:
            if error is not None:
                self._log_error(f"what is left of its group cannot be removed: {error}")
            replica, self.replica = self.replica, None
            if replica is not None:
                try:
                    replica.delete()
                except (OSError, StoreError) as cause:
                    self._log_error(f"its messages cannot be removed: {cause}")
            done()

        self._end(left)

    def release(self, done: Callable[[Replica], None]) -> None:
        """Leave a group whose only member this is; `done` gets the replica, with everything on the disk."""
        replica = self.replica
        assert replica is not None

        def left() -> None:
            try:
                replica.write_out()
            except (OSError, StoreError) as cause:
                self._log_error(f"it cannot be written: {cause}")
                self._environment.executor.soon(self._renew)
                return
            self._environment.executor.work(self._member.erase, erased)

        def erased(error: BaseException | None) -> None:
            if error is not None:
                self._log_error(f"what is left of its group cannot be removed: {error}")
                self._renew()
            else:
                self.replica = None
                done(replica)

        self._end(left)

    def _end(self, then: Callable[[], None]) -> None:
        self._environment.ticker.remove(self._tick)
        self._catch_up.stop()
        self._leave(then)

    def _leave(self, then: Callable[[], None]) -> None:
        """Leave the group, then call what was given last."""
        self._then = then
        if not self._leaving:
            self._leaving = True
            self._member.stop(self._left)

    def _left(self) -> None:
        then, self._then, self._leaving = self._then, None, False
        assert then is not None
        self._opener.discard()
        then()

    def _renew(self) -> None:
        """Join the group again, after it was left."""
        self._drop()
        self._member = self._new_member()
        self.start()

    def _new_member(self) -> RaftMember:
        return RaftMember(
            self.name,
            self._environment,
            self._make,
            self,
            expected=self._peers.expected,
            wanted=self._peers.wanted,
            holds=lambda member: self._catch_up.is_whole(node_of(member)),
            prepare=self._prepare,
        )

    def _drop(self) -> None:
        """Stop the replica, and forget it."""
        replica, self.replica = self.replica, None
        if replica is not None:
            try:
                replica.stop()
            except (OSError, StoreError) as error:
                self._log_error(f"it was not closed well: {error}")

    def server_lost(self, server: str) -> None:
        """Note that there is no route to the server of that id any more."""
        self._member.server_lost(server)

    # --- what it is

    @property
    def group(self) -> RaftNode | None:
        """This server's member of the group, None until it has started."""
        return self._member.group

    @property
    def leads(self) -> bool:
        """Whether the replica here leads the stream."""
        group, replica = self.group, self.replica
        return group is not None and group.ready and replica is not None and replica.stream.leading

    @property
    def catching_up(self) -> bool:
        """Whether there is no replica yet, or it still gets messages and state from the others."""
        return self.replica is None or self.replica.catchup is not None

    @property
    def hopeless(self) -> bool:
        """Whether the replica waits for something that all of the others have just answered they lack."""
        return self.replica is not None and self.replica.catchup is not None and self._catch_up.hopeless

    @property
    def _assignment(self) -> GroupAssignment:
        return self._listener.assignment

    @property
    def _in_memory(self) -> bool:
        return self._assignment.config.get("storage") == "memory"

    def quorum_diagnosis(self) -> str:
        """Return why nobody can lead the group, "" while somebody does or may."""
        return self._member.quorum_diagnosis()

    def health(self) -> str:
        """Return what is wrong with the group's member here, "" for nothing."""
        return self._member.health()

    # --- opening

    def _prepare(self) -> None:
        """Read what is on the disk, on a worker thread, unless a replica writes to it."""
        if self.replica is None and not self._in_memory:
            self._opener.read()

    def _make(self) -> StateMachine:
        self._drop()
        try:
            self.replica = self.open()
        except (OSError, StoreError, ReplicaStateError) as error:
            self.failure = str(error) or type(error).__name__
            return FailedReplica(self.failure)
        self.failure = ""
        self._listener.opened(self.replica.stream)
        return self.replica

    def open(self) -> Replica:
        """Return the disk's replica; called directly once the group has ended. Raises OSError, StoreError."""
        assignment = self._assignment
        return self._opener.open(StreamConfig.from_json(assignment.config), assignment.created)

    def _over(self, config: StreamConfig, store: StreamStore) -> Replica:
        """Return a replica over a store: a founder's, one with a state of its own, or one to be filled."""
        assignment = self._assignment
        if not store.note and self._peers.founds and not self.damage:
            conversion.begin(config, store, assignment.created, self.name)
        created, group = assignment.created, self.name
        return Replica(config, store, self._context, created, self, self, group=group, joining=True)

    def _damaged(self, where: str) -> None:
        """Give up the replica, because a read found damage."""
        replica = self.replica
        if replica is not None and not self._opener.due:
            self._opener.mark_damaged(f"a message is damaged: {where}")
            self._environment.executor.soon(lambda: self._stop_serving(replica, self.damage, 1))

    def _stop_serving(self, replica: Replica, why: str, ticks: int) -> None:
        """Let another member lead, and open the replica again after some ticks."""
        if replica is not self.replica or self._leaving:
            return
        replica.damaged(why)
        group = self.group
        if group is not None:
            group.give_up(StoreError(why))
        self._again = min(self._again or ticks, ticks)

    def _log_error(self, text: str) -> None:
        self._environment.log.error(f"JetStream stream '{self._label}' {text}")

    # --- time

    def _tick(self) -> None:
        self._ticks += 1
        if self._leaving:
            return
        self._catch_up.tick()
        if self._again:
            self._again -= 1
            if not self._again:
                self._end(self._renew)
                return
        group, replica = self.group, self.replica
        if group is not None and group.ready and replica is not None and not replica.stream.leading:
            self._lead(group)

    # --- leading

    def _lead(self, group: RaftNode) -> None:
        """Let the replica lead, as the group's leader is here; if it cannot, let another member lead."""
        replica = self.replica
        if replica is not None and replica.lead():
            self._listener.leading()
        elif not self._propose_reset(group):
            self._resign(group)

    def _resign(self, group: RaftNode) -> None:
        """Let another member lead; not too often, as perhaps none can."""
        if self._ticks >= self._next_resign:
            self._next_resign = self._ticks + _RESIGN
            group.resign()

    def _propose_reset(self, group: RaftNode) -> bool:
        """Start over with an empty stream, if it was in memory and every member answers that it lost it."""
        if not self._in_memory or not self.hopeless:
            return False
        self._log_error("was in the memory of servers that all have restarted: it begins empty")
        entry = ResetStream(self._environment.clock.now(), json.dumps(self._assignment.config).encode())
        group.propose([encode(entry)], lambda _: None)
        return True

    # --- the group's listener

    def leading(self, applied: int) -> None:
        """See `GroupListener`."""
        del applied
        group = self.group
        if group is not None:
            self._lead(group)

    def following(self) -> None:
        """See `GroupListener`."""
        if self.replica is not None:
            self.replica.follow()
        self._listener.following()

    def leader_changed(self, leader: str) -> None:
        """See `GroupListener`."""
        del leader
        self._listener.leader_changed()

    def failed(self, why: str, *, restarts: bool) -> None:
        """See `GroupListener`: unless `RaftMember` restarts the member itself, open everything again."""
        if not restarts:
            self.failure = self.failure or why
            self._again = self._again or _AGAIN

    # --- the replica's log

    @property
    def full(self) -> bool:
        """Whether so much is under way that nothing more should be proposed."""
        return self._under_way >= MOST_UNDER_WAY

    def propose(self, data: Sequence[bytes], done: Callable[[int | Exception], None]) -> None:
        """See `ReplicaLog`."""
        group = self.group
        if group is None:
            done(ProposalLostError("there is no group"))
            return
        size = sum(map(len, data))
        self._under_way += size

        def finished(outcome: int | Exception) -> None:
            self._under_way -= size
            done(outcome)

        group.propose(data, finished)

    # --- the replica's owner

    def replaced(self, replica: Replica) -> None:
        """See `ReplicaOwner`: the replica has been filled."""
        self._opener.filled(replica.stream.config.storage)
        self._catch_up.rest()
        self._listener.opened(replica.stream)

    def ask(self, _: Replica, question: bytes, *, another: bool = False) -> None:
        """See `ReplicaOwner`."""
        self._catch_up.ask(question, another=another)

    def unused(self, consumer: Consumer) -> None:
        """See `ReplicaOwner`."""
        self._unused(consumer)

    def store_failed(self, replica: Replica, error: BaseException) -> None:
        """See `ReplicaOwner`: open the replica again some time later."""
        if not self._opener.due:
            self.failure = str(error) or type(error).__name__
            self._environment.executor.soon(lambda: self._stop_serving(replica, self.failure, _AGAIN))

    def _answer(self, question: bytes) -> bytes:
        if self.replica is None:
            raise CatchupSenderError("there is no replica")
        return self.replica.answer(question)

    def _answered(self, data: bytes) -> None:
        replica = self.replica
        if replica is None or replica.catchup is None:
            return
        try:
            replica.answered(data)
        except CatchupMismatchError as error:
            self._opener.mark_damaged(str(error))
            self._stop_serving(replica, str(error), 1)
        except CatchupError as error:
            self._environment.log.warning(f"Stream '{self._label}' asks again: {error}")
            self._catch_up.ask(replica.catchup.ask())
        except (OSError, StoreError) as error:
            self.store_failed(replica, error)
