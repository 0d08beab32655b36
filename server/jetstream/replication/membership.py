"""ReplicaMembership: this server's replica of a stream, and its seat in the stream's group.

Promises: a replica is opened over what its disk holds for certain; one that was found damaged is set aside,
never served and never asked for anything, and a new one is filled from the others; who cannot lead lets
somebody else. What is proposed has a bound (`full`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ....protocol.api.stream import StreamConfig
from ....store.errors import StoreError
from ....store.file import FileStream
from ....store.identity import Foreign
from ....store.memory import MemoryStream
from ...cluster.announce import node_of
from ...cluster.bootstrap import BootstrapExpect
from ...cluster.member import RaftMember
from ...cluster.proposals import ProposalLostError
from ..account.cluster_mark import ClusterMark
from ..account.recovery import tell_mended
from . import Replica, conversion
from .catchup import CatchupError, CatchupMismatchError, CatchupSenderError
from .catchup_requests import CatchupRequests
from .entry import ResetStream, encode
from .failed_replica import FailedReplica
from .group_listener import MembershipGroupListener
from .state import ReplicaStateError
from .store_loader import StoreLoader

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...cluster.member import GroupEnvironment
    from ...cluster.raft_node import RaftNode
    from ...cluster.state_machine import StateMachine
    from ..account.account import JetStreamAccount
    from ..cluster.ports import MembershipListener
    from ..consumers.core import Consumer

MOST_UNDER_WAY = 64 << 20  # bytes that are proposed and not agreed on yet
_AGAIN = 20  # ticks until a replica that failed is opened again
_RESIGN = 8  # ticks between two attempts to let somebody else lead


class ReplicaMembership:
    """name: the group's. replica: None while there is none.

    damage: why it is filled anew; failure: why it is not there.
    """

    def __init__(
        self,
        held: JetStreamAccount,
        around: GroupEnvironment,
        watcher: MembershipListener,
        group: str,
        store: StreamStore | None = None,
    ) -> None:
        """store: what a group is founded over, see `conversion.found`."""
        self.name = group
        self.replica: Replica | None = None
        self.damage = ""
        self.failure = ""
        self._held = held
        self._around = around
        self._watcher = watcher
        self._stream = watcher.assignment.name
        self._seat = self._new_seat()
        self._catch_up = CatchupRequests(
            self.name, around.mailbox, self._answer, self._answered, self._peers, lambda: not self.refilling
        )
        self._store = store
        self._reading = StoreLoader(self._open_store)
        self._under_way = 0
        self._again = 0  # ticks until it is opened again; 0: it need not be
        self._ticks = self._next_resign = 0
        self._aside = False  # what lies on the disk is damaged and has to go
        self._leaving = False
        self._then: Callable[[], None] | None = None

    # --- life

    def start(self) -> None:
        """Take the seat; the replica is opened once it is known which life it belongs to."""
        self._around.pacemaker.add(self._tick)
        self._catch_up.start()
        self._seat.start()

    def stop(self, done: Callable[[], None]) -> None:
        """Leave the group, to somebody else if it is led here; what is applied is on the disk by `done`."""

        def left() -> None:
            self._drop()
            done()

        group = self.group
        if group is None or not group.ready or self._leaving:
            self._end(left)
            return
        group.resign()
        soon = self._around.runner.soon
        soon(lambda: soon(lambda: self._end(left)))  # when that has been said

    def alone(self) -> Replica:
        """The replica as the disk has it, of a group that has ended. Raises OSError, StoreError."""
        return self._open()

    def delete(self, done: Callable[[], None]) -> None:
        """Leave the group and remove what there is of it and of its messages, but for the document."""

        def left() -> None:
            self._around.runner.work(self._seat.erase, erased)

        def erased(error: BaseException | None) -> None:
            if error is not None:
                self._alarm(f"what is left of its group cannot be removed: {error}")
            replica, self.replica = self.replica, None
            if replica is not None:
                try:
                    replica.delete()
                except (OSError, StoreError) as fault:
                    self._alarm(f"its messages cannot be removed: {fault}")
            done()

        self._end(left)

    def release(self, done: Callable[[Replica], None]) -> None:
        """Leave a group of which it is the only member; `done` gets the replica, all of it on the disk."""
        replica = self.replica
        assert replica is not None

        def left() -> None:
            try:
                replica.write_out()
            except (OSError, StoreError) as fault:
                self._alarm(f"it cannot be written: {fault}")
                self._around.runner.soon(self._renew)
                return
            self._around.runner.work(self._seat.erase, erased)

        def erased(error: BaseException | None) -> None:
            if error is not None:
                self._alarm(f"what is left of its group cannot be removed: {error}")
                self._renew()
            else:
                self.replica = None
                done(replica)

        self._end(left)

    def _end(self, then: Callable[[], None]) -> None:
        self._around.pacemaker.remove(self._tick)
        self._catch_up.stop()
        self._leave(then)

    def _leave(self, then: Callable[[], None]) -> None:
        """Let go of the group, then do what was wanted last."""
        self._then = then
        if not self._leaving:
            self._leaving = True
            self._seat.stop(self._left)

    def _left(self) -> None:
        then, self._then, self._leaving = self._then, None, False
        assert then is not None
        self._reading.let_go()
        then()

    def _renew(self) -> None:
        """Take the seat anew, after it was left."""
        self._drop()
        self._seat = self._new_seat()
        self.start()

    def _new_seat(self) -> RaftMember:
        return RaftMember(
            self.name,
            self._around,
            self._make,
            MembershipGroupListener(self),
            expected=self._expected,
            wanted=self._wanted,
            holds=lambda member: self._catch_up.is_whole(node_of(member)),
            prepare=self._prepare,
        )

    def _drop(self) -> None:
        """Let go of the replica."""
        replica, self.replica = self.replica, None
        if replica is not None:
            try:
                replica.stop()
            except (OSError, StoreError) as fault:
                self._alarm(f"it was not closed well: {fault}")

    def server_lost(self, server: str) -> None:
        """There is no route to the server of that id any more."""
        self._seat.server_lost(server)

    # --- who belongs to the group

    def _expected(self) -> BootstrapExpect:
        """Only seeds found the group, and only with what they have."""
        assignment = self._watcher.assignment
        if self._watcher.me not in assignment.seeds or assignment.group != self.name:
            return BootstrapExpect()
        nodes = frozenset(map(node_of, assignment.seeds))
        return BootstrapExpect(nodes=nodes, alone=len(nodes) == 1, chosen=True)

    def _wanted(self) -> frozenset[str]:
        """Who shall be members: of a group that another one follows, only who goes on with what it has."""
        if self._watcher.assignment.group != self.name:
            return frozenset({self._around.node})
        return frozenset(map(node_of, self._watcher.assignment.peers))

    def _peers(self) -> list[str]:
        """Whom to ask for messages: the leader first."""
        group = self.group
        nodes = set(map(node_of, self._watcher.assignment.members))
        leader = ""
        if group is not None:
            nodes |= set(map(node_of, group.members.all))
            leader = node_of(group.leader)
        return sorted(nodes - {self._around.node}, key=lambda node: (node != leader, node))

    # --- what it is

    @property
    def group(self) -> RaftNode | None:
        """The member of the group, once it has begun."""
        return self._seat.group

    @property
    def leads(self) -> bool:
        """Whether the replica here speaks for the stream."""
        group, replica = self.group, self.replica
        return group is not None and group.ready and replica is not None and replica.stream.leading

    @property
    def refilling(self) -> bool:
        """Whether messages and state are on their way from the others."""
        return self.replica is None or self.replica.refill is not None

    @property
    def hopeless(self) -> bool:
        """Whether it waits for what all of the others have just said that they do not have."""
        return self.replica is not None and self.replica.refill is not None and self._catch_up.hopeless

    def stalemate(self) -> str:
        """Why nobody can lead the group, "" while somebody does or may."""
        return self._seat.stalemate()

    def health(self) -> str:
        """What is wrong with the group's member here, "" for nothing."""
        return self._seat.health()

    # --- opening

    def _prepare(self) -> None:
        """Read what lies on the disk, on a worker thread; not while a replica writes to it."""
        fresh = self.replica is None and self._store is None and not self._aside
        if fresh and self._watcher.assignment.storage == "file":
            self._reading.read()

    def _open_store(self) -> FileStream:
        return self._held.open_store(self._stream, exact=True, damaged=self._damaged)

    def _make(self) -> StateMachine:
        self._drop()
        try:
            self.replica = self._open()
        except (OSError, StoreError, ReplicaStateError) as fault:
            self.failure = str(fault) or type(fault).__name__
            return FailedReplica(self.failure)
        self.failure = ""
        self._watcher.opened(self.replica.stream)
        return self.replica

    def _open(self) -> Replica:
        assignment, held = self._watcher.assignment, self._held
        config = StreamConfig.from_json(assignment.config)
        held.marks[self._stream] = ClusterMark(self.name, replicated=True)
        store, self._store = self._store, None
        if config.storage != "file":
            return self._over(config, store or MemoryStream())
        held.put_down(config, assignment.created)
        if isinstance(store, FileStream):
            store.on_damage = lambda _, where: self._damaged(where)
            return self._over(config, store)
        if not self._aside:
            replica = self._over_what_lies_here(config)
            if replica is not None:
                return replica
        kept = held.directory.set_aside(self._stream)
        self._aside = False
        if kept:
            until = "" if held.directory.is_foreign(kept) else " until all of it is back"
            self._alarm(f"is begun anew here; what was damaged is kept in {kept}{until}")
        return self._over(config, self._open_store())

    def _over_what_lies_here(self, config: StreamConfig) -> Replica | None:
        """A replica over the messages on the disk; None: they cannot be trusted."""
        try:
            opened = self._reading.take()
        except Foreign as error:
            self._found(str(error))
            return None
        tell_mended(self._around.log, f"Stream '{self._held.name} > {self._stream}'", opened)
        lost = opened.damaged()
        fault = "; ".join(opened.faults) or (f"{len(lost)} messages are lost" if lost else "")
        if not fault:
            try:
                return self._over(config, opened)
            except ReplicaStateError as error:
                fault = str(error)
        opened.abandon()
        self._found(fault)
        return None

    def _over(self, config: StreamConfig, store: StreamStore) -> Replica:
        """A replica over a store: that of a founder, of what it held before, or one to be filled."""
        assignment = self._watcher.assignment
        if not store.note and self._watcher.me in assignment.seeds and not self.damage:
            conversion.begin(config, store, assignment.created, self.name)
        return Replica(
            config, store, self._held, assignment.created, self, self, group=self.name, joining=True
        )

    def _found(self, fault: str) -> None:
        """What lies here cannot be trusted."""
        self.damage = fault
        self._aside = True
        self._alarm(f"is damaged here and will be fetched from the other servers: {fault}")

    def _damaged(self, where: str) -> None:
        """A read found damage."""
        replica = self.replica
        if replica is not None and not self._aside:
            self._found(f"a message is damaged: {where}")
            self._around.runner.soon(lambda: self._give_up(replica, self.damage, 1))

    def _give_up(self, replica: Replica, why: str, ticks: int) -> None:
        """Let another one lead, and open anew."""
        if replica is not self.replica or self._leaving:
            return
        replica.damaged(why)
        group = self.group
        if group is not None:
            group.give_up(StoreError(why))
        self._again = min(self._again or ticks, ticks)

    def _alarm(self, text: str) -> None:
        self._around.log.error(f"JetStream stream '{self._held.name} > {self._stream}' {text}")

    # --- time

    def _tick(self) -> None:
        self._ticks += 1
        if self._leaving:
            return
        self._catch_up.tick()
        if self._again:
            self._again -= 1
            if not self._again:
                self._leave_and_renew()
                return
        group, replica = self.group, self.replica
        if group is not None and group.ready and replica is not None and not replica.stream.leading:
            self._lead(group)

    def _leave_and_renew(self) -> None:
        self._around.pacemaker.remove(self._tick)
        self._catch_up.stop()
        self._leave(self._renew)

    # --- leading

    def _lead(self, group: RaftNode) -> None:
        """The group's leader is here: let the replica lead, or somebody else if it cannot."""
        replica = self.replica
        if replica is not None and replica.lead():
            self._watcher.leading()
        elif not self._begin_anew(group):
            self._resign(group)

    def _resign(self, group: RaftNode) -> None:
        """Let somebody else lead; not too often, as perhaps nobody can."""
        if self._ticks >= self._next_resign:
            self._next_resign = self._ticks + _RESIGN
            group.resign()

    def _begin_anew(self, group: RaftNode) -> bool:
        """Begin with nothing what was in memory only, if everyone says that it lost it."""
        assignment = self._watcher.assignment
        if assignment.storage != "memory" or not self._catch_up.hopeless or not self._is_lost():
            return False
        self._alarm("was in the memory of servers that all have started anew: it begins empty")
        entry = ResetStream(self._around.clock.now(), json.dumps(assignment.config).encode())
        group.propose([encode(entry)], lambda _: None)
        return True

    def _is_lost(self) -> bool:
        return self.replica is not None and self.replica.refill is not None

    def leading(self, group: RaftNode) -> None:
        """The group's leader is here."""
        replica = self.replica
        if replica is not None and replica.lead():
            self._watcher.leading()
        elif not self._begin_anew(group):
            self._resign(group)

    def following(self) -> None:
        """It is no more."""
        if self.replica is not None:
            self.replica.follow()
        self._watcher.following()

    def leader_changed(self) -> None:
        """Another one is known, or none."""
        self._watcher.leader_changed()

    def ended(self, group: RaftNode) -> None:
        """The group's member has failed: unless its seat sees to it, everything is opened anew."""
        if not (group.broken or group.retry):
            self.failure = self.failure or group.failure
            self._again = self._again or _AGAIN

    # --- the replica's log

    @property
    def full(self) -> bool:
        """Whether so much is under way that nothing more should be proposed."""
        return self._under_way >= MOST_UNDER_WAY

    def propose(self, data: Sequence[bytes], done: Callable[[int | Exception], None]) -> None:
        """See `replica.Log`."""
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
        """It has been filled."""
        self.damage = ""
        self._catch_up.rest()
        if self._held.marks.get(self._stream) is not None and replica.stream.config.storage == "file":
            try:
                self._held.directory.let_go(self._stream)
            except OSError as fault:
                self._alarm(f"what was set aside cannot be removed: {fault}")
        self._watcher.opened(replica.stream)

    def ask(self, replica: Replica, question: bytes, *, another: bool = False) -> None:
        """See `replica.Owner`."""
        del replica
        self._catch_up.ask(question, another=another)

    def unused(self, consumer: Consumer) -> None:
        """See `replica.Owner`."""
        self._watcher.unused(consumer)

    def failed(self, replica: Replica, error: BaseException) -> None:
        """See `replica.Owner`: its disk refuses."""
        if not self._aside:
            self.failure = str(error) or type(error).__name__
            self._around.runner.soon(lambda: self._give_up(replica, self.failure, _AGAIN))

    def _answer(self, question: bytes) -> bytes:
        if self.replica is None:
            raise CatchupSenderError("there is no replica")
        return self.replica.answer(question)

    def _answered(self, data: bytes) -> None:
        replica = self.replica
        if replica is None or replica.refill is None:
            return
        try:
            replica.answered(data)
        except CatchupMismatchError as fault:
            self._found(str(fault))
            self._give_up(replica, str(fault), 1)
        except CatchupError as fault:
            self._around.log.warning(f"Stream '{self._held.name} > {self._stream}' asks again: {fault}")
            self._catch_up.ask(replica.refill.ask())
        except (OSError, StoreError) as fault:
            self.failed(replica, fault)
