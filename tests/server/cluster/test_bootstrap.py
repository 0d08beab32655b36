"""How a group begins and how incarnations are replaced: servers on a fake clock, without sockets."""

from __future__ import annotations

import pytest
from lib.cluster import Cluster, Member

NAMES = ("s0", "s1", "s2")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(*NAMES)


def test_all_present_begin_within_two_seconds(cluster: Cluster) -> None:
    cluster.start()
    assert cluster.until(cluster.leader) < 2
    cluster.commit("a", "b")
    cluster.until(cluster.converged, 5)
    assert cluster["s1"].tally.items == ["a", "b"]


def test_nobody_begins_while_one_is_missing(cluster: Cluster) -> None:
    cluster.start("s0", "s1")
    cluster.run(60)
    assert cluster.leader() is None
    assert all(cluster[name].member.group is None for name in ("s0", "s1"))  # type: ignore[union-attr]
    assert any("waits for" in line for line in cluster["s0"].log.lines)
    cluster.start("s2")
    assert cluster.until(lambda: cluster.converged(), 10) < 5


def test_everyone_comes_back_as_who_they_were(cluster: Cluster) -> None:
    cluster.start().commit("a", "b", "c")
    cluster.until(cluster.converged)
    before = cluster["s0"].group.members
    for name in NAMES:
        cluster[name].kill(power=True)
    cluster.start()
    assert cluster.until(cluster.leader) < 2
    cluster.commit("d")
    cluster.until(cluster.converged)
    assert cluster["s2"].group.members == before
    assert cluster["s2"].tally.items == ["a", "b", "c", "d"]


def test_two_wiped_of_three_make_no_empty_group(cluster: Cluster) -> None:
    cluster.start().commit("a")
    cluster.until(cluster.converged)
    for name in NAMES:
        cluster[name].kill()
    for name in ("s0", "s1"):
        cluster[name].wipe()
    cluster.start("s0", "s1")
    cluster.run(30)
    assert cluster.leader() is None
    cluster.start("s2")
    cluster.run(120)
    assert cluster.leader() is None, "who was left is no majority"
    assert cluster["s2"].tally.items == []
    assert cluster["s2"].group.health() == "there is no leader"
    texts = [cluster[name].member.quorum_diagnosis() for name in NAMES]  # type: ignore[union-attr]
    assert all(text.startswith("only 1 of its 3 members can vote; ") for text in texts)
    assert "s0, s1 came back without what was stored" in texts[2]
    assert "s1, this server came back without" in texts[0]
    cluster["s0"].kill()
    cluster.run(10)
    text = cluster["s2"].member.quorum_diagnosis()  # type: ignore[union-attr]
    assert "; 1 cannot be reached; s1 came back" in text


def test_with_a_leader_or_a_possible_one_the_quorum_is_not_lost(cluster: Cluster) -> None:
    cluster.start()
    cluster.until(cluster.leader)
    assert [cluster[name].member.quorum_diagnosis() for name in NAMES] == ["", "", ""]  # type: ignore[union-attr]
    leader = next(name for name in NAMES if cluster[name] is cluster.leader())
    cluster[leader].kill()
    other = next(name for name in NAMES if name != leader)
    for _ in range(60):
        cluster.run(0.05)
        assert cluster[other].member.quorum_diagnosis() == ""  # type: ignore[union-attr]


def test_who_lost_the_disk_is_replaced(cluster: Cluster) -> None:
    cluster.start().commit(*[f"v{i}" for i in range(120)])
    cluster.until(cluster.converged)
    old = cluster["s1"].group.member
    cluster["s1"].kill()
    cluster["s1"].wipe()
    cluster.commit("meanwhile")
    cluster.start("s1")
    cluster.until(cluster.converged, 30)
    assert cluster["s1"].group.member != old
    assert old not in cluster["s0"].group.members.all
    assert cluster["s1"].tally.items[-1] == "meanwhile"
    assert len(cluster["s1"].tally.items) == 121


@pytest.mark.parametrize("file", ["state", "life"])
@pytest.mark.parametrize("how", ["flip", "cut", "lose"])
def test_whose_state_cannot_be_read_is_replaced(cluster: Cluster, file: str, how: str) -> None:
    cluster.start().commit("a")
    cluster.until(cluster.converged)
    member = cluster["s2"]
    old = member.group.member
    member.kill()
    for path in [name for name in member.disk.seen if name.endswith((f"/{file}", f"/{file}.copy"))]:
        harm(member, path, how)
    cluster.commit("b")
    member.start()
    cluster.until(cluster.converged, 30)
    assert member.group.member != old
    assert member.tally.items == ["a", "b"]
    assert any("a new member" in line for line in member.log.lines)


def harm(member: Member, path: str, how: str) -> None:
    if how == "flip":
        member.disk.flip(path, 20)
    elif how == "cut":
        del member.disk.seen[path].seen[5:]
    else:
        member.disk.remove(path)


@pytest.mark.parametrize("name", ["life", "life.copy", "state", "state.copy"])
@pytest.mark.parametrize("how", ["flip", "cut", "lose"])
def test_lives_and_states_are_repaired_so_that_a_majority_may_be_damaged(
    cluster: Cluster, name: str, how: str
) -> None:
    cluster.start().commit("a")
    cluster.until(cluster.converged)
    before = {member.name: member.group.member for member in cluster.members.values()}
    for member in cluster.members.values():
        member.kill()
    for member in (cluster["s1"], cluster["s2"]):
        harm(member, next(path for path in member.disk.seen if path.endswith(f"/{name}")), how)
    cluster.start().commit("b")
    cluster.until(cluster.converged)
    assert {member.name: member.group.member for member in cluster.members.values()} == before
    for member in (cluster["s1"], cluster["s2"]):
        assert any(f"/{name}" in line and "rewritten" in line for line in member.log.lines)


def test_one_by_one_all_may_lose_their_disks(cluster: Cluster) -> None:
    cluster.start().commit("a")
    cluster.until(cluster.converged)
    for name in (*NAMES, *NAMES):
        cluster[name].kill()
        cluster[name].wipe()
        cluster[name].start()
        cluster.commit(f"after {name}")
        cluster.until(cluster.converged, 30)
    assert len(cluster["s0"].tally.items) == 7


def test_one_who_comes_later_is_added() -> None:
    cluster = Cluster(*NAMES, "s3")
    for name in NAMES:
        cluster[name].others = NAMES
    cluster.start(*NAMES).commit("a")
    cluster.start("s3")
    cluster.until(cluster.converged, 30)
    assert len(cluster["s3"].group.members.voters) == 4


def test_the_second_server_of_a_name_takes_no_part(cluster: Cluster) -> None:
    cluster.start().commit("a")
    cluster.until(cluster.converged)
    before = cluster["s0"].group.members
    twin = Cluster("s1")["s1"]
    twin.cluster = cluster
    twin.start()
    cluster.run(60)
    assert twin.member is not None and twin.member.group is None
    assert any("Another server is called 's1'" in line for line in twin.log.lines)
    assert any("Another server is called 's1'" in line for line in cluster["s1"].log.lines)
    cluster.commit("b")
    assert cluster["s0"].group.members == before


def test_two_of_one_name_found_nothing() -> None:
    cluster = Cluster(*NAMES)
    twin = Cluster("s1")["s1"]
    twin.cluster = cluster
    twin.start()
    cluster.start()
    cluster.run(30)
    assert cluster.leader() is None
    twin.kill()
    cluster.until(cluster.converged, 30)


def test_who_decided_alone_and_was_lost_holds_nobody_up(cluster: Cluster) -> None:
    """The one with the smallest id begins, and its word reaches nobody before its disk is lost."""
    cluster.start()
    cluster.until(lambda: any(m.member and m.member.group for m in cluster.members.values()))
    first = next(m for m in cluster.members.values() if m.member and m.member.group)
    first.kill()
    first.wipe()
    cluster.run(1)
    first.start()
    cluster.until(cluster.converged, 60)
    cluster.commit("a")


def test_foundings_that_contradict_each_other_end_as_one() -> None:
    """Routes that name different servers: two found with a third who can only go with one of them."""
    cluster = Cluster(*NAMES)
    for name, other in (("s0", "s1"), ("s1", "s0"), ("s2", "s0")):
        cluster[name].others = (other,)
    cluster.start()
    cluster.until(lambda: cluster.converged(), 60)
    cluster.commit("a")
    cluster.until(cluster.converged)


@pytest.mark.parametrize("seconds", [0.05 * n for n in range(1, 30)])
def test_a_restart_at_any_moment_of_the_beginning(seconds: float) -> None:
    cluster = Cluster(*NAMES).start()
    cluster.run(seconds)
    victim = cluster[NAMES[int(seconds * 20) % 3]]
    victim.kill(power=True)
    cluster.run(0.3)
    victim.start()
    cluster.until(cluster.converged, 60)
    cluster.commit("a")
    cluster.until(cluster.converged)


def test_a_disk_that_refuses_at_the_start_is_asked_again(cluster: Cluster) -> None:
    cluster["s0"].disk.fail("write")
    cluster.start()
    cluster.until(cluster.converged, 60)
    assert any("cannot start" in line for line in cluster["s0"].log.lines)


def test_stop_leaves_nothing(cluster: Cluster) -> None:
    cluster.start().commit("a")
    for name in NAMES:
        assert cluster[name].stop()
    cluster.run(1)
    assert cluster.clock.pending() == 0
    assert all(not m.disk.files and not m.executor.under_way for m in cluster.members.values())
    cluster.start()
    cluster.until(cluster.converged)
