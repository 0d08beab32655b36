"""A group of simulated machines; one seed decides everything that happens to them.

Time is a count; what happens at the same time happens in the order in which it was requested. `run` plays
faults, then heals everything and demands that the group continues and that all agree.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from random import Random
from typing import Any

from lib.raft.faults import FaultInjector
from lib.raft.judges import Judges, ViolationError
from lib.raft.machine import Machine
from lib.raft.network import Network
from pyjs.raft import HardState, Members, RaftLog, RawNode, StorageAppend
from pyjs.server.cluster import raft_disk
from pyjs.store.raft import RaftStore

TICK = 10
FAULTY = 6_000
HEALING = 6_000
AGREEING = 3_000


class Simulation:
    """One run. Subclasses break a rule (canaries) by overriding methods of it."""

    store: type[RaftStore] = RaftStore

    def __init__(self, seed: int, *, trace: bool = False) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.now = 0
        self.trace: list[str] | None = [] if trace else None
        self.judges = Judges()
        self.network = Network(self)
        self.machines: dict[str, Machine] = {}
        self.acknowledged = 0
        self.keeps = self.random.random() < 0.4  # the applications are durable by themselves, a little late
        self.compact_every = self.random.choice([8, 20, 60])
        self.fault_injector = FaultInjector(self)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._values = itertools.count()
        self._names = (f"n{number}" for number in itertools.count(1))
        self._calm = False

    # --- what a canary overrides

    def make_node(self, name: str, log: RaftLog, state: HardState, timing: Any, random: Random) -> RawNode:
        """Return a member of the group."""
        return RawNode(name, log, state, config=timing, random=random)

    def persist(self, store: RaftStore, write: StorageAppend) -> None:
        """Make a write durable."""
        raft_disk.persist(store, write)

    # --- time

    def later(self, delay: int, action: Any) -> None:
        """Run an action after a delay."""
        heapq.heappush(self._events, (self.now + delay, next(self._order), action))

    def _play(self, until: int, done: Callable[[], bool] = lambda: False) -> None:
        while self._events and self._events[0][0] <= until and not done():
            self.now, _, action = heapq.heappop(self._events)
            action()
        if not done():
            self.now = until

    def tick_length(self, name: str) -> int:
        """Return the length of a tick: not all clocks are equally fast."""
        return TICK + (sum(name.encode()) + self.random.randint(0, 2)) % 3

    def disk_delay(self) -> int:
        """Return how long a write takes."""
        return self.random.choice([1, 1, 2, 3, 3, 20 if not self._calm else 3])

    # --- the run

    def run(self) -> None:
        """Play the run. Raises ViolationError."""
        names = [next(self._names) for _ in range(self.random.choice([3, 3, 5]))]
        members = Members.of(names)
        for name in names:
            machine = self.machines[name] = Machine(name, self)
            machine.create(members)
            machine.boot()
        self._propose()
        self.fault_injector.begin()
        self._play(FAULTY)
        self._heal()
        self._play(self.now + HEALING, self._agreed)
        self._check()

    def _propose(self) -> None:
        value = b"v%d" % next(self._values)
        for machine in list(self.machines.values()):
            machine.propose(value)
        if not self._calm:
            self.later(self.random.randint(2, 25), self._propose)

    def refused(self, node: RawNode) -> bool:
        """Return whether a leader accepts no proposals just now."""
        return getattr(node.role, "lead_transferee", "") != ""

    def _heal(self) -> None:
        self.say("network", "heals")
        self._calm = True
        self.fault_injector.end()
        self.network.heal()
        for machine in self.machines.values():
            machine.disk.space = None
            if machine.node is None and not machine.broken:
                machine.boot()

    def restart_later(self, machine: Machine) -> None:
        """Start its process again after a while."""
        self.later(self.random.randint(10, 400), lambda: self._restart(machine))

    def _restart(self, machine: Machine) -> None:
        if machine.node is None and not machine.broken:
            machine.disk.space = None
            machine.boot()

    def new_name(self) -> str:
        """Return a name that no member ever had."""
        return next(self._names)

    # --- the end

    def leader(self) -> Machine | None:
        """Return the leader with the highest term."""
        leading = [m for m in self.machines.values() if m.node is not None and m.node.is_leader]
        return max(leading, key=lambda m: m.node.term if m.node else 0, default=None)

    def _agreed(self) -> bool:
        if self.fault_injector.last_proposal is None:
            leader = self.leader()
            if (
                leader is not None
                and leader.node is not None
                and leader.node.log.term(leader.node.log.commit) == leader.node.term
            ):
                self.fault_injector.last_proposal = b"last"
                leader.propose(b"last")
            return False
        if self.fault_injector.last_proposal not in self.judges.acknowledged:
            leader = self.leader()
            if leader is not None and leader.node is not None and not self._under_way(leader, leader.node):
                self.fault_injector.last_proposal = b"last%d" % next(self._values)
                leader.propose(self.fault_injector.last_proposal)
            return False
        end = max(self.judges.committed)
        return all(m.applied == end for m in self._members())

    def _under_way(self, leader: Machine, node: RawNode) -> bool:
        """Return whether something of the present leadership is not applied yet."""
        return any(
            term == node.term and index > leader.applied for index, (term, _) in leader.waiting.items()
        )

    def _members(self) -> list[Machine]:
        leader = self.leader()
        if leader is None or leader.node is None:
            return []
        members = [self.machines[name] for name in leader.node.members.all if name in self.machines]
        return [machine for machine in members if not machine.broken]

    def _check(self) -> None:
        if self.fault_injector.last_proposal not in self.judges.acknowledged:
            raise ViolationError("the group did not go on after everything was healed")
        end = max(self.judges.committed)
        for machine in self._members():
            if machine.applied != end:
                raise ViolationError(f"{machine.name} stopped at {machine.applied} of {end}")
            self.judges.at_the_end(machine.name, machine.applied, machine.chain, machine.values)

    def say(self, who: str, what: str) -> None:
        """Add a line to the trace."""
        if self.trace is not None:
            self.trace.append(f"{self.now:6} {who:>6}: {what}")
