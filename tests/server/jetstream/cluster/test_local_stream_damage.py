"""A stream of a cluster whose replicas are damaged or lag behind: catchups, and streams in memory."""

from __future__ import annotations

import pytest
from lib.stream_cluster import StreamCluster, StreamServer, texts


def damage(server: StreamServer, body: bytes) -> None:
    """Flip a bit of a message as the disk has it."""
    for path, inode in server.disk.seen.items():
        if "/msgs/" in path and body in inode.seen:
            server.disk.flip(path, inode.seen.index(body))
            return
    raise AssertionError("it is not on the disk")


def test_what_is_damaged_at_a_start_comes_from_the_others() -> None:
    cluster = StreamCluster(compact_entries=5).start()
    cluster.create()
    cluster.stored(*texts(range(50)))
    cluster.converge()
    cluster.run(3)  # a checkpoint, and a log that begins after it
    hurt = cluster[next(name for name in cluster.all if not cluster[name].leads())]
    hurt.kill()
    damage(hurt, b"m12")
    hurt.start()
    assert cluster.bodies() == texts(range(50))
    facts = hurt.local.health()  # type: ignore[union-attr]
    assert (facts.store_failure, facts.catching_up, facts.error) == ("", False, "")


def test_a_leader_that_reads_something_damaged_serves_no_more_and_catches_up() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.stored(*texts(range(50)))
    cluster.converge()
    cluster.run(3)
    for server in cluster.all.values():
        server.stop()
    cluster.start()
    hurt = cluster.leader()
    damage(hurt, b"m12")
    cluster.consumer("C")
    cluster.run(0.5)
    cluster.fetch("C", 30, ack=False)
    cluster.until(lambda: not hurt.leads())
    assert hurt.local.health().damage.startswith("a message is damaged: ")  # type: ignore[union-attr]
    assert not hurt.local.health().store_failure  # type: ignore[union-attr]
    assert cluster.leader() is not hurt
    assert cluster.bodies() == texts(range(50))
    assert not hurt.local.health().damage  # type: ignore[union-attr]
    assert not any("lost.msgs" in path for path in hurt.disk.seen)


def test_nobody_leads_while_all_are_damaged() -> None:
    cluster = StreamCluster(compact_entries=5).start()
    cluster.create()
    cluster.stored(*texts(range(50)))
    cluster.converge()
    cluster.run(3)
    for server in cluster.all.values():
        server.kill()
        damage(server, b"m12")
    cluster.start()
    cluster.run(20)
    for server in cluster.all.values():
        assert not server.leads()
        facts = server.local.health()  # type: ignore[union-attr]
        assert facts.catching_up and facts.hopeless and not facts.quorum_diagnosis
        assert any("is kept in /store/jetstream/A/streams/S/lost.msgs" in line for line in server.log.lines)
        assert sum("no server has the stream whole" in line for line in server.log.lines) == 1


def test_a_disk_that_refuses_for_a_while_costs_nothing() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.stored(*texts(range(10)))
    cluster.converge()
    leader = cluster.leader()
    leader.disk.fail("sync", path="/msgs/")
    cluster.run(5)
    cluster.stored(*texts(range(10, 20)))
    assert cluster.bodies() == texts(range(20))


def test_a_replica_that_lacks_more_than_the_log_has_catches_up() -> None:
    cluster = StreamCluster(compact_entries=5).start()
    cluster.create()
    cluster.stored("first")
    cluster.converge()
    late = cluster[next(name for name in cluster.all if not cluster[name].leads())]
    late.kill()
    for group in range(8):
        cluster.stored(*texts(range(group * 10, group * 10 + 10)))
        cluster.run(2)
    late.start()
    assert cluster.bodies() == ["first", *texts(range(80))]
    assert filled(late, "the log does not reach back to its entry")


def filled(server: StreamServer, why: str) -> bool:
    """Whether a server's log records that its replica was filled, and why."""
    lines = server.log.lines
    begun = any(f"'A > S' is filled from the other servers: {why}" in line for line in lines)
    return begun and any("'A > S' is filled, with" in line for line in lines)


def test_whose_filling_was_cut_short_logs_that_it_goes_on() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.stored(*texts(range(50)))
    cluster.converge()
    late = cluster[next(name for name in cluster.all if not cluster[name].leads())]
    late.kill()
    late.disk.remove_tree("/store/jetstream/A/streams/S/msgs")
    cluster.bus.cuts = {frozenset({late.name, other}) for other in cluster.all if other != late.name}
    late.start()
    cluster.until(lambda: late.local is not None and late.local.membership is not None)
    cluster.until(lambda: late.local.membership.replica is not None)  # type: ignore[union-attr]
    late.local.membership.replica._store.commit_sync()  # type: ignore[union-attr]
    late.kill()
    cluster.bus.cuts.clear()
    late.start()
    assert cluster.bodies() == texts(range(50))
    assert filled(late, "it has nothing of its own here")
    assert filled(late, "an earlier filling was cut short")


def test_a_memory_stream_that_nobody_has_any_more_begins_empty() -> None:
    cluster = StreamCluster(compact_entries=5).start()
    cluster.create(storage="memory", max_msgs=7)
    cluster.consumer("C")
    for group in range(4):
        cluster.stored(*texts(range(group * 10, group * 10 + 10)))
        cluster.run(2)
    for server in cluster.all.values():
        server.kill()
    cluster.start("one", "two")
    cluster.run(20)
    assert not any(server.leads() for server in cluster.all.values())  # who is away may have it
    cluster.start("three")
    assert cluster.stored("new") == [1]
    assert cluster.bodies() == ["new"]
    assert cluster.leader().local.stream.config.max_msgs == 7  # type: ignore[union-attr]
    assert cluster.fetch("C", 1) == [b"new"]


@pytest.mark.parametrize("keeps", ["one", "two", "three"])
def test_the_only_one_who_still_has_a_memory_stream_comes_to_lead_it(keeps: str) -> None:
    cluster = StreamCluster(compact_entries=5).start()
    cluster.create(storage="memory")
    for group in range(3):
        cluster.stored(*texts(range(group * 10, group * 10 + 10)))
        cluster.run(2)
    others = [server for server in cluster.all.values() if server.name != keeps]
    for server in others:
        server.kill()
    for server in others:
        server.start()
    assert cluster.bodies() == texts(range(30))


def test_a_memory_stream_catches_up_after_a_restart() -> None:
    cluster = StreamCluster(compact_entries=5).start()
    cluster.create(storage="memory")
    for group in range(4):
        cluster.stored(*texts(range(group * 10, group * 10 + 10)))
        cluster.run(2)
    for name in cluster.all:
        cluster[name].kill()
        cluster[name].start()
        assert cluster.bodies() == texts(range(40))
