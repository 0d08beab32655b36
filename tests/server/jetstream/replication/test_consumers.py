"""Consumers of a replicated stream: what a new leader knows of the work of the previous one."""

from __future__ import annotations

import json
from typing import Any

from lib.replicas import DIRECTORY, Member, MemoryLog, consumer_config, order
from pyjs.server.jetstream.consumers.info import describe
from pyjs.server.jetstream.replication import entry

SECOND = 1_000_000_000
SOON = SECOND // 10


def two_replicas(**config: Any) -> tuple[MemoryLog, Member, Member]:
    log = MemoryLog()
    one, two = Member(log, config), Member(log, config)
    for member in (one, two):
        member.clock.advance(1)
    log.lead(one)
    return log, one, two


def add_consumer(member: Member, name: str, **config: Any) -> None:
    document = json.dumps(consumer_config(member.stream, name, config).to_json()).encode()
    assert order(member, entry.AddConsumer(member.replica.proposals.now(), 1, name, document)) == [True]


def put(member: Member, *bodies: bytes) -> None:
    for body in bodies:
        member.replica.proposals.receive_batch([(b"s.a", b"", 0, len(body), body + b"\r\n")])


def bodies(got: list[tuple[str, str, bytes, bytes]]) -> list[bytes]:
    return [one[3] for one in got]


def test_an_ack_is_confirmed_only_when_it_is_agreed_on_and_then_never_delivered_again() -> None:
    log, one, two = two_replicas()
    add_consumer(one, "c", ack_policy="explicit", ack_wait=SECOND)
    put(one, b"1", b"2", b"3")
    got = one.pull("c", 3)
    one.clock.advance(SOON)
    log.leader = None  # nothing is agreed on for a while
    one.account.publish(got[0][1], b"+ACK", reply="ack.1", own=True)
    one.clock.advance(SOON)
    assert one.answers == []
    log.leader = one
    log.pump()
    assert one.answers == [("ack.1", b"")]
    log.lead(two)
    two.clock.advance(2 * SECOND)
    assert bodies(two.pull("c", 5)) == [b"2", b"3"]
    assert describe(two.stream.consumers["c"]).ack_floor.stream_seq == 1


def test_what_was_delivered_and_not_agreed_on_comes_again() -> None:
    log, one, two = two_replicas()
    add_consumer(one, "c", ack_policy="explicit", ack_wait=SECOND)
    put(one, b"1", b"2")
    log.leader = None
    assert bodies(one.pull("c", 2)) == [b"1", b"2"]
    log.lead(two)
    assert bodies(two.pull("c", 2)) == [b"1", b"2"]


def test_a_new_consumer_begins_where_the_log_has_it_whoever_leads() -> None:
    log, one, two = two_replicas()
    put(one, b"old")
    add_consumer(one, "c", ack_policy="explicit", deliver_policy="new")
    put(one, b"new")
    log.lead(two)
    assert bodies(two.pull("c", 5)) == [b"new"]


def test_the_last_of_each_subject_is_gone_on_with_by_the_next_leader() -> None:
    log, one, two = two_replicas()
    for subject in (b"s.a", b"s.b", b"s.a", b"s.c", b"s.b"):
        one.replica.proposals.receive_batch(
            [(subject, b"", 0, 1, b"%d\r\n" % (one.stream.store.last_seq + 1))]
        )
    add_consumer(one, "c", ack_policy="none", deliver_policy="last_per_subject", filter_subject="s.>")
    put(one, b"6")
    assert bodies(one.pull("c", 1)) == [b"3"]
    one.clock.advance(SOON)
    log.lead(two)
    assert bodies(two.pull("c", 9)) == [b"4", b"5", b"6"]


def test_a_work_queue_lets_go_of_a_message_when_its_ack_is_agreed_on() -> None:
    log, one, two = two_replicas(retention="workqueue")
    add_consumer(one, "c", ack_policy="explicit")
    put(one, b"1", b"2")
    got = one.pull("c", 1)
    one.account.publish(got[0][1], b"+ACK", own=True)
    assert one.stream.store.messages == 2
    one.clock.advance(SOON)
    assert one.stream.store.messages == 1
    two.catch_up(len(log.entries))
    assert two.messages() == one.messages()


def test_a_message_that_only_the_leader_has_lost_is_delivered_by_the_next() -> None:
    log, one, two = two_replicas()
    for member in (one, two):
        member.clock.advance(1)
    add_consumer(one, "c", ack_policy="explicit", ack_wait=SECOND)
    put(one, *[b"%03d" % number + b"x" * 200 for number in range(30)])
    one.clock.advance(2 * SECOND)  # all of it is on the disk, and but for the last block not in memory
    path = f"{DIRECTORY}/0000000001-0.blk"
    one.disk.flip(path, bytes(one.disk.seen[path].seen).index(b"002x"))
    got = one.pull("c", 5)
    assert [body[:3] for body in bodies(got)] == [b"000", b"001", b"003", b"004", b"005"]
    for message in got:
        one.account.publish(message[1], b"+ACK", reply="ack.1", own=True)
    one.clock.advance(SECOND)
    assert one.answers == []
    log.lead(two)
    assert [body[:3] for body in bodies(two.pull("c", 3))] == [b"000", b"001", b"002"]


def test_who_leads_no_more_delivers_no_more_and_says_so() -> None:
    log, one, two = two_replicas()
    add_consumer(one, "c", ack_policy="explicit")
    said: list[bytes] = []
    one.account.subscribe("inbox", lambda message: said.append(message.header))
    one.account.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", b'{"expires":30000000000}', reply="inbox", own=True)
    log.lead(two)
    assert said == [b"NATS/1.0 409 Leadership Change\r\n\r\n"]
    assert one.stream.consumers == {}
    assert list(two.stream.consumers) == ["c"]


def test_a_late_change_of_an_old_leader_is_not_taken_for_the_next_one() -> None:
    _, one, _ = two_replicas()
    add_consumer(one, "c", ack_policy="explicit")
    put(one, b"1")
    one.pull("c", 1)
    one.clock.advance(SOON)
    state = one.stream.states["c"]
    before = (state.version, state.state)
    change = entry.ConsumerDelta(one.replica.proposals.now(), "c", state.version + 3, False, b"")
    assert order(one, change) == [False]
    assert (state.version, state.state) == before


def test_an_unused_consumer_is_reported_to_the_server_that_may_delete_it() -> None:
    _, one, _ = two_replicas()
    add_consumer(one, "c", ack_policy="explicit", inactive_threshold=SECOND)
    one.clock.advance(3 * SECOND)
    assert one.unused_names == ["c"]
    assert list(one.stream.states) == ["c"]
