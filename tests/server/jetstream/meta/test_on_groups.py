"""The meta state replicated by real groups: three servers on one fake clock, killed, cut off and wiped."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from lib.cluster import Cluster, Member, Owner
from lib.meta_fixture import check, config
from pyjs.protocol.errors import ApiError
from pyjs.server.cluster.proposals import ProposalError
from pyjs.server.jetstream.meta.command import Command, DeleteStream, encode
from pyjs.server.jetstream.meta.effect import CommandRejected, Effect, StaleCommand, StreamCreated
from pyjs.server.jetstream.meta.node_info import NodeInfo, NodeStatus
from pyjs.server.jetstream.meta.planner import ApiClient, MetaPlanner
from pyjs.server.jetstream.meta.reconcile import CloseReplica, OpenReplica, ReconcileAction, ReplicaOnDisk
from pyjs.server.jetstream.meta.snapshot import take
from pyjs.server.jetstream.meta.state_machine import MetaStateMachine

NAMES = ("s0", "s1", "s2")
REQUESTER = ApiClient({}, ["C"])


class MetaMember(Member):
    """A server of the meta group. on_disk: the streams on its disk."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        super().__init__(cluster, name)
        self.compact_entries = 20
        self.owner = Leads(self)
        self.state_machine: MetaStateMachine | None = None
        self.on_disk: dict[tuple[str, str], ReplicaOnDisk] = {}

    def _application(self) -> Any:
        assert self.member is not None
        self.state_machine = MetaStateMachine(self.member.member, self._do, lambda _: None)
        return self.state_machine

    def _do(self, action: ReconcileAction) -> None:
        if isinstance(action, OpenReplica):
            self.on_disk[action.stream.account, action.stream.name] = ReplicaOnDisk(
                action.stream.group, action.stream.created
            )
        elif isinstance(action, CloseReplica):
            del self.on_disk[action.stream.account, action.stream.name]


class Leads(Owner):
    """Tells the machine who leads."""

    def __init__(self, member: MetaMember) -> None:
        super().__init__()
        self.member = member

    def leading(self, applied: int) -> None:
        super().leading(applied)
        assert self.member.state_machine is not None
        self.member.state_machine.lead()

    def following(self) -> None:
        super().following()
        assert self.member.state_machine is not None
        self.member.state_machine.follow()


class MetaCluster(Cluster):
    """Servers whose meta leader does what was asked, again and again until it is decided."""

    def __init__(self) -> None:
        super().__init__()
        self.random = Random(5)
        for name in NAMES:
            self.members[name] = MetaMember(self, name)

    def machine(self, name: str) -> MetaStateMachine:
        found = self.members[name]
        assert isinstance(found, MetaMember) and found.state_machine is not None
        return found.state_machine

    def planner(self) -> MetaPlanner:
        leader = self.led()
        there = {
            m.group.member
            for m in self.members.values()
            if m.member is not None and m.member.group is not None
        }
        state = self.machine(leader.name).state
        return MetaPlanner(state, {one: NodeStatus() for one in there}, self.random)

    def decide(self, command: Command) -> list[Effect]:
        """Propose at the leader. Raises ProposalError."""
        leader = self.led()
        found: list[object] = []
        leader.group.propose([encode(command)], found.append)
        self.until(lambda: found, 30)
        if isinstance(found[0], ProposalError):
            raise found[0]
        assert isinstance(found[0], int)
        return self.machine(leader.name).outcome(found[0])

    def create(self, name: str, **asked: Any) -> None:
        for _ in range(20):
            planner = self.planner()
            try:
                command = planner.create_stream(
                    planner.state.view("A"), config(name, **asked), REQUESTER, self.clock.now()
                )
                effects = self.decide(command)
            except (ProposalError, ApiError):
                self.run(0.5)
                continue
            if not any(isinstance(effect, StaleCommand | CommandRejected) for effect in effects):
                return
        raise AssertionError(f"{name} is not to be had")

    def admit(self) -> None:
        """Let in all servers that are members, as their leader does."""
        for member in self.members.values():
            self.until(lambda member=member: member.group.member in self.led().group.members.voters)  # type: ignore[misc]
            command = self.planner().admit(NodeInfo(member.group.member, member.name, "C"))
            if command is not None:
                self.decide(command)

    def alike(self) -> bool:
        groups = [member.group for member in self.members.values() if member.member is not None]
        return len({group.applied for group in groups}) == 1 and groups[0].applied == self.led().group.commit

    def verify(self) -> None:
        """All states are equal, and every server holds what is assigned to it."""
        self.until(self.alike, 60)
        states = {take(self.machine(name).state) for name in NAMES}
        assert len(states) == 1
        check(self.machine(NAMES[0]).state)


@pytest.fixture
def cluster() -> MetaCluster:
    made = MetaCluster()
    made.start()
    made.led()
    made.until(lambda: len(made.led().group.members.voters) == 3)
    made.admit()
    made.until(made.alike)
    for name in NAMES:
        member = made.members[name]
        assert isinstance(member, MetaMember)
        assert list(made.machine(name).begin(member.on_disk)) == []
    return made


def on_disk(cluster: MetaCluster, name: str) -> dict[tuple[str, str], ReplicaOnDisk]:
    member = cluster.members[name]
    assert isinstance(member, MetaMember)
    return member.on_disk


def wanted(cluster: MetaCluster, name: str) -> dict[tuple[str, str], ReplicaOnDisk]:
    state_machine = cluster.machine(name)
    return {
        (s.account, s.name): ReplicaOnDisk(s.group, s.created)
        for s in state_machine.state.assigned_to(state_machine.me)
    }


def test_what_is_decided_is_decided_everywhere(cluster: MetaCluster) -> None:
    for number in range(5):
        cluster.create(f"S{number}", replicas=1 + 2 * (number % 2))
    [effect] = cluster.decide(DeleteStream("A", "S1"))
    assert not isinstance(effect, CommandRejected)
    cluster.verify()
    for name in NAMES:
        assert on_disk(cluster, name) == wanted(cluster, name)
    [refused] = cluster.decide(DeleteStream("A", "S1"))
    assert isinstance(refused, CommandRejected) and refused.error.err_code == 10059


def test_another_leader_goes_on_and_who_was_away_catches_up(cluster: MetaCluster) -> None:
    cluster.create("before")
    old = cluster.led()
    old.kill(power=True)
    cluster.create("meanwhile", replicas=1)
    for number in range(30):  # more than the log keeps: it comes back by a snapshot
        cluster.create(f"T{number}", replicas=1)
    cluster.decide(DeleteStream("A", "T3"))
    old.start()
    cluster.until(lambda: old.member is not None and old.member.group is not None and old.group.leader, 30)
    cluster.verify()
    assert "A T3" not in {f"{s.account} {s.name}" for s in cluster.machine(old.name).state.every_stream()}
    # what it holds and what it should: given at its start
    actions = list(cluster.machine(old.name).begin(on_disk(cluster, old.name)))
    assert {type(action).__name__ for action in actions} <= {"RecoverReplica", "OpenReplica"}
    cluster.create("after")
    cluster.verify()
    assert ("A", "after") in on_disk(cluster, old.name)


def test_a_wiped_server_takes_its_own_place(cluster: MetaCluster) -> None:
    cluster.create("S")
    lost = next(member for member in cluster.members.values() if member is not cluster.led())
    former = lost.group.member
    lost.kill()
    lost.wipe()
    assert isinstance(lost, MetaMember)
    lost.on_disk = {}
    lost.start()
    cluster.until(lambda: lost.member is not None and lost.member.group is not None and lost.group.leader, 60)
    cluster.until(lambda: lost.group.member in cluster.led().group.members.voters, 60)
    assert lost.group.member != former
    cluster.admit()
    cluster.verify()
    stream = cluster.machine(lost.name).state.stream("A", "S")
    assert stream is not None and former not in stream.members and lost.group.member in stream.peers
    [action] = cluster.machine(lost.name).begin({})
    assert action == OpenReplica(stream)
    assert former in cluster.machine(NAMES[0]).state.retired


def test_a_cut_off_leader_decides_nothing(cluster: MetaCluster) -> None:
    old = cluster.led()
    for name in NAMES:
        if name != old.name:
            cluster.bus.cuts.add(frozenset({old.name, name}))
    planner = cluster.planner()
    command = planner.create_stream(planner.state.view("A"), config("lonely"), REQUESTER, 5)
    found: list[object] = []
    old.group.propose([encode(command)], found.append)
    cluster.until(lambda: any(m is not old and m.group.ready for m in cluster.members.values()), 30)
    other = next(m for m in cluster.members.values() if m is not old and m.group.ready)
    answered: list[object] = []
    again = MetaPlanner(cluster.machine(other.name).state, planner.node_statuses, cluster.random)
    command = again.create_stream(again.state.view("A"), config("S"), REQUESTER, 6)
    other.group.propose([encode(command)], answered.append)
    cluster.until(lambda: answered, 30)
    assert isinstance(answered[0], int)
    [made] = cluster.machine(other.name).outcome(answered[0])
    assert isinstance(made, StreamCreated)
    cluster.bus.cuts.clear()
    cluster.until(lambda: found, 60)
    assert isinstance(found[0], ProposalError)
    cluster.verify()
    assert [s.name for s in cluster.machine(old.name).state.every_stream()] == ["S"]
