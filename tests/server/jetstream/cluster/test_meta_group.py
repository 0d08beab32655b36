"""What a server knows of the meta group and its members, and how it proposes."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace as Plain
from typing import Any

import pytest
from lib.cluster import Lines
from lib.fake_clock import FakeClock
from pyjs.protocol.errors import ApiError
from pyjs.server.cluster.proposals import ProposalLostError
from pyjs.server.jetstream.cluster.meta_group import GATHERED, MetaGroup
from pyjs.server.jetstream.cluster.node_status import NodeReport, NodeStatuses
from pyjs.server.jetstream.cluster.proposer import FORWARD_SUBJECT, Proposer
from pyjs.server.jetstream.cluster.view import ClusterView
from pyjs.server.jetstream.meta.command import DeleteConsumer, PurgeAccount, decode, encode
from pyjs.server.jetstream.meta.node_info import NodeInfo
from pyjs.server.jetstream.meta.placement import ANYWHERE
from pyjs.server.jetstream.meta.responder import MetaRole
from pyjs.server.jetstream.meta.state_machine import MetaStateMachine


class Listener:
    """A `MetaGroupListener` that notes what it is told."""

    def __init__(self) -> None:
        self.reported: list[str] = []

    def restarted(self) -> None:
        self.reported.append("restarted")

    def act(self, action: Any) -> None:
        self.reported.append(type(action).__name__)

    def decided(self, effect: Any) -> None:
        self.reported.append(type(effect).__name__)

    def leading(self) -> None:
        self.reported.append("leading")

    def leader_changed(self) -> None:
        self.reported.append("leader_changed")


class SystemAccount:
    """The system account of one server: what it publishes, and what it subscribed to."""

    name = "SYS"

    def __init__(self) -> None:
        self.published: list[tuple[str, bytes]] = []
        self.receivers: dict[str, Any] = {}

    def subscribe(self, subject: str, callback: Any) -> str:
        self.receivers[subject] = callback
        return subject

    def unsubscribe(self, subscription: str) -> None:
        del self.receivers[subscription]

    def publish(self, subject: str, body: bytes) -> int:
        self.published.append((subject, body))
        return 1


class Group:
    """The meta group's member `A-1`, played. outcome: what each proposal comes to."""

    def __init__(self) -> None:
        self.node = Plain(term=3, accepts_proposals=True)
        self.members = Plain(all={"A-1", "B-1"}, voters={"A-1", "B-1"})
        self.leader, self.member, self.failure = "", "A-1", ""
        self.ready = False
        self.applied = 7
        self.proposed: list[bytes] = []
        self.outcome: Any = 8
        self.transferred: list[str] = []
        self.leadership = Plain(transfer=self.transferred.append)

    def propose(self, data: list[bytes], done: Any) -> None:
        self.proposed += data
        done(self.outcome)


class Server:
    """A server whose member of the meta group is played."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.listener = Listener()
        environment: Any = Plain(clock=self.clock, log=Lines())
        self.meta_group = MetaGroup(environment, self.listener)
        self.meta_group.state_machine = MetaStateMachine("A-1", self.listener.act, self.listener.decided)
        self.group: Any = Group()
        member: Any = Plain(group=self.group, failure="", member="A-1")
        self.meta_group._member = member
        self.node_statuses = NodeStatuses()
        self.system = SystemAccount()
        system: Any = self.system
        host: Any = Plain(cluster_name="mesh", clock=self.clock)
        self.view = ClusterView("A", system, host, self.meta_group, self.node_statuses, {}, {})
        self.proposer = Proposer(self.meta_group, self.view, Random(1), lambda: ANYWHERE)

    def lead(self) -> None:
        self.group.leader, self.group.ready = "A-1", True
        self.meta_group.leader_changed("A-1")
        self.meta_group.leading(self.group.applied)

    def report(self, member: str) -> None:
        self.node_statuses.update(
            NodeReport(NodeInfo(member, member, "mesh"), f"S{member}"), self.clock.now()
        )

    def admit(self, member: str, cluster: str = "mesh") -> None:
        self.view.state.servers[member] = NodeInfo(member, member, cluster)


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
    meta_group.leader_changed("B-1")
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
    assert server.listener.reported == ["leader_changed", "leading", "restarted"]


def test_a_leader_without_a_majority_answers_nobody() -> None:
    server = Server()
    server.lead()
    assert server.view.responder_state("A").meta is MetaRole.LEADER
    server.group.node.accepts_proposals = False
    assert server.view.responder_state("A").meta is MetaRole.FOLLOWER
    assert server.view.responder_state("SYS").system and not server.view.responder_state("A").system


def test_the_time_without_a_leader_is_counted() -> None:
    server = Server()
    server.lead()
    server.clock.advance(5)
    server.group.leader = ""
    server.meta_group.leader_changed("")
    server.clock.advance(7)
    status = server.view.leader_status
    assert (status.leader, status.since, status.ever) == ("", 7, True)


def test_only_a_leader_proposes_and_each_proposal_is_answered_once() -> None:
    server = Server()
    outcomes: list[Any] = []
    server.proposer.propose(PurgeAccount("A"), outcomes.append)
    assert [outcome.err_code for outcome in outcomes] == [10008]
    assert server.group.proposed == []
    server.lead()
    server.proposer.propose(PurgeAccount("A"), outcomes.append)
    assert outcomes[1:] == [[]]
    server.group.outcome = ProposalLostError("it is over")
    server.proposer.propose(PurgeAccount("A"), outcomes.append)
    assert len(outcomes) == 3 and outcomes[2].err_code == 10008
    assert server.group.proposed == [encode(PurgeAccount("A"))] * 2


def test_what_is_forwarded_reaches_whoever_leads() -> None:
    near, far = Server(), Server()
    far.proposer.start()
    command = DeleteConsumer("A", "S", "C", 5)
    near.proposer.forward(command)
    [(subject, body)] = near.system.published
    assert subject == FORWARD_SUBJECT
    receive = far.system.receivers[FORWARD_SUBJECT]
    receive(Plain(body=body))
    assert far.group.proposed == []  # it does not lead
    far.lead()
    receive(Plain(body=body))
    receive(Plain(body=b"no command"))
    receive(Plain(body=encode(PurgeAccount("A"))))  # nothing that servers may forward
    assert [decode(data) for data in far.group.proposed] == [command]
    far.proposer.forward(command)
    assert len(far.group.proposed) == 2 and far.system.published == []
    far.proposer.stop()
    assert far.system.receivers == {}


def test_the_lead_goes_to_a_voter_of_the_same_cluster_that_is_there() -> None:
    server = Server()
    refused = server.proposer.step_down("")
    assert refused is not None and refused.err_code == 10008
    server.lead()
    server.admit("A-1")
    server.admit("B-1", cluster="leaf")
    server.report("B-1")
    assert server.proposer.step_down("") is None  # it stays, as there is nobody else
    with pytest.raises(ApiError):
        server.proposer.successor()
    server.admit("B-1")
    assert server.proposer.successor() == "B-1"
    for stranger in ("C-1", "A-1"):
        refused = server.proposer.step_down(stranger)
        assert refused is not None and refused.err_code == 10005
    assert server.group.transferred == []
    assert server.proposer.step_down("") is None
    assert server.group.transferred == ["B-1"]
