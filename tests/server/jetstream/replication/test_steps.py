"""Entries that are applied in steps have the same effect wherever the steps pause."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lib.examples import seeds
from lib.fake_clock import FakeClock
from lib.replica_scenario import Play, tail
from lib.replicas import Member, MemoryLog, changed, order
from pyjs.protocol import headers
from pyjs.server.jetstream.replication import ReplicaError, entry, removal, replica
from pyjs.server.jetstream.streams import contents, limits, retention
from pyjs.store import indexed
from pyjs.store.errors import StoreError
from pyjs.store.file import FileStream

SECOND = 1_000_000_000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many steps for few messages; the counts that decide what goes stay as they are."""
    monkeypatch.setattr(indexed, "STEP", 2)
    monkeypatch.setattr(retention, "paced", lambda steps: steps)
    monkeypatch.setattr(contents, "READ_BACK", 1)
    monkeypatch.setattr(entry, "RUN", 2)
    monkeypatch.setattr(replica, "STEP", 64)
    monkeypatch.setattr(FileStream, "_is_cheap", lambda *_: False)


@seeds(12)
def test_replicas_are_alike_wherever_they_rest(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_AT_ONCE", 3)
    monkeypatch.setattr(limits, "MOST_PASSED", 2)
    play = Play(20_000 + seed, beside=False)
    for _ in range(80):
        play.step()
        play.befall(transfer=True)
    play.finish()
    play.check()


@seeds(8)
def test_they_hold_what_a_stream_alone_would(seed: int) -> None:
    play = Play(30_000 + seed, beside=True)
    for _ in range(60):
        play.step()
        play.befall()
    play.finish()
    play.check()


class Frail(Member):
    """A replica whose failures are remembered."""

    failures: list[BaseException]

    def store_failed(self, replica: Any, error: BaseException) -> None:
        del replica
        self.failures.append(error)


def filled(count: int = 12, **config: Any) -> tuple[MemoryLog, Member, Member]:
    """A leader and a follower with some messages, all in their checkpoints."""
    log = MemoryLog()
    leader, follower = (Member(log, config, FakeClock()) for _ in range(2))
    leader.clock.advance(1)
    log.lead(leader)
    subjects = [b"s.%d" % (number % 4) for number in range(count)]
    leader.replica.proposals.receive_batch([(subject, b"", 0, 1, b"1\r\nx\r\n") for subject in subjects])
    follower.catch_up(len(log.entries))
    follower.clock.advance(3 * SECOND)
    assert follower.replica.durable_index == len(log.entries)
    return log, leader, follower


def halfway(log: MemoryLog, member: Member) -> None:
    """Let it take what is new, and rest at the first step."""
    member.catch_up(len(log.entries), rests=lambda: True)
    assert member.stream.between


def lowered(leader: Member, **limits: Any) -> None:
    config = changed(leader.stream.config, limits)
    document = json.dumps(config.to_json()).encode()
    assert order(leader, entry.Configure(leader.replica.proposals.now(), document)) == [True]


def test_a_crash_in_the_middle_leaves_the_last_checkpoint() -> None:
    log, leader, follower = filled()
    lowered(leader, max_msgs_per_subject=1)
    before = follower.messages()
    halfway(log, follower)
    assert follower.messages() != before
    assert follower.replica.snapshot() is not None  # of the checkpoint that there is
    follower.clock.advance(60 * SECOND)
    assert follower.replica.durable_index == len(log.entries) - 1
    follower.crash(lambda most: most)
    assert follower.messages() == before
    follower.catch_up(len(log.entries))
    assert follower.messages() == leader.messages()
    assert follower.encoded_state() == leader.encoded_state()


@pytest.mark.parametrize("end", ["stop", "hand_over"])
def test_nothing_of_a_part_is_put_on_the_disk(end: str) -> None:
    log, leader, follower = filled()
    lowered(leader, max_msgs=3)
    before = follower.messages()
    halfway(log, follower)
    if end == "stop":
        follower.replica.stop()
    else:
        with pytest.raises(StoreError, match="in part"):
            follower.replica.hand_over()
    follower.disk.kill()
    follower.start()
    follower.open()
    assert follower.messages() == before


def test_a_replica_between_two_entries_shares_its_state_with_nobody() -> None:
    log, leader, follower = filled()
    new = Member(log, {}, FakeClock())
    lowered(leader, max_msgs_per_subject=1)
    new.replica.restore(leader.mark(len(log.entries)), len(log.entries))
    halfway(log, follower)
    for _ in range(10):
        new.replica.answered(follower.replica.answer(new.questions.pop()))
    assert new.replica.catchup is not None
    follower.go_on()
    new.replica.answered(follower.replica.answer(new.questions.pop()))
    assert new.replica.catchup is None
    assert (new.messages(), new.encoded_state()) == (leader.messages(), leader.encoded_state())


def test_what_a_publish_rolls_up_is_gone_before_the_next_one_is_judged() -> None:
    log, leader, follower = filled(max_msgs=13, discard="new", allow_rollup_hdrs=True)
    roll = tail(headers.encode({"Nats-Rollup": "all"}), b"")
    size = roll.index(b"\r\n\r\n") + 4 - roll.index(b"\r\n") - 2
    plain = (b"s.a", b"ack.2", 0, 1, b"1\r\nx\r\n")
    leader.replica.proposals.receive_batch([(b"s.a", b"ack.1", size, size, roll), plain, plain])
    leader.clock.advance(0)
    assert leader.stream.store.messages == 3
    assert [b"error" in body for _, body in leader.answers] == [False] * 3
    follower.catch_up(len(log.entries), rests=lambda: True)
    while follower.steps is not None:
        follower.go_on(lambda: True)
    assert follower.messages() == leader.messages()


def test_damage_found_between_two_steps_ends_the_replica() -> None:
    Frail.failures = []
    log = MemoryLog()
    leader, follower = Member(log, {}, FakeClock()), Frail(log, {}, FakeClock())
    leader.clock.advance(1)
    log.lead(leader)
    leader.replica.proposals.receive_batch(
        [(b"s.%d" % (number % 4), b"", 0, 1, b"1\r\nx\r\n") for number in range(12)]
    )
    follower.catch_up(len(log.entries))
    lowered(leader, max_msgs=3)
    halfway(log, follower)
    before = follower.disk.syncs
    follower.replica.damaged("block 1")
    assert len(Frail.failures) == 1
    follower.go_on()
    with pytest.raises(ReplicaError, match="damaged: block 1"):
        follower.replica.apply([(99, entry.encode(entry.Skip(1, 9)))], 99)
    follower.replica.stop()
    assert follower.disk.syncs == before


def test_entries_that_waited_for_a_refill_come_before_those_after() -> None:
    log, leader, _ = filled()
    new = Member(log, {}, FakeClock())
    new.replica.restore(leader.mark(len(log.entries)), len(log.entries))
    new.at = len(log.entries)
    answers = [leader.replica.answer(new.questions.pop())]
    for _ in range(5):
        leader.replica.proposals.receive_batch([(b"s.z", b"", 0, 1, b"1\r\ny\r\n")] * 5)
    new.catch_up(len(log.entries))  # they wait
    for answer in answers:
        new.replica.answered(answer)
    while new.replica.catchup is not None:
        new.replica.answered(leader.replica.answer(new.questions.pop()))
    leader.replica.proposals.receive_batch([(b"s.z", b"", 0, 1, b"1\r\nz\r\n")])
    new.catch_up(len(log.entries))
    assert (new.messages(), new.encoded_state()) == (leader.messages(), leader.encoded_state())


@pytest.mark.parametrize("at_once", [0, 512])
def test_what_a_roll_up_makes_room_for_is_not_pushed_out(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "AT_ONCE", at_once)
    _, leader, _ = filled(count=4, max_bytes=500, allow_rollup_hdrs=True)
    roll = tail(headers.encode({"Nats-Rollup": "sub"}), b"z" * 150)
    size = len(roll) - roll.index(b"\r\n") - 4
    large = (b"s.z", b"", 0, 200, b"200\r\n" + b"z" * 200 + b"\r\n")
    leader.replica.proposals.receive_batch([large, (b"s.z", b"ack.1", size - 150, size, roll)])
    leader.clock.advance(0)
    assert [message[0] for message in leader.messages()[1:]] == [1, 2, 3, 4, 6]
    assert [body for _, body in leader.answers] == [b'{"stream":"S","seq":6}']
