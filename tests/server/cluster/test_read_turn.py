"""A proposal that somebody awaits who alone sends anything: at the end of the read, without a thread."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from lib.cluster import FOLDER, MILLISECOND, Cluster, Member
from pyjs.server.cluster import raft_node
from pyjs.server.cluster.read_turn import AWAITED_BYTES
from pyjs.server.loop_writes import ALONE, QUICK, SLOW

NAMES = ("s0", "s1", "s2")
CLIENT, OTHER = 1, 2


def takes(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let every write take so long."""
    times = itertools.count(0.0, seconds)
    monkeypatch.setattr(raft_node, "perf_counter", lambda: next(times))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A group whose disks have been quick often enough, and one client, which sent something a while ago."""
    takes(monkeypatch, 0.0)
    made = Cluster(*NAMES)
    for member in made.members.values():
        member.reads = True
    made.start()
    made.until(made.converged)
    for number in range(QUICK):
        made.commit(f"v{number}")
    made.until(made.converged)
    made.led().client.read(CLIENT, lambda: None)
    made.clock.advance(ALONE)
    return made


def read(member: Member, *items: str, connection: int = CLIENT) -> list[object]:
    """Propose what one read of a client has brought; return the outcomes, which come later."""
    outcomes: list[object] = []

    def serve() -> None:
        for item in items:
            member.group.propose([item.encode()], outcomes.append)

    member.client.read(connection, serve)
    return outcomes


def all_came(outcomes: list[object], count: int) -> bool:
    return len(outcomes) == count


def jobs(cluster: Cluster) -> int:
    return sum(member.executor.under_way for member in cluster.members.values())


def test_who_awaits_it_alone_waits_for_no_turn_and_no_thread(cluster: Cluster) -> None:
    leader = cluster.led()
    syncs, published = {m: m.disk.syncs for m in cluster.members.values()}, cluster.bus.published
    outcomes = read(leader, "a")
    assert (leader.disk.syncs - syncs[leader], cluster.bus.published - published) == (1, 2)
    cluster.clock.advance(MILLISECOND)
    assert [m.disk.syncs - count for m, count in syncs.items()] == [1, 1, 1]
    assert (jobs(cluster), outcomes) == (0, [])
    cluster.clock.advance(MILLISECOND)
    assert outcomes == [leader.group.applied]
    cluster.until(cluster.converged)
    assert all(m.tally.items[-1] == "a" for m in cluster.members.values())
    again = read(leader, "b")  # the servers' own messages were not somebody else's
    cluster.clock.advance(2 * MILLISECOND)
    assert again == [leader.group.applied]


def test_the_followers_have_it_before_the_leader_syncs(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = cluster.led()
    published, seen = cluster.bus.published, []
    sync = leader.disk.sync

    def watched(file: int) -> None:
        seen.append(cluster.bus.published - published)
        sync(file)

    monkeypatch.setattr(leader.disk, "sync", watched)
    read(leader, "a")
    assert seen == [2]


def test_more_than_one_proposal_and_a_large_one_wait_for_the_turn(cluster: Cluster) -> None:
    leader = cluster.led()
    syncs = leader.disk.syncs
    for items in (("a", "b"), ("c" * (AWAITED_BYTES + 1),)):
        outcomes = read(leader, *items)
        assert leader.disk.syncs == syncs
        cluster.clock.advance(0)
        assert leader.executor.under_way == 1
        cluster.until(partial(all_came, outcomes, len(items)))
        cluster.until(cluster.converged)
        cluster.clock.advance(ALONE)
        syncs = leader.disk.syncs


def test_where_another_client_sends_the_thread_writes(cluster: Cluster) -> None:
    leader = cluster.led()
    leader.client.read(OTHER, lambda: None)
    cluster.clock.advance(ALONE - 1)
    syncs = leader.disk.syncs
    outcomes = read(leader, "a")
    cluster.clock.advance(0)
    assert (leader.disk.syncs, leader.executor.under_way) == (syncs, 1)
    cluster.until(lambda: outcomes)


def test_where_another_group_writes_the_thread_writes(cluster: Cluster) -> None:
    leader = cluster.led()
    leader.transport.turn.alone("another")
    syncs = leader.disk.syncs
    outcomes = read(leader, "a")
    cluster.clock.advance(0)
    assert (leader.disk.syncs, leader.executor.under_way) == (syncs, 1)
    cluster.until(lambda: outcomes)


def test_a_group_that_writes_much_is_noted_too(cluster: Cluster) -> None:
    leader, alone = cluster.led(), []
    turn = leader.transport.turn
    turn.alone("another")
    cluster.clock.advance(ALONE)
    outcomes = read(leader, "c" * (AWAITED_BYTES + 1))
    cluster.clock.advance(0)
    assert leader.executor.under_way == 1
    leader.client.read(CLIENT, lambda: alone.append(turn.alone("another")))
    assert alone == [False]
    cluster.until(lambda: outcomes)


def test_a_group_writes_on_after_a_flush_that_failed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = cluster.led()

    def fail() -> None:
        raise RuntimeError("no flush")

    with monkeypatch.context() as broken:
        broken.setattr(leader.transport.turn, "flush", fail)
        read(leader, "a")
    with pytest.raises(RuntimeError, match="no flush"):  # the end of the read tells it in the next turn
        cluster.clock.advance(0)
    cluster.commit("b")
    cluster.until(cluster.converged)
    assert leader.group.health() == ""


def test_after_a_slow_sync_the_thread_writes(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = cluster.led()
    takes(monkeypatch, 2 * SLOW)
    slow = read(leader, "a")
    cluster.until(lambda: slow)
    takes(monkeypatch, 0.0)
    cluster.clock.advance(ALONE)
    syncs = leader.disk.syncs
    outcomes = read(leader, "b")
    cluster.clock.advance(0)
    assert (leader.disk.syncs, leader.executor.under_way) == (syncs, 1)
    cluster.until(lambda: outcomes)


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_disk_that_refuses_ends_the_member(cluster: Cluster, operation: str) -> None:
    old = cluster.led()
    old.disk.fail(operation, path=FOLDER)
    outcomes = read(old, "a")
    assert "cannot write" in old.group.health()
    assert [type(outcome).__name__ for outcome in outcomes] == ["ProposalUnknownError"]
    cluster.until(lambda: any(m.group.ready for m in cluster.members.values() if m is not old))
    cluster.commit("b")
    cluster.until(cluster.converged)
    assert old.group.health() == ""
