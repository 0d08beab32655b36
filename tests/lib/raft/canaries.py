"""Simulations in which one rule is broken: the judges must detect each of them."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from lib.raft.faults import FaultInjector
from lib.raft.machine import Machine
from lib.raft.simulation import Simulation
from pyjs.raft import HardState, RaftConfig, RaftLog, RawNode, RequestVote, StorageAppend
from pyjs.raft.leader import Leader
from pyjs.raft.raft import Raft
from pyjs.raft.roles import Event
from pyjs.server.cluster import raft_disk
from pyjs.store.raft import RaftStore, SyncMark
from pyjs.store.raft.log_reading import LogReading


class ForgetfulRaft(Raft):
    """Remembers no vote."""

    __slots__ = ()

    def set_hard_state(self, **changes: Any) -> None:
        super().set_hard_state(**changes)
        self.hard_state = self.hard_state._replace(vote="")


class HastyLeader(Leader):
    """Commits an entry that one other member has."""

    def _commit(self) -> None:
        log = self._raft.log
        index = max([self._match(name) for name in self.followers], default=log.stable)
        if log.term(index) == self._raft.term:
            log.commit_to(min(index, log.last))


class HastyNode(RawNode):
    """Leads as a `HastyLeader`."""

    def _become(self, event: Event, leader: str = "") -> None:
        super()._become(event, leader)
        if isinstance(self.role, Leader):
            self.role.__class__ = HastyLeader


class VotesTwice(Simulation):
    """A voter gives its vote to everyone who asks in a term."""

    def make_node(
        self, name: str, log: RaftLog, state: HardState, timing: RaftConfig, random: Random
    ) -> RawNode:
        node = RawNode(name, log, state, config=timing, random=random)
        node._raft.__class__ = ForgetfulRaft
        return node


class AcknowledgesEarly(Simulation):
    """Entries are acknowledged and not written."""

    def persist(self, store: RaftStore, write: StorageAppend) -> None:
        if self.random.random() < 0.7:
            write = replace(write, entries=())
        raft_disk.persist(store, write)


class VotesForAnyone(Simulation):
    """A voter does not check the candidate's log."""

    def make_node(
        self, name: str, log: RaftLog, state: HardState, timing: RaftConfig, random: Random
    ) -> RawNode:
        node = RawNode(name, log, state, config=timing, random=random)
        step = node.step

        def careless(message: object) -> None:
            if isinstance(message, RequestVote):
                message = replace(message, last=1 << 40, last_term=1 << 40)
            step(message)  # type: ignore[arg-type]

        node.step = careless  # type: ignore[method-assign]
        return node


class VotesWhileRecovering(Simulation):
    """A member that lost what it had acknowledged continues as if nothing had happened."""

    def make_node(
        self, name: str, log: RaftLog, state: HardState, timing: RaftConfig, random: Random
    ) -> RawNode:
        return RawNode(name, log, state._replace(recovering=False), config=timing, random=random)


class FailingSyncs(FaultInjector):
    """Only failing syncs, of all members at once, and power cuts: elsewhere the two seldom coincide."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._acts, self._weights, self._interval = [self._fail_syncs, self._cut_power], [1.0, 1.0], 400

    def _running(self) -> list[Machine]:
        return [machine for machine in self._simulation.machines.values() if machine.node is not None]

    def _fail_syncs(self) -> None:
        for machine in self._running():
            machine.disk.fail("sync", errno.EIO)

    def _cut_power(self) -> None:
        for machine in self._running():
            machine.kill(power=True)
            self._simulation.restart_later(machine)


class SyncsFail(Simulation):
    """A simulation whose syncs fail and that keeps all rules: it may lose nothing."""

    def __init__(self, seed: int, *, trace: bool = False) -> None:
        super().__init__(seed, trace=trace)
        self.fault_injector = FailingSyncs(self)


class BelievesAFailedSync(SyncsFail):
    """After a failed sync the log is read again and used as it is seen."""

    class store(RaftStore):  # noqa: N801 - the name of what it takes the place of
        def _go_on(self, reading: LogReading, mark: SyncMark) -> None:
            super()._go_on(reading, SyncMark(mark.number, 1 << 40))


class CommitsWithoutMajority(Simulation):
    """A leader commits an entry that one other member has, however many members there are."""

    def make_node(
        self, name: str, log: RaftLog, state: HardState, timing: RaftConfig, random: Random
    ) -> RawNode:
        return HastyNode(name, log, state, config=timing, random=random)


class BelievesTheLog(Simulation):
    """A follower accepts entries without a check of what precedes them."""

    def make_node(
        self, name: str, log: RaftLog, state: HardState, timing: RaftConfig, random: Random
    ) -> RawNode:
        maybe_append = log.maybe_append

        def gullible(prev: int, prev_term: int, entries: object) -> int | None:
            here = log.term(prev)
            return maybe_append(prev, here if here >= 0 else prev_term, entries)  # type: ignore[arg-type]

        node = RawNode(name, log, state, config=timing, random=random)
        _shadow(log, gullible)
        return node


def _shadow(log: RaftLog, maybe_append: Callable[..., int | None]) -> None:
    methods = {"__slots__": (), "maybe_append": lambda self, *rest: maybe_append(*rest)}
    kind = type("GullibleLog", (RaftLog,), methods)
    log.__class__ = kind


CANARIES: tuple[type[Simulation], ...] = (
    VotesTwice,
    AcknowledgesEarly,
    VotesForAnyone,
    VotesWhileRecovering,
    BelievesAFailedSync,
    CommitsWithoutMajority,
    BelievesTheLog,
)
