"""Checkpoints: what is on the disk and when, and what an error of the disk means."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from lib.replicas import Member, MemoryLog, applied
from pyjs.server.jetstream.replication import ReplicaError, entry, state

SECOND = 1_000_000_000


class Frail(Member):
    """A replica whose failures are remembered."""

    failures: list[BaseException]

    def store_failed(self, replica: Any, error: BaseException) -> None:
        del replica
        self.failures.append(error)


def led(kind: type[Member] = Member) -> tuple[MemoryLog, Member]:
    log = MemoryLog()
    member = kind(log, {})
    member.clock.advance(1)
    log.lead(member)
    return log, member


def put(member: Member, count: int = 1) -> None:
    for _ in range(count):
        member.replica.proposals.receive_batch([(b"s.a", b"ack.1", 0, 1, b"1\r\n")])


def test_the_log_may_forget_what_a_checkpoint_has_and_no_more() -> None:
    _, member = led()
    put(member, 3)
    assert (member.replica.durable_index, member.stream.index) == (0, 3)
    assert member.replica.snapshot() is None  # begins one
    assert member.replica.snapshot() == (3, member.mark(3))
    put(member)
    assert member.replica.snapshot() == (3, member.mark(3))
    syncs = member.disk.syncs
    member.clock.advance(2 * SECOND)
    assert member.disk.syncs > syncs
    assert member.replica.durable_index == 4


def test_publishes_are_refused_while_too_much_is_under_way() -> None:
    log, member = led()
    put(member)
    log.full = True
    put(member, 2)
    log.full = False
    put(member)
    member.clock.advance(0)
    codes = [json.loads(body).get("error", {}).get("err_code", 0) for _, body in member.answers]
    assert sorted(codes) == [0, 0, 10167, 10167]
    assert len(member.messages()) == len(log.entries) + 1  # and the figures


def test_answers_do_not_wait_for_a_checkpoint() -> None:
    _, member = led()
    put(member, 3)
    assert (len(member.answers), member.disk.syncs) == (3, 0)


def test_after_a_crash_the_log_leads_on_from_the_checkpoint() -> None:
    log, member = led()
    put(member, 3)
    member.clock.advance(2 * SECOND)
    put(member, 2)
    wanted = member.messages()
    log.leader = None
    member.crash(lambda most: most)  # all that was written is there; it was not committed
    assert (member.replica.durable_index, member.stream.store.messages) == (3, 3)
    member.catch_up(len(log.entries))
    assert member.messages() == wanted


def test_entries_that_were_applied_do_nothing() -> None:
    log, member = led()
    put(member, 3)
    wanted = member.messages()
    applied(member.replica.apply(list(enumerate(log.entries, 1)), 3))
    assert member.messages() == wanted


def test_a_clean_stop_leaves_everything_on_the_disk() -> None:
    _, member = led()
    put(member, 3)
    member.replica.stop()
    member.disk.kill()
    member.start()
    member.open()
    assert (member.replica.durable_index, member.stream.store.messages) == (3, 3)


def test_a_disk_that_refuses_ends_the_replica() -> None:
    Frail.failures = []
    _, member = led(Frail)
    put(member, 3)
    member.disk.fail("sync")
    member.clock.advance(2 * SECOND)
    assert [type(error) for error in Frail.failures] == [OSError]
    assert not member.stream.leading
    with pytest.raises(ReplicaError, match="the stream's store"):
        member.replica.apply([(4, entry.encode(entry.Skip(1, 9)))], 4)
    member.replica.stop()


def test_a_damaged_message_ends_the_replica() -> None:
    Frail.failures = []
    _, member = led(Frail)
    put(member)
    member.replica.damaged("block 1 at 200")
    assert "damaged: block 1 at 200" in member.replica.failure
    put(member)
    assert len(member.answers) == 1


def test_an_entry_of_a_newer_server_ends_the_replica() -> None:
    _, member = led()
    with pytest.raises(entry.StreamEntryError):
        applied(member.replica.apply([(1, b"\x09\x01" + bytes(8))], 1))


class Turns:
    """A loop whose turns come when the test wants."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def soon(self, callback: Callable[[], None]) -> None:
        self.due.append(callback)

    def run(self) -> None:
        while self.due:
            self.due.pop(0)()


def slowly_noting(monkeypatch: pytest.MonkeyPatch) -> tuple[MemoryLog, Member, Member, Turns]:
    """A leader and a follower with three messages, which is in the middle of writing down its state."""
    monkeypatch.setattr(state, "STEP", 1)
    log, leader = led()
    follower, turns = Member(log, {}), Turns()
    follower.jetstream.host.turns = turns  # type: ignore[assignment]
    follower.open()
    block = b"NATS/1.0\r\nNats-Msg-Id: %d\r\n\r\n"
    parts = [block % number for number in range(3)]
    leader.replica.proposals.receive_batch(
        [(b"s.a", b"", len(part), len(part), b"%d\r\n%b\r\n" % (len(part), part)) for part in parts]
    )
    follower.catch_up(len(log.entries))
    assert follower.replica.snapshot() is None
    assert follower.replica.checkpoint.gathering
    return log, leader, follower, turns


def test_nothing_is_applied_while_the_state_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    log, leader, follower, turns = slowly_noting(monkeypatch)
    before = follower.messages()
    put(leader, 3)
    for _ in range(5):
        follower.catch_up(len(log.entries), rests=lambda: True)
    assert (follower.messages(), follower.replica.durable_index) == (before, 0)
    turns.run()
    assert follower.replica.durable_index == 1
    follower.go_on()
    assert (follower.messages(), follower.encoded_state()) == (leader.messages(), leader.encoded_state())
    follower.crash(lambda most: most)
    assert (follower.messages(), follower.replica.durable_index) == (before, 1)
    follower.catch_up(len(log.entries))
    assert (follower.messages(), follower.encoded_state()) == (leader.messages(), leader.encoded_state())


def test_a_stop_does_not_wait_for_the_turns_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    _, leader, follower, turns = slowly_noting(monkeypatch)
    follower.replica.stop()
    turns.run()
    follower.disk.kill()
    follower.start()
    follower.open()
    assert follower.replica.durable_index == 1
    assert (follower.messages(), follower.encoded_state()) == (leader.messages(), leader.encoded_state())
