"""A stream of a cluster on its servers: made, filled, moved between one copy and three, and deleted."""

from __future__ import annotations

import pytest
from lib.fake_disk import FakeDisk
from lib.stream_cluster import STREAM, Site, Sites
from pyjs.protocol.errors import ApiError
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.meta.command import Command
from pyjs.server.jetstream.replication import Replica
from pyjs.server.jetstream.replication.catchup import CatchupSenderError


def texts(numbers: range) -> list[str]:
    return [f"m{number}" for number in numbers]


def bodies(sites: Sites) -> list[str]:
    return [body.decode() for _, _, body in sites.settle()]


@pytest.fixture(params=["file", "memory"])
def storage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_three_replicas_take_what_is_published_and_inform_the_meta_group(storage: str) -> None:
    sites = Sites().start()
    sites.create(storage=storage)
    assert sites.stored(*texts(range(30))) == list(range(1, 31))
    assert bodies(sites) == texts(range(30))
    assert sites.assignment.seeds == ()
    assert (STREAM, "") in sites.leader().up


def test_another_server_leads_when_the_leader_is_gone(storage: str) -> None:
    sites = Sites().start()
    sites.create(storage=storage)
    sites.consumer("C")
    sites.stored(*texts(range(10)))
    assert sites.fetch("C", 4) == [b"m0", b"m1", b"m2", b"m3"]
    first = sites.leader()
    first.kill()
    sites.stored("after")
    assert sites.leader() is not first
    assert sites.fetch("C", 1) == [b"m4"]
    first.start()
    assert bodies(sites) == [*texts(range(10)), "after"]


def test_what_comes_one_by_one_in_one_turn_is_one_entry_and_stays_in_order() -> None:
    sites = Sites().start()
    sites.create()
    sites.settle()
    leader = sites.leader()
    before = leader.local.membership.group.node.log.last  # type: ignore[union-attr]
    for number in range(9):
        leader.account.publish("s.a", b"%d" % number)
    leader.local.stream.order_purge(lambda _: None, up_to=3)  # type: ignore[union-attr]
    leader.account.publish("s.a", b"last")
    sites.run(0.5)
    assert bodies(sites) == ["2", "3", "4", "5", "6", "7", "8", "last"]
    assert leader.local.membership.group.node.log.last == before + 3  # type: ignore[union-attr]


def test_one_copy_is_a_plain_stream_that_settles() -> None:
    sites = Sites().start()
    sites.create("two")
    sites.consumer("C")
    sites.stored(*texts(range(5)))
    assert sites.fetch("C", 2) == [b"m0", b"m1"]
    sites.run(1)
    assert sites.assignment.seeds == ()
    sites["two"].kill()
    sites["two"].start()
    assert bodies(sites) == texts(range(5))
    assert sites.fetch("C", 1) == [b"m2"]
    assert sites["two"].local is not None and sites["two"].local.membership is None


def test_a_consumer_that_ends_while_nobody_decides_is_asked_to_be_deleted_again() -> None:
    sites = Sites().start()
    sites.create("two")
    sites.consumer("C", inactive_threshold=5 * SECOND)
    sites.run(1)
    lost: list[Command] = []
    sites["two"].lost = lost
    sites.until(lambda: lost)
    sites["two"].lost = None
    local = sites["two"].local
    assert local is not None and local.consumer("C") is not None
    sites.until(lambda: local.consumer("C") is None)
    sites.run(2)
    assert local._tick not in local.environment.ticker._beats


def test_the_only_copy_that_was_lost_is_logged_as_such() -> None:
    sites = Sites().start()
    sites.create("two")
    sites.stored(*texts(range(5)))
    sites["two"].kill()
    sites["two"].disk = FakeDisk()
    sites["two"].start()
    assert bodies(sites) == []
    lost = "was here, and is not any more: it was the only copy, and begins empty"
    assert any(lost in line for line in sites["two"].log.lines)


def test_from_one_copy_to_three_and_back_and_again(storage: str) -> None:
    sites = Sites().start()
    sites.create("one", storage=storage)
    sites.consumer("C")
    sites.stored(*texts(range(10)))
    assert sites.fetch("C", 2) == [b"m0", b"m1"]
    sites.scale("one", "two", "three")
    sites.stored(*texts(range(10, 20)))
    assert bodies(sites) == texts(range(20))
    sites["one"].kill()
    assert sites.fetch("C", 1) == [b"m2"]
    sites.stored("without one")
    sites["one"].start()
    sites.settle()
    keeps = sites.leader().name
    sites.scale(keeps)
    sites.until(lambda: sites.settled() and sites[keeps].local.membership is None)  # type: ignore[union-attr]
    others = [site for site in sites.all.values() if site.name != keeps]
    assert all(site.local is None for site in others)
    assert not any("cluster/" in path for site in sites.all.values() for path in site.disk.seen)
    assert sites.fetch("C", 1) == [b"m3"]
    sites.scale("three", "two", "one")
    sites.stored("three again")
    assert bodies(sites) == [*texts(range(20)), "without one", "three again"]
    assert sites.fetch("C", 1) == [b"m4"]


def test_nobody_votes_on_a_stream_before_it_has_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = Sites().start()
    sites.create("one")
    sites.stored(*texts(range(10)))

    def refuse(replica: Replica, question: bytes) -> bytes:
        raise CatchupSenderError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(Replica, "answer", refuse)
        sites.scale("one", "two", "three")
        sites.stored("still alone")
        sites.run(30)
        local = sites["one"].local
        assert local is not None and local.membership is not None and local.membership.group is not None
        members = local.membership.group.members
        assert (len(members.voters), len(members.learners)) == (1, 2)
    assert bodies(sites) == [*texts(range(10)), "still alone"]
    sites["one"].kill()
    sites.stored("without one")


def test_back_to_three_before_one_copy_was_reached() -> None:
    sites = Sites().start()
    sites.create()
    sites.stored(*texts(range(10)))
    sites.settle()
    keeps = sites.leader().name
    sites.scale(keeps)
    sites.until(lambda: not sites.assignment.replicated)
    sites.scale("one", "two", "three")
    sites.stored("later")
    assert bodies(sites) == [*texts(range(10)), "later"]


def test_a_stream_moves_to_another_server() -> None:
    sites = Sites().start()
    sites.create("one")
    sites.consumer("C")
    sites.stored(*texts(range(10)))
    assert sites.fetch("C", 3) == [b"m0", b"m1", b"m2"]
    sites.scale("three", change="move")
    sites.until(lambda: sites["three"].leads() and sites.settled())
    assert sites["one"].local is None
    assert bodies(sites) == texts(range(10))
    assert sites.fetch("C", 1) == [b"m3"]


def test_a_replaced_peer_gives_way_to_another_one() -> None:
    sites = Sites("one", "two", "three", "four").start()
    sites.create("one", "two", "three")
    sites.stored(*texts(range(40)))
    sites.settle()
    sites.scale("one", "two", "four", change="heal")
    assert bodies(sites) == texts(range(40))
    assert sites["three"].local is None


def test_configuration_and_consumers_are_in_the_log_whoever_leads() -> None:
    sites = Sites().start()
    sites.create()
    sites.consumer("C")
    sites.consumer("D", max_deliver=3)
    sites.configure(max_msgs=5)
    sites.stored(*texts(range(10)))
    assert bodies(sites) == texts(range(5, 10))
    sites.leader().kill()
    new = sites.leader()
    assert sorted(new.local.stream.consumers) == ["C", "D"]  # type: ignore[union-attr]
    assert new.local.stream.config.max_msgs == 5  # type: ignore[union-attr]


def test_a_deleted_stream_leaves_nothing_behind(storage: str) -> None:
    sites = Sites().start()
    sites.create(storage=storage)
    sites.consumer("C")
    sites.stored(*texts(range(10)))
    sites.delete()
    sites.run(1)
    for site in sites.all.values():
        assert site.local is None
        assert [path for path in site.disk.seen if "streams" in path or "cluster" in path] == []
    sites.create(storage=storage)
    assert sites.stored("new") == [1]
    assert bodies(sites) == ["new"]


def test_a_stream_that_was_deleted_meanwhile_does_not_come_back() -> None:
    sites = Sites().start()
    sites.create()
    sites.stored(*texts(range(10)))
    sites["two"].kill()
    sites.delete()
    sites.run(1)
    sites["two"].start()
    sites.run(3)
    assert sites["two"].local is None
    assert [path for path in sites["two"].disk.seen if "streams" in path] == []


def test_a_stream_begins_although_one_of_three_is_away() -> None:
    sites = Sites().start("one", "two")
    sites.create()
    sites.stored(*texts(range(5)))
    assert sites.assignment.seeds == ()
    sites.start("three")
    assert bodies(sites) == texts(range(5))


def test_who_cannot_see_each_other_begin_one_group_with_who_sees_both() -> None:
    sites = Sites().start()
    sites.bus.cuts.add(frozenset({"one", "three"}))
    sites.create()
    sites.stored(*texts(range(5)))
    sites.run(5)
    sites.bus.cuts.clear()
    assert bodies(sites) == texts(range(5))


def test_two_of_five_away_are_too_many_to_begin_without() -> None:
    sites = Sites("a", "b", "c", "d", "e").start("a", "b", "c")
    sites.create()
    sites.run(10)
    assert not any(site.leads() for site in sites.all.values())
    sites.start("d")
    sites.stored("with four")


def test_all_that_was_acknowledged_is_there_after_a_power_cut_of_all() -> None:
    sites = Sites().start()
    sites.create()
    sites.consumer("C")
    sites.stored(*texts(range(10)))
    sites.fetch("C", 2)
    for site in sites.all.values():
        site.kill(lambda most: 0)
    sites.start()
    assert bodies(sites) == texts(range(10))
    sites.stored("after")
    assert sites.fetch("C", 1) == [b"m2"]


def test_a_server_that_stops_lets_another_one_lead() -> None:
    sites = Sites().start()
    sites.create()
    sites.stored("before")
    sites.settle()
    first = sites.leader()
    first.stop()
    sites.run(0.5)
    assert any(site.leads() for site in sites.all.values())


def test_advisories_name_leaders_and_lost_quorums() -> None:
    sites = Sites().start()
    sites.create()
    sites.consumer("C")
    sites.settle()
    leader = sites.leader()
    subjects = [subject for subject, _ in leader.advisories]
    assert "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.S" in subjects
    assert "$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.S.C" in subjects
    sites.run(1)
    for site in sites.all.values():
        if site is not leader:
            site.kill()
    sites.until(lambda: not leader.leads())
    subjects = [subject for subject, _ in leader.advisories]
    assert "$JS.EVENT.ADVISORY.STREAM.QUORUM_LOST.S" in subjects
    assert "$JS.EVENT.ADVISORY.CONSUMER.QUORUM_LOST.S.C" in subjects


def damage(site: Site, body: bytes) -> None:
    """Flip a bit of a message as the disk has it."""
    for path, inode in site.disk.seen.items():
        if "/msgs/" in path and body in inode.seen:
            site.disk.flip(path, inode.seen.index(body))
            return
    raise AssertionError("it is not on the disk")


def test_what_is_damaged_at_a_start_comes_from_the_others() -> None:
    sites = Sites(compact_entries=5).start()
    sites.create()
    sites.stored(*texts(range(50)))
    sites.settle()
    sites.run(3)  # a checkpoint, and a log that begins after it
    hurt = sites[next(name for name in sites.all if not sites[name].leads())]
    hurt.kill()
    damage(hurt, b"m12")
    hurt.start()
    assert bodies(sites) == texts(range(50))
    facts = hurt.local.health()  # type: ignore[union-attr]
    assert (facts.store_failure, facts.catching_up, facts.error) == ("", False, "")


def test_a_leader_that_reads_something_damaged_serves_no_more_and_is_refilled() -> None:
    sites = Sites().start()
    sites.create()
    sites.stored(*texts(range(50)))
    sites.settle()
    sites.run(3)
    for site in sites.all.values():
        site.stop()
    sites.start()
    hurt = sites.leader()
    damage(hurt, b"m12")
    sites.consumer("C")
    sites.run(0.5)
    sites.fetch("C", 30, ack=False)
    sites.until(lambda: not hurt.leads())
    assert hurt.local.health().damage.startswith("a message is damaged: ")  # type: ignore[union-attr]
    assert not hurt.local.health().store_failure  # type: ignore[union-attr]
    assert sites.leader() is not hurt
    assert bodies(sites) == texts(range(50))
    assert not hurt.local.health().damage  # type: ignore[union-attr]
    assert not any("lost.msgs" in path for path in hurt.disk.seen)


def test_nobody_leads_while_all_are_damaged() -> None:
    sites = Sites(compact_entries=5).start()
    sites.create()
    sites.stored(*texts(range(50)))
    sites.settle()
    sites.run(3)
    for site in sites.all.values():
        site.kill()
        damage(site, b"m12")
    sites.start()
    sites.run(20)
    for site in sites.all.values():
        assert not site.leads()
        facts = site.local.health()  # type: ignore[union-attr]
        assert facts.catching_up and facts.hopeless and not facts.quorum_diagnosis
        assert any("is kept in /store/jetstream/A/streams/S/lost.msgs" in line for line in site.log.lines)
        assert sum("no server has the stream whole" in line for line in site.log.lines) == 1


def test_a_disk_that_refuses_for_a_while_costs_nothing() -> None:
    sites = Sites().start()
    sites.create()
    sites.stored(*texts(range(10)))
    sites.settle()
    leader = sites.leader()
    leader.disk.fail("sync", path="/msgs/")
    sites.run(5)
    sites.stored(*texts(range(10, 20)))
    assert bodies(sites) == texts(range(20))


def test_who_lacks_more_than_the_log_has_is_refilled() -> None:
    sites = Sites(compact_entries=5).start()
    sites.create()
    sites.stored("first")
    sites.settle()
    late = sites[next(name for name in sites.all if not sites[name].leads())]
    late.kill()
    for group in range(8):
        sites.stored(*texts(range(group * 10, group * 10 + 10)))
        sites.run(2)
    late.start()
    assert bodies(sites) == ["first", *texts(range(80))]
    assert filled(late, "the log does not reach back to its entry")


def filled(site: Site, why: str) -> bool:
    """Whether a server's log records that its replica was filled, and why."""
    lines = site.log.lines
    begun = any(f"'A > S' is filled from the other servers: {why}" in line for line in lines)
    return begun and any("'A > S' is filled, with" in line for line in lines)


def test_whose_filling_was_cut_short_logs_that_it_goes_on() -> None:
    sites = Sites().start()
    sites.create()
    sites.stored(*texts(range(50)))
    sites.settle()
    late = sites[next(name for name in sites.all if not sites[name].leads())]
    late.kill()
    late.disk.remove_tree("/store/jetstream/A/streams/S/msgs")
    sites.bus.cuts = {frozenset({late.name, other}) for other in sites.all if other != late.name}
    late.start()
    sites.until(lambda: late.local is not None and late.local.membership is not None)
    sites.until(lambda: late.local.membership.replica is not None)  # type: ignore[union-attr]
    late.local.membership.replica._store.commit_sync()  # type: ignore[union-attr]
    late.kill()
    sites.bus.cuts.clear()
    late.start()
    assert bodies(sites) == texts(range(50))
    assert filled(late, "it has nothing of its own here")
    assert filled(late, "an earlier filling was cut short")


def test_a_memory_stream_that_nobody_has_any_more_begins_empty() -> None:
    sites = Sites(compact_entries=5).start()
    sites.create(storage="memory", max_msgs=7)
    sites.consumer("C")
    for group in range(4):
        sites.stored(*texts(range(group * 10, group * 10 + 10)))
        sites.run(2)
    for site in sites.all.values():
        site.kill()
    sites.start("one", "two")
    sites.run(20)
    assert not any(site.leads() for site in sites.all.values())  # who is away may have it
    sites.start("three")
    assert sites.stored("new") == [1]
    assert bodies(sites) == ["new"]
    assert sites.leader().local.stream.config.max_msgs == 7  # type: ignore[union-attr]
    assert sites.fetch("C", 1) == [b"new"]


def test_every_replica_shows_where_a_consumer_stands() -> None:
    sites = Sites().start()
    sites.create()
    sites.consumer("C", filter_subject="s.a")
    sites.stored(*texts(range(10)))
    assert len(sites.fetch("C", 3)) == 3
    assert len(sites.fetch("C", 2, ack=False)) == 2
    sites.run(2)
    for site in sites.all.values():
        info = site.local.consumer_info("C")  # type: ignore[union-attr]
        delivered, floor = info.delivered, info.ack_floor
        assert (delivered.consumer_seq, delivered.stream_seq) == (5, 5), site.name
        assert (floor.consumer_seq, floor.stream_seq) == (3, 3), site.name
        assert (info.num_ack_pending, info.num_redelivered, info.num_pending) == (2, 0, 5), site.name


@pytest.mark.parametrize("keeps", ["one", "two", "three"])
def test_the_only_one_who_still_has_a_memory_stream_comes_to_lead_it(keeps: str) -> None:
    sites = Sites(compact_entries=5).start()
    sites.create(storage="memory")
    for group in range(3):
        sites.stored(*texts(range(group * 10, group * 10 + 10)))
        sites.run(2)
    others = [site for site in sites.all.values() if site.name != keeps]
    for site in others:
        site.kill()
    for site in others:
        site.start()
    assert bodies(sites) == texts(range(30))


def test_a_memory_stream_is_refilled_after_a_restart() -> None:
    sites = Sites(compact_entries=5).start()
    sites.create(storage="memory")
    for group in range(4):
        sites.stored(*texts(range(group * 10, group * 10 + 10)))
        sites.run(2)
    for name in sites.all:
        sites[name].kill()
        sites[name].start()
        assert bodies(sites) == texts(range(40))


def test_what_is_decided_while_a_plain_stream_is_being_opened_is_done_after_it() -> None:
    sites = Sites().start()
    sites.create("two")
    sites.stored(*texts(range(5)))
    sites["two"].kill()
    sites["two"].start()  # a worker reads it
    two = sites["two"]
    assert two.local is not None and two.local.stream is None
    with pytest.raises(ApiError, match="temporarily unavailable"):
        two.jetstream.lookup(STREAM)
    sites.scale("two", max_msgs=3)
    sites.consumer("C")
    sites.until(lambda: two.local is not None and two.local.stream is not None)
    assert bodies(sites) == texts(range(2, 5))
    assert sites.fetch("C", 1) == [b"m2"]
    assert not two.jetstream.recovering


def test_a_plain_stream_stops_while_it_is_being_opened() -> None:
    sites = Sites().start()
    sites.create("two", max_bytes=1000)
    sites.stored("kept")
    two = sites["two"]
    two.kill()
    two.start()
    assert two.jetstream.recovering
    two.stop()
    assert not two.jetstream.recovering and two.jetstream.limits.files.reserved == 0
    two.start()
    assert bodies(sites) == ["kept"]
