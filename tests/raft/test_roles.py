"""Roles of a member: the table of changes is complete, and a member alone goes through its roles."""

from __future__ import annotations

from random import Random

import pytest
from pyjs.raft import (
    HardState,
    Heartbeat,
    HeartbeatReply,
    Members,
    NotLeaderError,
    RaftLog,
    RawNode,
    RequestVoteReply,
    Snapshot,
    TimeoutNow,
)
from pyjs.raft.roles import TRANSITIONS, Event, RaftState


def node(*others: str) -> RawNode:
    log = RaftLog.load(Snapshot(0, 0, Members.of(["a", *others])), 0, 0, [])
    return RawNode("a", log, HardState(boot=1), random=Random(1))


def until(member: RawNode, state: RaftState) -> None:
    """Let time pass until the member has that role."""
    for _ in range(100):
        if member.role.state is state:
            return
        member.tick()
    raise AssertionError(f"it stayed a {member.role.state}")


def persist(member: RawNode) -> None:
    while member.write() is not None:
        member.written()


def elected(*others: str) -> RawNode:
    member = node(*others)
    until(member, RaftState.PRE_CANDIDATE)
    for name in others:
        member.step(RequestVoteReply(name, "a", member.term + 1, pre=True, granted=True))
    persist(member)
    for name in others:
        member.step(RequestVoteReply(name, "a", member.term, pre=False, granted=True))
    assert member.is_leader
    return member


def test_every_role_follows_a_higher_term() -> None:
    assert {state for (state, event) in TRANSITIONS if event is Event.HIGHER_TERM} == set(RaftState)
    assert {n for (_, event), n in TRANSITIONS.items() if event is Event.HIGHER_TERM} == {RaftState.FOLLOWER}


def test_during_a_transfer_proposals_are_refused_with_the_reason() -> None:
    member = elected("b", "c")
    member.transfer("b")
    with pytest.raises(NotLeaderError, match="the leader is handing over") as refused:
        member.propose([b"x"])
    assert refused.value.leader == ""
    with pytest.raises(NotLeaderError, match="there is no leader"):
        node("b", "c").propose([b"x"])


def test_every_role_can_be_reached_and_left() -> None:
    reached = {RaftState.FOLLOWER}
    for _ in RaftState:
        reached |= {following for (state, _), following in TRANSITIONS.items() if state in reached}
    assert reached == set(RaftState)
    assert {state for (state, _), following in TRANSITIONS.items() if following is not state} == reached


def test_only_a_quorum_makes_a_leader() -> None:
    to_leader = [pair for pair, following in TRANSITIONS.items() if following is RaftState.LEADER]
    assert to_leader == [(RaftState.CANDIDATE, Event.QUORUM_GRANTED)]


def test_a_member_alone_becomes_the_leader_when_its_vote_is_durable() -> None:
    member = node()
    until(member, RaftState.CANDIDATE)
    assert not member.is_leader
    persist(member)
    assert member.is_leader
    assert member.term == 1


def test_a_leader_that_nobody_answers_steps_down() -> None:
    member = elected("b", "c")
    term = member.term
    until(member, RaftState.FOLLOWER)
    assert (member.term, member.leader) == (term, "")


def test_a_refused_pre_vote_changes_no_term() -> None:
    member = node("b", "c")
    until(member, RaftState.PRE_CANDIDATE)
    for name in ("b", "c"):
        member.step(RequestVoteReply(name, "a", member.term, pre=True, granted=False))
    assert (member.role.state, member.term) == (RaftState.FOLLOWER, 0)


def test_a_transfer_needs_no_pre_vote() -> None:
    member = node("b", "c")
    member.step(Heartbeat("b", "a", 3, 0, 0, 1, answer=True))
    member.step(TimeoutNow("b", "a", 3))
    assert (member.role.state, member.term) == (RaftState.CANDIDATE, 4)


@pytest.mark.parametrize("leads", [True, False])
def test_a_higher_term_is_followed(leads: bool) -> None:
    member = elected("b", "c") if leads else node("b", "c")
    member.step(Heartbeat("b", "a", 9, 0, 0, 1, answer=False))
    assert (member.role.state, member.leader, member.term) == (RaftState.FOLLOWER, "b", 9)
    member.step(HeartbeatReply("c", "a", 10, boot=1))
    assert (member.role.state, member.leader, member.term) == (RaftState.FOLLOWER, "", 10)


def test_a_failed_member_says_one_last_word_and_nothing_more() -> None:
    member = elected("b", "c")
    member.messages()
    member.fail("the disk is gone")
    assert [type(message) for message in member.messages()] == [TimeoutNow]
    member.tick()
    member.step(Heartbeat("b", "a", 9, 0, 0, 1, answer=True))
    assert (member.messages(), member.write(), member.committed()) == ([], None, None)
    assert (member.leader, member.is_leader) == ("", False)
