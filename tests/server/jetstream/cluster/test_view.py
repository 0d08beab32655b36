"""What a server knows of its cluster."""

from __future__ import annotations

from types import SimpleNamespace as Plain
from typing import Any

from lib.cluster import Lines
from lib.fake_clock import FakeClock
from pyjs.server.jetstream.cluster.meta_group import GATHERED, MetaGroup
from pyjs.server.jetstream.cluster.node_report import NodeReport
from pyjs.server.jetstream.cluster.node_status import NodeStatuses
from pyjs.server.jetstream.cluster.view import ClusterView
from pyjs.server.jetstream.meta.node_info import NodeInfo
from pyjs.server.jetstream.meta.responder import MetaRole
from pyjs.server.jetstream.meta.state_machine import MetaStateMachine


class Listener:
    """A `MetaGroupListener` that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def restarted(self) -> None:
        self.told.append("restarted")

    def act(self, action: Any) -> None:
        self.told.append(type(action).__name__)

    def decided(self, effect: Any) -> None:
        self.told.append(type(effect).__name__)

    def leading(self) -> None:
        self.told.append("leading")

    def leader_changed(self) -> None:
        self.told.append("leader_changed")


class Server:
    """The meta group's member `A-1`, played, and the view of its server."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.listener = Listener()
        environment: Any = Plain(clock=self.clock, log=Lines())
        self.meta_group = MetaGroup(environment, self.listener)
        self.meta_group.state_machine = MetaStateMachine("A-1", self.listener.act, self.listener.decided)
        node = Plain(term=3, accepts=True)
        members = Plain(all={"A-1", "B-1"}, voters={"A-1", "B-1"})
        self.group: Any = Plain(
            node=node, members=members, leader="", ready=False, applied=7, failure="", member="A-1"
        )
        self.meta_group._member = Plain(group=self.group, failure="", member="A-1")  # type: ignore[assignment]
        self.node_statuses = NodeStatuses()
        system: Any = Plain(name="SYS")
        self.view = ClusterView("A", "mesh", system, self.clock, self.meta_group, self.node_statuses, {}, {})

    def lead(self) -> None:
        self.group.leader, self.group.ready = "A-1", True
        self.meta_group.leader_changed(self.group)
        self.meta_group.leading(self.group)

    def report(self, member: str) -> None:
        self.node_statuses.update(NodeReport(NodeInfo(member, member), f"S{member}"), self.clock.now())

    def admit(self, member: str) -> None:
        self.view.state.servers[member] = NodeInfo(member, member)


def test_a_leader_gathers_until_all_members_reported_or_for_a_while() -> None:
    server = Server()
    assert not server.view.gathering
    server.lead()
    assert server.view.gathering
    server.admit("A-1")
    server.admit("B-1")
    server.report("A-1")
    assert server.view.gathering  # B was admitted, but has not reported since it started
    server.report("B-1")
    assert not server.view.gathering
    server.admit("C-1")
    server.group.members.all.add("C-1")
    assert server.view.gathering
    server.clock.advance(GATHERED + 1)
    assert not server.view.gathering


def test_a_server_is_current_when_it_has_applied_what_the_leader_had_and_is_admitted() -> None:
    server = Server()
    group, meta_group = server.group, server.meta_group
    group.leader = "B-1"
    meta_group.leader_changed(group)
    server.admit("A-1")
    assert not meta_group.current
    meta_group.leader_is_at("B-1", 2, 5)  # of another term
    meta_group.leader_is_at("C-1", 3, 5)  # it does not lead
    assert not meta_group.current
    meta_group.leader_is_at("B-1", 3, 8)
    assert not meta_group.current
    meta_group.leader_is_at("B-1", 3, 7)  # what it announced first counts
    assert not meta_group.current
    group.applied = 8
    assert meta_group.current
    del server.view.state.servers["A-1"]
    assert not meta_group.current


def test_serving_ends_with_the_state_machine() -> None:
    server = Server()
    server.admit("A-1")
    server.lead()
    assert server.meta_group.current and not server.view.served
    assert list(server.meta_group.begin({})) == []
    assert server.view.served
    server.meta_group._make()
    assert not server.view.served and not server.meta_group.current
    assert server.view.state.servers == {}
    assert server.listener.told == ["leader_changed", "leading", "restarted"]


def test_a_leader_without_a_majority_answers_nobody() -> None:
    server = Server()
    server.lead()
    assert server.view.responder_state("A").meta is MetaRole.LEADER
    server.group.node.accepts = False
    assert server.view.responder_state("A").meta is MetaRole.FOLLOWER
    assert server.view.responder_state("SYS").system and not server.view.responder_state("A").system


def test_the_time_without_a_leader_is_counted() -> None:
    server = Server()
    server.lead()
    server.clock.advance(5)
    server.group.leader = ""
    server.meta_group.leader_changed(server.group)
    server.clock.advance(7)
    status = server.view.leader_status
    assert (status.leader, status.since, status.ever) == ("", 7, True)
