"""ReplicaMembership: this server's membership in the group of a replicated stream, with its replica.

Promises: a replica that cannot lead resigns. One that failed is opened again some time later. When the
membership has ended, all that was applied is on the disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....store.errors import StoreError
from ...cluster.announce import node_of
from ...cluster.member import RaftMember
from ...cluster.membership_policy import MembershipPolicy
from .entry import ResetStream, encode
from .follower_reads import FollowerReads
from .local_replica import AGAIN, LocalReplica

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...cluster.environment import GroupEnvironment
    from ...cluster.raft_node import RaftNode
    from ..streams.context import StreamContext
    from . import Replica
    from .local_replica import MembershipListener
    from .opening import ReplicaFiles

_RESIGN = 8  # ticks between two attempts to let another member lead
_LONGEST_PAUSE = 1200  # five minutes


class ReplicaMembership:
    """A server's membership in the group of one stream: the listener of the group.

    name: the group's.
    local: the replica on this server.
    member: joins, and runs the Raft node; a new one after each renewal.
    """

    def __init__(
        self,
        context: StreamContext,
        files: ReplicaFiles,
        environment: GroupEnvironment,
        listener: MembershipListener,
        group: str,
        store: StreamStore | None = None,
    ) -> None:
        """context, files: the stream's. environment: of the groups on this server. group: its name.

        store: what the group is bootstrapped over; None for what the disk has.
        """
        self.name = group
        self._environment = environment
        self._listener = listener
        self.local = LocalReplica(context, files, environment, listener, group, self, store)
        self.member = self._new_member()
        self._again = 0  # ticks until the replica is opened again; 0 if it need not be
        self._ticks = self._next_resign = 0
        self._reads = FollowerReads()
        self._pause = _RESIGN  # ticks until the lead is given up again
        self._leaving = False
        self._then: Callable[[], None] | None = None

    # --- lifecycle

    def start(self) -> None:
        """Join the group; the replica is opened once its incarnation is known."""
        self._environment.ticker.add(self._tick)
        self.local.catch_up.start()
        self.member.start()

    def stop(self, done: Callable[[], None]) -> None:
        """Resign as leader and leave the group. By `done`, all that was applied is on the disk."""

        def left() -> None:
            self.local.drop()
            done()

        group = self.group
        if group is None or not group.ready or self._leaving:
            self._end(left)
            return
        group.leadership.resign()
        soon = self._environment.executor.soon
        soon(lambda: soon(lambda: self._end(left)))  # once the resignation has been sent

    def delete(self, done: Callable[[], None]) -> None:
        """Leave the group, and remove its files and the messages, but not the document."""

        def left() -> None:
            self._environment.executor.work(self.member.erase, erased)

        def erased(error: BaseException | None) -> None:
            if error is not None:
                self.local.log_error(f"what is left of its group cannot be removed: {error}")
            replica, self.local.replica = self.replica, None
            if replica is not None:
                try:
                    replica.delete()
                except (OSError, StoreError) as cause:
                    self.local.log_error(f"its messages cannot be removed: {cause}")
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
                self.local.log_error(f"it cannot be written: {cause}")
                self._environment.executor.soon(self._renew)
                return
            self._environment.executor.work(self.member.erase, erased)

        def erased(error: BaseException | None) -> None:
            if error is not None:
                self.local.log_error(f"what is left of its group cannot be removed: {error}")
                self._renew()
            else:
                self.local.replica = None
                done(replica)

        self._end(left)

    def _end(self, then: Callable[[], None]) -> None:
        self._environment.ticker.remove(self._tick)
        self.local.catch_up.stop()
        self._leave(then)

    def _leave(self, then: Callable[[], None]) -> None:
        """Leave the group, then call what was given last."""
        self._then = then
        self._end_reads()
        if not self._leaving:
            self._leaving = True
            self.member.stop(self._left)

    def _end_reads(self) -> None:
        """Let the replica answer nobody as a follower."""
        if self.replica is not None:
            self.replica.stream.serve_reads(False)

    def _left(self) -> None:
        then, self._then, self._leaving = self._then, None, False
        assert then is not None
        self.local.discard()
        then()

    def _renew(self) -> None:
        """Join the group again, after it was left."""
        self.local.drop()
        self.member = self._new_member()
        self.start()

    def _new_member(self) -> RaftMember:
        local = self.local
        policy = MembershipPolicy(
            local.peers.expected,
            local.peers.wanted,
            lambda member: local.catch_up.is_whole(node_of(member)),
            self._listener.gives_up_lead,
        )
        return RaftMember(self.name, self._environment, local.make, self, policy, prepare=local.prepare)

    # --- what it is

    @property
    def group(self) -> RaftNode | None:
        """This server's member of the group, None until it has started."""
        return self.member.group

    @property
    def replica(self) -> Replica | None:
        """The replica on this server; None while there is none."""
        return self.local.replica

    @property
    def leads(self) -> bool:
        """Whether the replica here leads the stream."""
        group, replica = self.group, self.replica
        return group is not None and group.ready and replica is not None and replica.stream.leading

    def stop_serving(self, replica: Replica, why: str, ticks: int) -> None:
        """Let another member lead, and open the replica again after some ticks."""
        if replica is not self.replica or self._leaving:
            return
        replica.damaged(why)
        group = self.group
        if group is not None:
            group.give_up(StoreError(why))
        self._again = min(self._again or ticks, ticks)

    # --- time

    def _tick(self) -> None:
        self._ticks += 1
        if self._leaving:
            return
        self.local.catch_up.tick()
        if self._again:
            self._again -= 1
            if not self._again:
                self._end(self._renew)
                return
        group, replica = self.group, self.replica
        if group is None or replica is None:
            return
        if group.ready and self._listener.gives_up_lead():
            self._give_up_lead(group)
        elif replica.stream.leading:
            self._pause = _RESIGN
        elif group.ready:
            self._lead(group)
        else:
            replica.stream.serve_reads(self._reads.tick(group, replica))

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
            group.leadership.resign()

    def _give_up_lead(self, group: RaftNode) -> None:
        """Let another member lead; less and less often, as each attempt costs a pause if none can."""
        if self._ticks >= self._next_resign:
            self._next_resign = self._ticks + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            group.leadership.resign()

    def _propose_reset(self, group: RaftNode) -> bool:
        """Start over with an empty stream, if it was in memory and every member answers that it lost it."""
        if not self.local.in_memory or not self.local.hopeless:
            return False
        self.local.log_error("was in the memory of servers that all have restarted: it begins empty")
        config = json.dumps(self._listener.assignment.config).encode()
        entry = ResetStream(self._environment.clock.now(), config)
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
        self._end_reads()
        if not restarts:
            self.local.failure = self.local.failure or why
            self._again = self._again or AGAIN
