"""A replica that the log cannot help gets messages and state from another one, checked at both ends."""

from __future__ import annotations

from typing import Any

import pytest
from lib.replicas import CREATED, Member, MemoryLog, applied, order
from pyjs.server.jetstream.replication import entry
from pyjs.server.jetstream.replication.catchup import CatchupError, CatchupMismatchError, CatchupSenderError

SECOND = 1_000_000_000
COUNT = 60


def filled(**config: Any) -> tuple[MemoryLog, Member]:
    log = MemoryLog()
    leader = Member(log, config)
    leader.clock.advance(1)
    log.lead(leader)
    for number in range(COUNT):
        put(leader, b"%d" % number * 20)
    for seq in (3, 4, 5, 40):
        order(leader, entry.DeleteMsg(leader.replica.proposals.now(), seq, True))
    return log, leader


def put(member: Member, body: bytes, subject: bytes = b"s.a") -> None:
    member.replica.proposals.receive_batch([(subject, b"ack.1", 0, len(body), body + b"\r\n")])


def asked(member: Member, log: MemoryLog) -> None:
    """Its log is gone up to the end."""
    end = len(log.entries)
    member.replica.restore(member.mark(end), end)


def piece(member: Member, leader: Member, most: int = 500) -> bytes:
    return leader.replica.answer(member.questions.pop()[:-4] + most.to_bytes(4, "little"))


def run(member: Member, leader: Member) -> int:
    rounds = 0
    while member.questions:
        member.replica.answered(piece(member, leader))
        rounds += 1
    member.at = member.stream.index
    return rounds


def test_an_empty_replica_gets_all_and_goes_on_with_the_log() -> None:
    log, leader = filled()
    new = Member(log, {})
    asked(new, log)
    assert new.replica.durable_index == 0
    assert run(new, leader) > 5
    assert (new.messages(), new.encoded_state()) == (leader.messages(), leader.encoded_state())
    assert new.replica.durable_index == len(log.entries)
    put(leader, b"more")
    new.catch_up(len(log.entries))
    assert new.messages() == leader.messages()
    new.crash(lambda _: 0)
    assert new.replica.durable_index == COUNT + 4


def test_what_the_leader_takes_meanwhile_comes_too() -> None:
    log, leader = filled(max_msgs=50)
    new = Member(log, {"max_msgs": 50})
    asked(new, log)
    while new.questions:
        new.replica.answered(piece(new, leader))
        put(leader, b"meanwhile")
        applied(new.replica.apply([(len(log.entries), log.entries[-1])], len(log.entries)))
    assert new.stream.index == len(log.entries)
    assert (new.messages(), new.encoded_state()) == (leader.messages(), leader.encoded_state())


def test_a_catchup_goes_on_after_a_crash_and_from_another_sender() -> None:
    log, leader = filled()
    other = Member(log, {})
    other.catch_up(len(log.entries))
    new = Member(log, {})
    asked(new, log)
    for _ in range(4):
        new.replica.answered(piece(new, leader))
    there = new.stream.store.last_seq
    new.questions.clear()
    new.crash(lambda _: 0)
    assert new.replica.durable_index == 0
    assert new.replica.catchup is not None
    assert new.stream.store.last_seq == there > 10
    run(new, other)
    assert new.messages() == leader.messages()


def test_a_replica_that_is_behind_fetches_only_what_it_has_not() -> None:
    log, leader = filled()
    late = Member(log, {})
    late.catch_up(50)
    asked(late, log)
    assert run(late, leader) == 2
    assert (late.messages(), late.encoded_state()) == (leader.messages(), leader.encoded_state())


def test_who_has_less_than_is_needed_is_not_asked_again_and_again() -> None:
    log, leader = filled()
    removed = Member(log, {})
    removed.catch_up(50)
    new = Member(log, {})
    asked(new, log)
    while not new.others:
        new.replica.answered(piece(new, removed))
    assert new.replica.catchup is not None and len(new.questions) == 1
    run(new, leader)
    assert new.others == 1
    assert (new.messages(), new.encoded_state()) == (leader.messages(), leader.encoded_state())


def test_what_is_damaged_on_its_way_is_not_taken() -> None:
    log, leader = filled()
    new = Member(log, {})
    asked(new, log)
    good = piece(new, leader)
    for at in range(0, len(good), 7):
        bad = bytearray(good)
        bad[at] ^= 4
        try:
            new.replica.answered(bytes(bad))
        except CatchupError:
            pass
        else:
            assert at < 22  # a piece that answers another question is passed by
        assert new.stream.store.messages == 0
    new.questions.append(new.replica.catchup.ask())  # type: ignore[union-attr]
    run(new, leader)
    assert new.messages() == leader.messages()


def test_a_damaged_sender_sends_nothing() -> None:
    log, _ = filled()
    sender = Member(log, {})
    sender.catch_up(len(log.entries))
    sender.replica.stop()
    path = sorted(one for one in sender.disk.seen if one.endswith(".blk"))[1]
    sender.disk.flip(path, 300)
    sender.start()
    sender.open()
    new = Member(log, {})
    asked(new, log)
    for _ in range(2):
        with pytest.raises(CatchupSenderError, match=r"damaged|lost"):
            sender.replica.answer(new.questions[0])


def test_a_question_about_another_stream_of_the_name_is_refused() -> None:
    log, leader = filled()
    other = Member(log, {})
    asked(other, log)
    question = other.questions[0]
    strange = question[:1] + (CREATED + 1).to_bytes(8, "little") + question[9:]
    for asked_for in (strange, b"", b"\x02" + question[1:]):
        with pytest.raises(CatchupSenderError):
            leader.replica.answer(asked_for)


def test_a_replica_that_catches_up_helps_nobody_and_makes_no_snapshot() -> None:
    log, _ = filled()
    new = Member(log, {})
    asked(new, log)
    with pytest.raises(CatchupSenderError, match="not current"):
        new.replica.answer(new.questions[0])
    assert new.replica.snapshot() is None


def test_what_does_not_fit_is_no_replica() -> None:
    log, leader = filled()
    odd = Member(log, {})
    odd.stream.store.append("s.z", b"", b"of another history", 1)
    asked(odd, log)
    with pytest.raises(CatchupMismatchError):
        run(odd, leader)
