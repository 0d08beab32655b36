"""Direct gets of a replicated stream: who answers, and that nobody does who may be behind."""

from __future__ import annotations

import json
from typing import Any

from lib.stream_cluster import STREAM, StreamCluster, StreamServer, drop, texts
from pyjs.server.jetstream.replication.follower_reads import LATEST

LATEST_SECONDS = LATEST / 4  # of the tests' ticks
SUBJECT = f"$JS.API.DIRECT.GET.{STREAM}"


def read(server: StreamServer, request: Any, subject: str = SUBJECT) -> list[Any]:
    """Return what a direct get at this server brings, [] if nobody answers there."""
    got: list[Any] = []
    spy = server.account.subscribe("inbox", got.append)
    body = json.dumps(request).encode() if request else b""
    server.clock.run(lambda: drop(server.account.publish(subject, body, reply="inbox", own=True)))
    server.cluster.run(0.01)
    server.account.unsubscribe(spy)
    return got


def answers(server: StreamServer) -> bool:
    local = server.local
    return local is not None and local.stream is not None and STREAM in local.stream.direct_get.names


def followers(cluster: StreamCluster) -> list[StreamServer]:
    return [server for server in cluster.all.values() if server.running and not server.leads()]


def made(**config: Any) -> StreamCluster:
    cluster = StreamCluster(compact_entries=5).start()
    cluster.create(allow_direct=True, **config)
    cluster.stored(*texts(range(10)))
    cluster.until(lambda: all(map(answers, cluster.all.values())))
    return cluster


def test_every_replica_answers_alike() -> None:
    cluster = made()
    for request, subject in (
        ({"seq": 4}, SUBJECT),
        ({}, SUBJECT + ".s.a"),
        ({"seq": 3, "batch": 5}, SUBJECT),
        ({"multi_last": ["s.>"]}, SUBJECT),
        ({"seq": 11}, SUBJECT),
    ):
        found = [
            [(one.header, one.body) for one in read(server, request, subject)]
            for server in cluster.all.values()
        ]
        assert found[0] and found[0] == found[1] == found[2]


def test_a_follower_that_does_not_hear_its_leader_stops_to_answer() -> None:
    cluster = made()
    leader, cut = cluster.leader(), followers(cluster)[0]
    cluster.bus.cuts |= {frozenset({cut.name, other}) for other in cluster.all if other != cut.name}
    cluster.stored("behind")
    cluster.run(LATEST_SECONDS + 0.5)
    assert not answers(cut) and read(cut, {"seq": 1}) == []
    assert [one.body for one in read(leader, {"seq": 11})] == [b"behind"]
    cluster.bus.cuts.clear()
    cluster.until(lambda: answers(cut))
    assert [one.body for one in read(cut, {"seq": 11})] == [b"behind"]


def test_a_replica_that_comes_back_answers_only_when_it_has_everything() -> None:
    cluster = made()
    back = followers(cluster)[0]
    back.kill()
    bodies = texts(range(100, 160))
    cluster.stored(*bodies)
    back.start()
    while not answers(back):
        cluster.run(0.01)
    assert [one.body for one in read(back, {"seq": 70})] == [bodies[-1].encode()]


def test_without_a_majority_nobody_answers_for_long() -> None:
    cluster = made()
    left = followers(cluster)[0]
    for server in list(cluster.all.values()):
        if server is not left:
            server.kill()
    cluster.run(LATEST_SECONDS + 0.5)
    assert not answers(left)


def test_a_former_leader_goes_on_answering_as_a_follower() -> None:
    cluster = made()
    first = cluster.leader()
    heir = followers(cluster)[0]
    assert first.local is not None
    first.local.step_down(heir.me, lambda error: drop(error))
    cluster.until(heir.leads)
    cluster.until(lambda: all(map(answers, cluster.all.values())))
    assert not first.leads()


def test_followers_follow_the_configuration() -> None:
    cluster = made()
    cluster.configure(allow_direct=False)
    cluster.until(lambda: not any(map(answers, cluster.all.values())))
    cluster.run(1)
    assert not any(map(answers, cluster.all.values()))
    cluster.configure(allow_direct=True)
    cluster.until(lambda: all(map(answers, cluster.all.values())))


def test_a_follower_answers_neither_with_a_damaged_message_nor_with_an_older_one() -> None:
    cluster = made()
    cluster.run(3)
    for server in cluster.all.values():
        server.stop()
    cluster.start()
    cluster.until(lambda: all(map(answers, cluster.all.values())))
    hurt = followers(cluster)[0]
    for path, inode in hurt.disk.seen.items():
        if "/msgs/" in path and b"m9" in inode.seen:
            hurt.disk.flip(path, inode.seen.index(b"m9"))
    assert read(hurt, {}, SUBJECT + ".s.a") == []
    assert not answers(hurt)
    cluster.until(lambda: answers(hurt))  # filled again by the others
    assert [one.body for one in read(hurt, {}, SUBJECT + ".s.a")] == [b"m9"]
    assert hurt.local is not None and not hurt.local.health().damage


def test_a_member_that_fails_answers_no_more() -> None:
    cluster = made()
    hurt = followers(cluster)[0]
    hurt.disk.fail("sync")
    cluster.stored("more")
    cluster.until(lambda: not answers(hurt), 5)
