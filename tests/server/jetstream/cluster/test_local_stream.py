"""A stream of a cluster on its servers: created, filled, changed between R1 and R3, and deleted."""

from __future__ import annotations

import pytest
from lib.fake_disk import FakeDisk
from lib.stream_cluster import STREAM, StreamCluster, texts
from pyjs.protocol.errors import ApiError
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.meta.command import Command
from pyjs.server.jetstream.replication import Replica
from pyjs.server.jetstream.replication.catchup import CatchupSenderError


@pytest.fixture(params=["file", "memory"])
def storage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_three_replicas_take_what_is_published_and_inform_the_meta_group(storage: str) -> None:
    cluster = StreamCluster().start()
    cluster.create(storage=storage)
    assert cluster.stored(*texts(range(30))) == list(range(1, 31))
    assert cluster.bodies() == texts(range(30))
    assert cluster.assignment.seeds == ()
    assert (STREAM, "") in cluster.leader().up


def test_another_server_leads_when_the_leader_is_gone(storage: str) -> None:
    cluster = StreamCluster().start()
    cluster.create(storage=storage)
    cluster.consumer("C")
    cluster.stored(*texts(range(10)))
    assert cluster.fetch("C", 4) == [b"m0", b"m1", b"m2", b"m3"]
    first = cluster.leader()
    first.kill()
    cluster.stored("after")
    assert cluster.leader() is not first
    assert cluster.fetch("C", 1) == [b"m4"]
    first.start()
    assert cluster.bodies() == [*texts(range(10)), "after"]


def test_what_comes_one_by_one_in_one_turn_is_one_entry_and_stays_in_order() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.converge()
    leader = cluster.leader()
    before = leader.local.membership.group.node.log.last  # type: ignore[union-attr]
    for number in range(9):
        leader.account.publish("s.a", b"%d" % number)
    leader.local.stream.removal.start_purge(lambda _: None, up_to=3)  # type: ignore[union-attr]
    leader.account.publish("s.a", b"last")
    cluster.run(0.5)
    assert cluster.bodies() == ["2", "3", "4", "5", "6", "7", "8", "last"]
    assert leader.local.membership.group.node.log.last == before + 3  # type: ignore[union-attr]


def test_one_copy_is_a_plain_stream_that_settles() -> None:
    cluster = StreamCluster().start()
    cluster.create("two")
    cluster.consumer("C")
    cluster.stored(*texts(range(5)))
    assert cluster.fetch("C", 2) == [b"m0", b"m1"]
    cluster.run(1)
    assert cluster.assignment.seeds == ()
    cluster["two"].kill()
    cluster["two"].start()
    assert cluster.bodies() == texts(range(5))
    assert cluster.fetch("C", 1) == [b"m2"]
    assert cluster["two"].local is not None and cluster["two"].local.membership is None


def test_a_consumer_that_ends_while_nobody_decides_is_asked_to_be_deleted_again() -> None:
    cluster = StreamCluster().start()
    cluster.create("two")
    cluster.consumer("C", inactive_threshold=5 * SECOND)
    cluster.run(1)
    lost: list[Command] = []
    cluster["two"].lost = lost
    cluster.until(lambda: lost)
    cluster["two"].lost = None
    local = cluster["two"].local
    assert local is not None and local.consumer("C") is not None
    cluster.until(lambda: local.consumer("C") is None)
    cluster.run(2)
    assert local._tick not in local.environment.ticker._beats


def test_the_only_copy_that_was_lost_is_logged_as_such() -> None:
    cluster = StreamCluster().start()
    cluster.create("two")
    cluster.stored(*texts(range(5)))
    cluster["two"].kill()
    cluster["two"].disk = FakeDisk()
    cluster["two"].start()
    assert cluster.bodies() == []
    lost = "was here, and is not any more: it was the only copy, and begins empty"
    assert any(lost in line for line in cluster["two"].log.lines)


def test_from_one_copy_to_three_and_back_and_again(storage: str) -> None:
    cluster = StreamCluster().start()
    cluster.create("one", storage=storage)
    cluster.consumer("C")
    cluster.stored(*texts(range(10)))
    assert cluster.fetch("C", 2) == [b"m0", b"m1"]
    cluster.scale("one", "two", "three")
    cluster.stored(*texts(range(10, 20)))
    assert cluster.bodies() == texts(range(20))
    cluster["one"].kill()
    assert cluster.fetch("C", 1) == [b"m2"]
    cluster.stored("without one")
    cluster["one"].start()
    cluster.converge()
    keeps = cluster.leader().name
    cluster.scale(keeps)
    cluster.until(lambda: cluster.converged() and cluster[keeps].local.membership is None)  # type: ignore[union-attr]
    others = [server for server in cluster.all.values() if server.name != keeps]
    assert all(server.local is None for server in others)
    assert not any("cluster/" in path for server in cluster.all.values() for path in server.disk.seen)
    assert cluster.fetch("C", 1) == [b"m3"]
    cluster.scale("three", "two", "one")
    cluster.stored("three again")
    assert cluster.bodies() == [*texts(range(20)), "without one", "three again"]
    assert cluster.fetch("C", 1) == [b"m4"]


def test_nobody_votes_on_a_stream_before_it_has_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = StreamCluster().start()
    cluster.create("one")
    cluster.stored(*texts(range(10)))

    def refuse(replica: Replica, question: bytes) -> bytes:
        raise CatchupSenderError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(Replica, "answer", refuse)
        cluster.scale("one", "two", "three")
        cluster.stored("still alone")
        cluster.run(30)
        local = cluster["one"].local
        assert local is not None and local.membership is not None and local.membership.group is not None
        members = local.membership.group.members
        assert (len(members.voters), len(members.learners)) == (1, 2)
    assert cluster.bodies() == [*texts(range(10)), "still alone"]
    cluster["one"].kill()
    cluster.stored("without one")


def test_back_to_three_before_one_copy_was_reached() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.stored(*texts(range(10)))
    cluster.converge()
    keeps = cluster.leader().name
    cluster.scale(keeps)
    cluster.until(lambda: not cluster.assignment.replicated)
    cluster.scale("one", "two", "three")
    cluster.stored("later")
    assert cluster.bodies() == [*texts(range(10)), "later"]


def test_a_stream_moves_to_another_server() -> None:
    cluster = StreamCluster().start()
    cluster.create("one")
    cluster.consumer("C")
    cluster.stored(*texts(range(10)))
    assert cluster.fetch("C", 3) == [b"m0", b"m1", b"m2"]
    cluster.scale("three", change="move")
    cluster.until(lambda: cluster["three"].leads() and cluster.converged())
    assert cluster["one"].local is None
    assert cluster.bodies() == texts(range(10))
    assert cluster.fetch("C", 1) == [b"m3"]


def test_a_replaced_peer_gives_way_to_another_one() -> None:
    cluster = StreamCluster("one", "two", "three", "four").start()
    cluster.create("one", "two", "three")
    cluster.stored(*texts(range(40)))
    cluster.converge()
    cluster.scale("one", "two", "four", change="heal")
    assert cluster.bodies() == texts(range(40))
    assert cluster["three"].local is None


def test_configuration_and_consumers_are_in_the_log_whoever_leads() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.consumer("C")
    cluster.consumer("D", max_deliver=3)
    cluster.configure(max_msgs=5)
    cluster.stored(*texts(range(10)))
    assert cluster.bodies() == texts(range(5, 10))
    cluster.leader().kill()
    new = cluster.leader()
    assert sorted(new.local.stream.consumers) == ["C", "D"]  # type: ignore[union-attr]
    assert new.local.stream.config.max_msgs == 5  # type: ignore[union-attr]


def test_a_deleted_stream_leaves_nothing_behind(storage: str) -> None:
    cluster = StreamCluster().start()
    cluster.create(storage=storage)
    cluster.consumer("C")
    cluster.stored(*texts(range(10)))
    cluster.delete()
    cluster.run(1)
    for server in cluster.all.values():
        assert server.local is None
        assert [path for path in server.disk.seen if "streams" in path or "cluster" in path] == []
    cluster.create(storage=storage)
    assert cluster.stored("new") == [1]
    assert cluster.bodies() == ["new"]


def test_a_stream_that_was_deleted_meanwhile_does_not_come_back() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.stored(*texts(range(10)))
    cluster["two"].kill()
    cluster.delete()
    cluster.run(1)
    cluster["two"].start()
    cluster.run(3)
    assert cluster["two"].local is None
    assert [path for path in cluster["two"].disk.seen if "streams" in path] == []


def test_a_stream_begins_although_one_of_three_is_away() -> None:
    cluster = StreamCluster().start("one", "two")
    cluster.create()
    cluster.stored(*texts(range(5)))
    assert cluster.assignment.seeds == ()
    cluster.start("three")
    assert cluster.bodies() == texts(range(5))


def test_who_cannot_see_each_other_begin_one_group_with_who_sees_both() -> None:
    cluster = StreamCluster().start()
    cluster.bus.cuts.add(frozenset({"one", "three"}))
    cluster.create()
    cluster.stored(*texts(range(5)))
    cluster.run(5)
    cluster.bus.cuts.clear()
    assert cluster.bodies() == texts(range(5))


def test_two_of_five_away_are_too_many_to_begin_without() -> None:
    cluster = StreamCluster("a", "b", "c", "d", "e").start("a", "b", "c")
    cluster.create()
    cluster.run(10)
    assert not any(server.leads() for server in cluster.all.values())
    cluster.start("d")
    cluster.stored("with four")


def test_all_that_was_acknowledged_is_there_after_a_power_cut_of_all() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.consumer("C")
    cluster.stored(*texts(range(10)))
    cluster.fetch("C", 2)
    for server in cluster.all.values():
        server.kill(lambda most: 0)
    cluster.start()
    assert cluster.bodies() == texts(range(10))
    cluster.stored("after")
    assert cluster.fetch("C", 1) == [b"m2"]


def test_a_server_that_stops_lets_another_one_lead() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.stored("before")
    cluster.converge()
    first = cluster.leader()
    first.stop()
    cluster.run(0.5)
    assert any(server.leads() for server in cluster.all.values())


def test_advisories_name_leaders_and_lost_quorums() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.consumer("C")
    cluster.converge()
    leader = cluster.leader()
    subjects = [subject for subject, _ in leader.advisories]
    assert "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.S" in subjects
    assert "$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.S.C" in subjects
    cluster.run(1)
    for server in cluster.all.values():
        if server is not leader:
            server.kill()
    cluster.until(lambda: not leader.leads())
    subjects = [subject for subject, _ in leader.advisories]
    assert "$JS.EVENT.ADVISORY.STREAM.QUORUM_LOST.S" in subjects
    assert "$JS.EVENT.ADVISORY.CONSUMER.QUORUM_LOST.S.C" in subjects


def test_every_replica_shows_where_a_consumer_stands() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.consumer("C", filter_subject="s.a")
    cluster.stored(*texts(range(10)))
    assert len(cluster.fetch("C", 3)) == 3
    assert len(cluster.fetch("C", 2, ack=False)) == 2
    cluster.run(2)
    for server in cluster.all.values():
        info = server.local.consumer_info("C")  # type: ignore[union-attr]
        delivered, floor = info.delivered, info.ack_floor
        assert (delivered.consumer_seq, delivered.stream_seq) == (5, 5), server.name
        assert (floor.consumer_seq, floor.stream_seq) == (3, 3), server.name
        assert (info.num_ack_pending, info.num_redelivered, info.num_pending) == (2, 0, 5), server.name


def test_what_is_decided_while_a_plain_stream_is_being_opened_is_done_after_it() -> None:
    cluster = StreamCluster().start()
    cluster.create("two")
    cluster.stored(*texts(range(5)))
    cluster["two"].kill()
    cluster["two"].start()  # a worker reads it
    two = cluster["two"]
    assert two.local is not None and two.local.stream is None
    with pytest.raises(ApiError, match="temporarily unavailable"):
        two.jetstream.lookup(STREAM)
    cluster.scale("two", max_msgs=3)
    cluster.consumer("C")
    cluster.until(lambda: two.local is not None and two.local.stream is not None)
    assert cluster.bodies() == texts(range(2, 5))
    assert cluster.fetch("C", 1) == [b"m2"]
    assert not two.jetstream.recovering


def test_a_plain_stream_stops_while_it_is_being_opened() -> None:
    cluster = StreamCluster().start()
    cluster.create("two", max_bytes=1000)
    cluster.stored("kept")
    two = cluster["two"]
    two.kill()
    two.start()
    assert two.jetstream.recovering
    two.stop()
    assert not two.jetstream.recovering and two.jetstream.limits.files.reserved == 0
    two.start()
    assert cluster.bodies() == ["kept"]


def test_a_server_whose_hub_is_away_leads_nothing() -> None:
    cluster = StreamCluster().start()
    cluster.create()
    cluster.stored(*texts(range(5)))
    cluster.converge()
    first = cluster.leader()
    first.away = True
    cluster.until(lambda: any(server.leads() for server in cluster.all.values() if server is not first))
    assert cluster.stored("more") == [6] and not first.leads()
    for server in cluster.all.values():
        server.away = server is not first  # now all but this one
    first.away = False
    cluster.until(first.leads)
    assert cluster.stored("again") == [7]
    for server in cluster.all.values():
        server.away = True  # then nothing is gained by having no leader
    cluster.run(60)
    assert cluster.stored("all the same") == [8]
