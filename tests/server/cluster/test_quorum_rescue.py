"""The rescue of a group that has lost its majority for good."""

from __future__ import annotations

from lib.cluster import Cluster, Member
from pyjs.raft import Members
from pyjs.server.cluster.quorum_rescue import RESCUE_TICKS

FIVE = ("a", "b", "c", "d", "e")


def stuck(*names: str) -> tuple[Cluster, list[Member]]:
    """A group of which all but two members are gone for good, with those two."""
    cluster = Cluster(*names).start()
    cluster.commit("one", "two")
    cluster.until(cluster.converged)
    left = list(cluster.members.values())[:2]
    for member in list(cluster.members.values())[2:]:
        member.kill()
    cluster.until(lambda: not any(member.group.leader for member in left))
    cluster.run(20)
    assert cluster.leader() is None
    return cluster, left


def test_those_that_are_left_elect_a_leader_and_decide() -> None:
    cluster, left = stuck(*FIVE)
    for member in left:
        assert member.group.rescue.lower(2) == ""
        assert member.group.rescue.quorum == 2
    cluster.commit("three")
    cluster.until(lambda: all(member.tally.items == ["one", "two", "three"] for member in left))
    assert any("unsafe quorum rescue applied: 2 in place of 3" in line for line in left[0].log.lines)


def test_it_ends_when_the_group_has_shrunk() -> None:
    cluster, left = stuck(*FIVE)
    for member in left:
        member.group.rescue.lower(2)
    leader = cluster.led()
    cluster.run(1)
    for voters in range(4, 2, -1):
        members = leader.group.members
        gone = next(one for one in sorted(members.voters) if one not in {m.group.member for m in left})
        leader.group.change_members(Members.of(members.voters - {gone}))
        cluster.until(lambda voters=voters: len(left[0].group.members.voters) == voters)  # type: ignore[misc]
        cluster.run(1)
    assert leader.group.members.quorum == 2 and not leader.group.rescue.active
    cluster.commit("four")


def test_it_expires() -> None:
    cluster, left = stuck(*FIVE)
    for member in left:
        member.group.rescue.lower(2)
    cluster.led()
    cluster.run(RESCUE_TICKS / 4 + 10)  # four ticks a second
    assert cluster.leader() is None and left[0].group.rescue.quorum == 3
    assert not any(member.group.rescue.active for member in left)


def test_it_is_refused_where_it_would_help_nobody() -> None:
    cluster = Cluster("a", "b", "c").start()
    cluster.commit("one")
    one = cluster["a"].group
    assert one.rescue.lower(1) == "raft: leader is known"
    for wrong in (0, 3):
        assert one.rescue.lower(wrong) == "raft: rescue quorum must be between 1 and current quorum"
    one.give_up(RuntimeError("x"))
    assert one.rescue.lower(1) == "raft: node is closed"
