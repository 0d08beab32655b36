"""ReplicaMembership: this server's replica of a stream, and its membership in the stream's group.

Promises: a replica is opened over what its disk holds for certain; one that was found damaged is set aside,
never served and never asked for anything, and a new one catches up from the others; one that cannot lead
resigns. What is proposed has a bound (`full`).
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
from ..account.document import ClusterMark
from ..account.recovery import tell_mended
from . import Replica, conversion
from .catchup import CatchupError, CatchupMismatchError, CatchupRequests, CatchupSenderError
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

    damage: why it is filled anew; failure: why it is not there. store: what a group is bootstrapped over.
    """

    def __init__(
        self,
        account: JetStreamAccount,
        environment: GroupEnvironment,
        listener: MembershipListener,
        group: str,
        store: StreamStore | None = None,
    ) -> None:
        self.name = group
        self.replica: Replica | None = None
        self.damage = ""
        self.failure = ""
        self._account = account
        self._environment = environment
        self._listener = listener
        self._stream = listener.assignment.name
        self._member = self._new_member()
        transport = environment.transport
        self._catch_up = CatchupRequests(
            self.name, transport, self._answer, self._answered, self._peers, lambda: not self.catching_up
        )
        self._store = store
        self._reading = StoreLoader(self._open_store)
        self._under_way = 0
        self._again = 0  # ticks until it is opened again; 0: it need not be
        self._ticks = self._next_resign = 0
        self._aside = False  # what lies on the disk is damaged and has to go
        self._leaving = False
        self._then: Callable[[], None] | None = None

    # --- lifecycle

    def start(self) -> None:
        """Join the group; the replica is opened once its incarnation is known."""
        self._environment.ticker.add(self._tick)
        self._catch_up.start()
        self._member.start()

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
        soon = self._environment.executor.soon
        soon(lambda: soon(lambda: self._end(left)))  # when that has been sent

    def alone(self) -> Replica:
        """The replica as the disk has it, of a group that has ended. Raises OSError, StoreError."""
        return self._open()

    def delete(self, done: Callable[[], None]) -> None:
        """Leave the group and remove what there is of it and of its messages, but for the document."""

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
        """Leave a group of which it is the only member; `done` gets the replica, all of it on the disk."""
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
        """Let go of the group, then do what was wanted last."""
        self._then = then
        if not self._leaving:
            self._leaving = True
            self._member.stop(self._left)

    def _left(self) -> None:
        then, self._then, self._leaving = self._then, None, False
        assert then is not None
        self._reading.let_go()
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
            except (OSError, StoreError) as error:
                self._log_error(f"it was not closed well: {error}")

    def server_lost(self, server: str) -> None:
        """There is no route to the server of that id any more."""
        self._member.server_lost(server)

    # --- who belongs to the group

    def _expected(self) -> BootstrapExpect:
        """Only seeds bootstrap the group, and only with what they have."""
        assignment = self._listener.assignment
        if self._listener.me not in assignment.seeds or assignment.group != self.name:
            return BootstrapExpect()
        nodes = frozenset(map(node_of, assignment.seeds))
        return BootstrapExpect(nodes=nodes, alone=len(nodes) == 1, chosen=True)

    def _wanted(self) -> frozenset[str]:
        """Who shall be members: of a group that another one follows, only who goes on with what it has."""
        if self._listener.assignment.group != self.name:
            return frozenset({self._environment.node})
        return frozenset(map(node_of, self._listener.assignment.peers))

    def _peers(self) -> list[str]:
        """Whom to ask for messages: the leader first."""
        group = self.group
        nodes = set(map(node_of, self._listener.assignment.members))
        leader = ""
        if group is not None:
            nodes |= set(map(node_of, group.members.all))
            leader = node_of(group.leader)
        return sorted(nodes - {self._environment.node}, key=lambda node: (node != leader, node))

    # --- what it is

    @property
    def group(self) -> RaftNode | None:
        """The member of the group, once it has begun."""
        return self._member.group

    @property
    def leads(self) -> bool:
        """Whether the replica here leads the stream."""
        group, replica = self.group, self.replica
        return group is not None and group.ready and replica is not None and replica.stream.leading

    @property
    def catching_up(self) -> bool:
        """Whether messages and state are on their way from the others."""
        return self.replica is None or self.replica.catchup is not None

    @property
    def hopeless(self) -> bool:
        """Whether it waits for what none of the others has, as all have just answered."""
        return self.replica is not None and self.replica.catchup is not None and self._catch_up.hopeless

    def quorum_diagnosis(self) -> str:
        """Why nobody can lead the group, "" while somebody does or may."""
        return self._member.quorum_diagnosis()

    def health(self) -> str:
        """What is wrong with the group's member here, "" for nothing."""
        return self._member.health()

    # --- opening

    def _prepare(self) -> None:
        """Read what lies on the disk, on a worker thread; not while a replica writes to it."""
        fresh = self.replica is None and self._store is None and not self._aside
        if fresh and self._listener.assignment.storage == "file":
            self._reading.read()

    def _open_store(self) -> FileStream:
        return self._account.open_store(self._stream, exact=True, damaged=self._damaged)

    def _make(self) -> StateMachine:
        self._drop()
        try:
            self.replica = self._open()
        except (OSError, StoreError, ReplicaStateError) as error:
            self.failure = str(error) or type(error).__name__
            return FailedReplica(self.failure)
        self.failure = ""
        self._listener.opened(self.replica.stream)
        return self.replica

    def _open(self) -> Replica:
        assignment, account = self._listener.assignment, self._account
        config = StreamConfig.from_json(assignment.config)
        account.marks[self._stream] = ClusterMark(self.name, replicated=True)
        store, self._store = self._store, None
        if config.storage != "file":
            return self._over(config, store or MemoryStream())
        account.put_down(config, assignment.created)
        if isinstance(store, FileStream):
            store.on_damage = lambda _, where: self._damaged(where)
            return self._over(config, store)
        if not self._aside:
            replica = self._over_what_lies_here(config)
            if replica is not None:
                return replica
        kept = account.directory.set_aside(self._stream)
        self._aside = False
        if kept:
            until = "" if account.directory.is_foreign(kept) else " until all of it is back"
            self._log_error(f"is begun anew here; what was damaged is kept in {kept}{until}")
        return self._over(config, self._open_store())

    def _over_what_lies_here(self, config: StreamConfig) -> Replica | None:
        """A replica over the messages on the disk; None: they cannot be trusted."""
        try:
            opened = self._reading.take()
        except Foreign as error:
            self._mark_damaged(str(error))
            return None
        tell_mended(self._environment.log, f"Stream '{self._account.name} > {self._stream}'", opened)
        lost = opened.damaged()
        damage = "; ".join(opened.faults) or (f"{len(lost)} messages are lost" if lost else "")
        if not damage:
            try:
                return self._over(config, opened)
            except ReplicaStateError as error:
                damage = str(error)
        opened.abandon()
        self._mark_damaged(damage)
        return None

    def _over(self, config: StreamConfig, store: StreamStore) -> Replica:
        """A replica over a store: that of a founder, of what it held before, or one to be filled."""
        assignment = self._listener.assignment
        if not store.note and self._listener.me in assignment.seeds and not self.damage:
            conversion.begin(config, store, assignment.created, self.name)
        context = self._account.context(config.name)
        return Replica(config, store, context, assignment.created, self, self, group=self.name, joining=True)

    def _mark_damaged(self, damage: str) -> None:
        """What lies here cannot be trusted."""
        self.damage = damage
        self._aside = True
        self._log_error(f"is damaged here and will be fetched from the other servers: {damage}")

    def _damaged(self, where: str) -> None:
        """A read found damage."""
        replica = self.replica
        if replica is not None and not self._aside:
            self._mark_damaged(f"a message is damaged: {where}")
            self._environment.executor.soon(lambda: self._give_up(replica, self.damage, 1))

    def _give_up(self, replica: Replica, why: str, ticks: int) -> None:
        """Let another one lead, and open anew."""
        if replica is not self.replica or self._leaving:
            return
        replica.damaged(why)
        group = self.group
        if group is not None:
            group.give_up(StoreError(why))
        self._again = min(self._again or ticks, ticks)

    def _log_error(self, text: str) -> None:
        self._environment.log.error(f"JetStream stream '{self._account.name} > {self._stream}' {text}")

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
            self.leading()

    def _leave_and_renew(self) -> None:
        self._environment.ticker.remove(self._tick)
        self._catch_up.stop()
        self._leave(self._renew)

    # --- leading

    def _resign(self, group: RaftNode) -> None:
        """Let somebody else lead; not too often, as perhaps nobody can."""
        if self._ticks >= self._next_resign:
            self._next_resign = self._ticks + _RESIGN
            group.resign()

    def _begin_anew(self, group: RaftNode) -> bool:
        """Begin with nothing what was in memory only, if everyone answers that it lost it."""
        assignment = self._listener.assignment
        if assignment.storage != "memory" or not self._catch_up.hopeless or not self._is_lost():
            return False
        self._log_error("was in the memory of servers that all have started anew: it begins empty")
        entry = ResetStream(self._environment.clock.now(), json.dumps(assignment.config).encode())
        group.propose([encode(entry)], lambda _: None)
        return True

    def _is_lost(self) -> bool:
        return self.replica is not None and self.replica.catchup is not None

    def leading(self) -> None:
        """The group's leader is here: let the replica lead, or somebody else if it cannot."""
        group, replica = self.group, self.replica
        if replica is not None and replica.lead():
            self._listener.leading()
        elif group is not None and not self._begin_anew(group):
            self._resign(group)

    def following(self) -> None:
        """It is no more."""
        if self.replica is not None:
            self.replica.follow()
        self._listener.following()

    def leader_changed(self) -> None:
        """Another one is known, or none."""
        self._listener.leader_changed()

    def ended(self, why: str, *, restarts: bool) -> None:
        """The group's member has failed: unless `RaftMember` sees to it, everything is opened anew."""
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
        """It has been filled."""
        self.damage = ""
        self._catch_up.rest()
        if self._account.marks.get(self._stream) is not None and replica.stream.config.storage == "file":
            try:
                self._account.directory.let_go(self._stream)
            except OSError as error:
                self._log_error(f"what was set aside cannot be removed: {error}")
        self._listener.opened(replica.stream)

    def ask(self, _: Replica, question: bytes, *, another: bool = False) -> None:
        """See `ReplicaOwner`."""
        self._catch_up.ask(question, another=another)

    def unused(self, consumer: Consumer) -> None:
        """See `ReplicaOwner`."""
        self._listener.unused(consumer)

    def failed(self, replica: Replica, error: BaseException) -> None:
        """See `ReplicaOwner`: its disk refuses."""
        if not self._aside:
            self.failure = str(error) or type(error).__name__
            self._environment.executor.soon(lambda: self._give_up(replica, self.failure, _AGAIN))

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
            self._mark_damaged(str(error))
            self._give_up(replica, str(error), 1)
        except CatchupError as error:
            label = f"{self._account.name} > {self._stream}"
            self._environment.log.warning(f"Stream '{label}' asks again: {error}")
            self._catch_up.ask(replica.catchup.ask())
        except (OSError, StoreError) as error:
            self.failed(replica, error)
