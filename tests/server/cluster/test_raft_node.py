"""Group: proposals, snapshots, restarts and failing disks, on a fake clock."""

from __future__ import annotations

import pytest
from lib.cluster import FOLDER, Cluster, Member
from pyjs.server.cluster.proposals import ProposalError, ProposalLostError, ProposalUnknownError

NAMES = ("s0", "s1", "s2")


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster(*NAMES).start()
    made.until(made.converged)
    return made


def test_a_proposal_is_answered_when_it_is_applied(cluster: Cluster) -> None:
    leader = cluster.led()
    outcomes: list[tuple[object, list[str]]] = []
    leader.group.propose([b"a", b"b"], lambda outcome: outcomes.append((outcome, list(leader.tally.items))))
    assert outcomes == []
    cluster.until(lambda: outcomes)
    [(index, items)] = outcomes
    assert items == ["a", "b"]
    assert index == leader.group.applied


def test_all_of_one_turn_go_out_together(cluster: Cluster) -> None:
    leader = cluster.led()
    outcomes: list[object] = []
    writes, published = leader.disk.syncs, cluster.bus.published
    for i in range(40):
        leader.group.propose([b"v%d" % i], outcomes.append)
    cluster.until(lambda: len(outcomes) == 40)
    assert leader.disk.syncs - writes == 1
    assert cluster.bus.published - published < 20
    assert outcomes == sorted(outcomes)  # type: ignore[type-var]


def test_what_is_larger_than_a_piece_arrives(cluster: Cluster) -> None:
    cluster.commit("x" * 10_000)
    cluster.until(cluster.converged)
    assert cluster.bus.largest < 600
    assert all(member.tally.items == ["x" * 10_000] for member in cluster.members.values())


def test_who_does_not_lead_refuses_at_once(cluster: Cluster) -> None:
    leader = cluster.led()
    other = next(m for m in cluster.members.values() if m is not leader)
    outcomes: list[object] = []
    other.group.propose([b"a"], outcomes.append)
    assert isinstance(outcomes[0], ProposalLostError)
    assert leader.group.member in str(outcomes[0])


def test_what_a_cut_off_leader_took_is_lost_or_unknown(cluster: Cluster) -> None:
    old = cluster.led()
    for name in NAMES:
        if name != old.name:
            cluster.bus.cuts.add(frozenset({old.name, name}))
    outcomes: list[object] = []
    old.group.propose([b"never"], outcomes.append)
    cluster.until(lambda: any(m.group.ready for m in cluster.members.values() if m is not old), 20)
    cluster.members = {name: m for name, m in cluster.members.items() if m is not old}
    cluster.commit("b")
    cluster.bus.cuts.clear()
    cluster.until(lambda: outcomes, 30)
    assert isinstance(outcomes[0], ProposalError)
    cluster.until(lambda: old.tally.items == ["b"], 30)
    assert old.owner.news.count("leading") == old.owner.news.count("following") == 1


def test_snapshots_are_taken_and_given_to_who_is_late(cluster: Cluster) -> None:
    leader = cluster.led()
    late = next(m for m in cluster.members.values() if m is not leader)
    late.kill()
    cluster.commit(*[f"v{i}" for i in range(200)])
    snapshot = leader.group.node.log.snapshot  # type: ignore[union-attr]
    assert snapshot.index > 100
    late.start()
    cluster.until(cluster.converged, 30)
    assert late.tally.restored == 1
    assert len(late.tally.items) == 200


def test_when_snapshots_are_taken_may_change(cluster: Cluster) -> None:
    leader = cluster.led()

    def commit(count: int) -> int:
        """The index of the snapshot after so many more entries."""
        cluster.commit(*(str(number) for number in range(count)))
        cluster.run(2)  # seconds, the pause between two snapshots
        assert leader.group.node is not None
        return leader.group.node.log.snapshot.index

    leader.compaction.entries = 1000
    assert commit(60) == 0  # without it, one is taken after 50
    leader.compaction.entries = 5
    assert (first := commit(1)) > 50
    leader.compaction.entries = 1000
    assert commit(30) == first
    leader.compaction.bytes = 10
    assert commit(1) > first


def test_all_restart_from_snapshots_and_logs(cluster: Cluster) -> None:
    items = [f"v{i}" for i in range(130)]
    cluster.commit(*items)
    for name in NAMES:
        cluster[name].kill(power=True)
    cluster.start()
    cluster.until(lambda: cluster.converged() and cluster["s0"].tally.items == items, 30)
    assert cluster["s0"].tally.restored == 1


def test_who_is_durable_by_itself_gets_nothing_twice(cluster: Cluster) -> None:
    cluster.commit(*[f"v{i}" for i in range(30)])
    cluster.until(cluster.converged)
    member = cluster["s1"]
    member.durable = (member.group.applied, list(member.tally.items))
    member.kill()
    cluster.commit("more")
    member.start()
    cluster.until(cluster.converged, 30)
    assert member.tally.items[-2:] == ["v29", "more"]  # Tally asserts that no index comes twice


def test_a_lost_log_behind_a_durable_application_catches_up(cluster: Cluster) -> None:
    """The application remembers more than its log: it is given only what is new to it."""
    cluster.commit(*[f"v{i}" for i in range(30)])
    cluster.until(cluster.converged)
    member = cluster["s1"]
    member.durable = (member.group.applied, list(member.tally.items))
    member.kill()
    path = max(name for name in member.disk.seen if "/log." in name)
    del member.disk.seen[path].seen[200:]
    member.start()
    cluster.run(0.5)
    assert member.group.disk_loss
    cluster.commit("more")
    cluster.until(lambda: cluster.converged() and not member.group.health(), 30)
    assert member.tally.items[-2:] == ["v29", "more"]
    assert member.tally.restored == 0


@pytest.mark.parametrize("operation", ["write", "sync", "rename", "sync_directory"])
def test_a_leader_whose_disk_refuses_gives_up_its_place_and_returns(cluster: Cluster, operation: str) -> None:
    old = cluster.led()
    cluster.commit(*[f"v{i}" for i in range(45)])
    old.disk.fail(operation, path=FOLDER)
    cluster.propose(*[f"w{i}" for i in range(10)])
    cluster.until(lambda: "failed" in old.owner.news, 10)
    assert "cannot" in old.group.health()
    took = cluster.until(lambda: any(m.group.ready for m in cluster.members.values() if m is not old))
    assert took < 2
    cluster.commit("b")
    cluster.until(cluster.converged, 60)
    assert old.group.health() == ""


def test_a_full_disk_of_everyone_ends_when_there_is_room(cluster: Cluster) -> None:
    cluster.commit("a")
    for name in NAMES:
        cluster[name].disk.space = 50
    cluster.propose("b" * 1000)
    cluster.run(30)
    assert cluster.leader() is None
    for name in NAMES:
        cluster[name].disk.space = None
    cluster.until(cluster.converged, 60)
    cluster.commit("c")
    cluster.until(cluster.converged, 60)
    assert cluster["s0"].tally.items in (["a", "c"], ["a", "b" * 1000, "c"])


def test_a_leader_whose_disk_does_not_answer_hands_over(cluster: Cluster) -> None:
    old = cluster.led()
    old.executor.stuck = True
    outcomes = cluster.propose("a")
    cluster.until(lambda: any(m.group.ready for m in cluster.members.values() if m is not old), 20)
    assert "does not answer" in old.group.health()
    old.executor.unstick()
    cluster.until(lambda: outcomes and cluster.converged(), 20)
    assert not isinstance(outcomes[0], ProposalError)


def test_an_application_that_raises_ends_its_member_alone(cluster: Cluster) -> None:
    leader = cluster.led()
    victim = next(m for m in cluster.members.values() if m is not leader)
    victim.tally.broken = True
    cluster.commit("a")
    cluster.until(lambda: victim.group.failure)
    assert "ValueError" in victim.group.failure
    cluster.commit("b")
    assert leader.tally.items == ["a", "b"]


def test_stop_answers_what_is_under_way(cluster: Cluster) -> None:
    leader = cluster.led()
    outcomes: list[object] = []
    leader.group.propose([b"a"], outcomes.append)
    leader.group.propose([b"b"], outcomes.append)
    assert leader.stop()
    assert len(outcomes) == 2
    assert all(isinstance(outcome, (ProposalLostError, ProposalUnknownError)) for outcome in outcomes)
    assert not leader.disk.files


def test_a_lost_route_to_the_leader_shortens_the_wait(cluster: Cluster) -> None:
    old = cluster.led()
    server = old.member._environment.server  # type: ignore[union-attr]
    old.kill()
    for member in cluster.members.values():
        if member is not old:
            member.member.server_lost(server)  # type: ignore[union-attr]
    assert cluster.until(cluster.leader) < 1.1


def test_without_a_word_from_the_leader_another_is_found(cluster: Cluster) -> None:
    cluster.led().kill()
    assert cluster.until(cluster.leader) < 6


def test_a_transfer_changes_the_leader_and_loses_nothing(cluster: Cluster) -> None:
    old = cluster.led()
    to = next(m for m in cluster.members.values() if m is not old)
    outcomes = cluster.propose("a")
    cluster.run(0.001)
    old.group.leadership.transfer(to.group.member)
    assert cluster.until(lambda: to.group.ready) < 0.2
    cluster.until(lambda: outcomes)
    assert outcomes[0] == old.group.applied - 1 or not isinstance(outcomes[0], ProposalError)


def test_an_idle_group_writes_nothing(cluster: Cluster) -> None:
    cluster.run(5)
    syncs = sum(m.disk.syncs for m in cluster.members.values())
    published = cluster.bus.published
    cluster.run(10)
    assert sum(m.disk.syncs for m in cluster.members.values()) == syncs
    assert cluster.bus.published - published <= 10 * 2 * 4 + 8


def slow(member: Member) -> list[int]:
    """Let its application rest for ever, until that is taken off the list."""
    forever = [1]
    member.executor.turn = 1_000_000
    member.rests = lambda: bool(forever)
    return forever


def test_nothing_is_asked_of_an_application_that_is_applying(cluster: Cluster) -> None:
    leader = cluster.led()
    forever = slow(leader)
    outcomes: list[object] = []
    leader.group.propose([b"slow"], outcomes.append)
    cluster.until(lambda: leader.tally.between)
    before = leader.group.applied
    for number in range(60):  # more than a snapshot is taken after
        leader.group.propose([b"v%d" % number], outcomes.append)
    cluster.run(3)
    others = [member for member in cluster.members.values() if member is not leader]
    assert all("v59" in member.tally.items for member in others)  # they go on
    assert (outcomes, leader.group.applied, leader.tally.between) == ([], before, True)
    forever.clear()
    cluster.until(cluster.converged)
    assert len(outcomes) == 61
    assert leader.tally.items[-61:] == ["slow", *[f"v{number}" for number in range(60)]]


def test_who_becomes_leader_serves_once_all_is_applied(cluster: Cluster) -> None:
    leader = cluster.led()
    other = next(member for member in cluster.members.values() if member is not leader)
    forever = slow(other)
    cluster.commit("slow")
    cluster.until(lambda: other.tally.between)
    leader.group.leadership.transfer(other.group.member)
    cluster.until(lambda: other.group.is_leader)
    cluster.run(2)
    assert not other.group.ready
    forever.clear()
    cluster.until(lambda: other.group.ready)
    assert other.tally.items == ["slow"]


def test_a_snapshot_comes_after_what_is_being_applied(cluster: Cluster) -> None:
    other = next(member for member in cluster.members.values() if member is not cluster.led())
    forever = slow(other)
    cluster.commit("slow")
    cluster.until(lambda: other.tally.between)
    cluster.bus.cuts = {frozenset({other.name, name}) for name in NAMES if name != other.name}
    for number in range(120):
        cluster.commit(f"v{number}")
    cluster.bus.cuts.clear()
    cluster.run(5)
    assert (other.tally.restored, other.tally.between) == (0, True)
    forever.clear()
    cluster.until(cluster.converged)
    assert other.tally.restored == 1


def test_a_stop_comes_after_what_is_being_applied(cluster: Cluster) -> None:
    member = cluster.led()
    forever = slow(member)
    cluster.propose("slow")
    cluster.until(lambda: member.tally.between)
    assert member.member is not None
    over: list[bool] = []
    member.member.stop(lambda: over.append(member.tally.between))
    cluster.run(1)
    assert over == []
    forever.clear()
    cluster.until(lambda: over)
    assert over == [False]


def test_a_member_whose_disk_refused_applies_to_the_end(cluster: Cluster) -> None:
    leader = cluster.led()
    forever = slow(leader)
    cluster.propose("slow")
    cluster.until(lambda: leader.tally.between)
    tally = leader.tally
    leader.disk.fail("write")
    leader.group.propose([b"refused"], lambda _: None)
    cluster.until(lambda: leader.group.failure)
    forever.clear()
    cluster.until(lambda: not tally.between)
    assert tally.items == ["slow"]
    cluster.until(cluster.converged)


def test_an_application_that_raises_in_a_step_ends_its_member(cluster: Cluster) -> None:
    leader = cluster.led()
    forever = slow(leader)
    cluster.propose("unheard of")
    cluster.until(lambda: leader.tally.between)
    assert not leader.group.failure
    forever.clear()
    cluster.until(lambda: leader.group.failure)
    assert "cannot apply what was decided: ValueError" in leader.group.failure
    assert leader.stop()
