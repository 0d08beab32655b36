"""Which server answers which request."""

from __future__ import annotations

import itertools

import pytest
from lib.meta_fixture import MetaFixture
from pyjs.server.jetstream.meta.node_info import NodeStatus
from pyjs.server.jetstream.meta.responder import (
    LEADERLESS_AFTER,
    LeaderStatus,
    MetaRole,
    ResponderAction,
    ResponderState,
    StreamRole,
    action_for,
    error_of,
    meta_role,
    stream_role,
)
from pyjs.server.jetstream.meta.responder_rule import ResponderRule

META, SYSTEM, EVERYBODY = ResponderRule.META, ResponderRule.SYSTEM, ResponderRule.EVERYBODY
STREAM = [ResponderRule.STREAM, ResponderRule.STREAM_INFO]
CONSUMER = [ResponderRule.CONSUMER, ResponderRule.CONSUMER_INFO]


def acts(
    rule: ResponderRule, meta: MetaRole, role: StreamRole = StreamRole.ABSENT, *, consumer: bool = True
) -> str:
    return action_for(rule, ResponderState(meta, role, consumer)).name


def test_what_is_decided_together_the_meta_leader_answers() -> None:
    for role in StreamRole:
        assert acts(META, MetaRole.LEADER, role) == "ANSWER"
        assert acts(META, MetaRole.FOLLOWER, role) == "SILENT"
        assert acts(META, MetaRole.LEADERLESS, role) == "UNAVAILABLE"


@pytest.mark.parametrize("rule", STREAM + CONSUMER)
def test_what_a_stream_holds_its_leader_answers(rule: ResponderRule) -> None:
    for meta in MetaRole:
        assert acts(rule, meta, StreamRole.LEADER) == "ANSWER"
    for role in (StreamRole.MEMBER, StreamRole.ELSEWHERE):
        assert acts(rule, MetaRole.LEADER, role) == "SILENT"
        assert acts(rule, MetaRole.FOLLOWER, role) == "SILENT"
        assert acts(rule, MetaRole.LEADERLESS, role) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("rule", STREAM + CONSUMER)
def test_what_is_not_there_the_meta_leader_refuses(rule: ResponderRule) -> None:
    assert acts(rule, MetaRole.LEADER) == "NO_STREAM"
    assert acts(rule, MetaRole.FOLLOWER) == "SILENT"
    assert acts(rule, MetaRole.LEADERLESS) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("rule", CONSUMER)
@pytest.mark.parametrize("role", [role for role in StreamRole if role is not StreamRole.ABSENT])
def test_a_consumer_that_is_not_there_the_meta_leader_refuses(rule: ResponderRule, role: StreamRole) -> None:
    assert acts(rule, MetaRole.LEADER, role, consumer=False) == "NO_CONSUMER"
    assert acts(rule, MetaRole.FOLLOWER, role, consumer=False) == "SILENT"
    assert acts(rule, MetaRole.LEADERLESS, role, consumer=False) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("rule", STREAM + CONSUMER)
def test_what_is_away_the_meta_leader_refuses_later(rule: ResponderRule) -> None:
    kind = "CONSUMER" if rule in CONSUMER else "STREAM"
    assert acts(rule, MetaRole.LEADER, StreamRole.OFFLINE) == f"{kind}_OFFLINE_LATER"
    assert acts(rule, MetaRole.FOLLOWER, StreamRole.OFFLINE) == "SILENT"
    assert acts(rule, MetaRole.LEADERLESS, StreamRole.OFFLINE) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("rule", STREAM + CONSUMER)
@pytest.mark.parametrize("meta", MetaRole)
def test_without_a_leader_members_refuse_and_show_the_stream(rule: ResponderRule, meta: MetaRole) -> None:
    wanted = "ANSWER" if rule is ResponderRule.STREAM_INFO else "UNAVAILABLE"
    assert acts(rule, meta, StreamRole.LEADERLESS) == wanted


@pytest.mark.parametrize("rule", STREAM + CONSUMER)
def test_who_is_to_lead_a_new_stream_shows_it_already(rule: ResponderRule) -> None:
    wanted = "ANSWER" if rule.name.endswith("_INFO") else "SILENT"
    assert acts(rule, MetaRole.FOLLOWER, StreamRole.NEW) == wanted


def test_the_system_accounts_requests_the_meta_leader_answers() -> None:
    for meta, system in itertools.product(MetaRole, (False, True)):
        wanted = ResponderAction.ANSWER if system and meta is MetaRole.LEADER else ResponderAction.SILENT
        assert action_for(SYSTEM, ResponderState(meta, system=system)) is wanted


def test_what_each_server_does_for_itself_each_answers() -> None:
    for meta, role in itertools.product(MetaRole, StreamRole):
        assert action_for(EVERYBODY, ResponderState(meta, role, system=True)) is ResponderAction.ANSWER
        assert action_for(EVERYBODY, ResponderState(meta, role)) is ResponderAction.SILENT


@pytest.mark.parametrize("rule", [rule for rule in ResponderRule if rule is not EVERYBODY])
@pytest.mark.parametrize("state", ["led", "offline", "absent"])
def test_exactly_one_of_three_servers_answers(rule: ResponderRule, state: str) -> None:
    """With a meta leader, whoever leads the stream, and with the meta leader in it or not."""
    for owner in range(4):
        roles = [StreamRole.ELSEWHERE if owner == 3 else StreamRole.MEMBER] * 3 + [StreamRole.ELSEWHERE]
        roles[owner] = StreamRole.LEADER
        if state == "offline":
            roles = [StreamRole.OFFLINE] * 4
        elif state == "absent":
            roles = [StreamRole.ABSENT] * 4
        states = [
            ResponderState(MetaRole.LEADER if n == 0 else MetaRole.FOLLOWER, role, system=True)
            for n, role in enumerate(roles)
        ]
        acted = [action_for(rule, responder_state) for responder_state in states]
        assert len([act for act in acted if act is not ResponderAction.SILENT]) == 1, acted


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (ResponderAction.ANSWER, None),
        (ResponderAction.SILENT, None),
        (ResponderAction.UNAVAILABLE, 10008),
        (ResponderAction.UNAVAILABLE_LATER, 10008),
        (ResponderAction.NO_STREAM, 10059),
        (ResponderAction.NO_CONSUMER, 10014),
        (ResponderAction.STREAM_OFFLINE_LATER, 10118),
        (ResponderAction.CONSUMER_OFFLINE_LATER, 10119),
    ],
)
def test_what_is_said(act: ResponderAction, code: int | None) -> None:
    error = error_of(act)
    assert (None if error is None else error.err_code) == code
    assert act.later == act.name.endswith("LATER")


@pytest.mark.parametrize(
    ("leader_status", "wanted"),
    [
        (LeaderStatus("me"), MetaRole.LEADER),
        (LeaderStatus("other"), MetaRole.FOLLOWER),
        (LeaderStatus(since=LEADERLESS_AFTER), MetaRole.FOLLOWER),
        (LeaderStatus(since=LEADERLESS_AFTER + 1), MetaRole.LEADERLESS),
    ],
)
def test_where_it_stands_in_the_meta_group(leader_status: LeaderStatus, wanted: MetaRole) -> None:
    assert meta_role("me", leader_status) is wanted


def test_where_it_stands_with_a_stream() -> None:
    fixture = MetaFixture(4)
    stream, single = fixture.create(), fixture.create(name="R1", replicas=1)
    me, other = stream.preferred, next(peer for peer in stream.peers if peer != stream.preferred)
    [stranger] = set(fixture.state.servers) - set(stream.peers)
    node_statuses = fixture.node_statuses
    assert stream_role(None, node_statuses, me, None) is StreamRole.ABSENT
    assert stream_role(stream, node_statuses, stranger, None) is StreamRole.ELSEWHERE
    away = dict.fromkeys(node_statuses, NodeStatus(online=False))
    assert stream_role(stream, away, stranger, None) is StreamRole.OFFLINE
    assert stream_role(single, node_statuses, single.peers[0], None) is StreamRole.LEADER
    assert stream_role(stream, node_statuses, me, None) is StreamRole.MEMBER
    for leader_status, wanted in (
        (LeaderStatus(me), StreamRole.LEADER),
        (LeaderStatus(other), StreamRole.MEMBER),
        (LeaderStatus(), StreamRole.NEW),
        (LeaderStatus(ever=True), StreamRole.MEMBER),
        (LeaderStatus(since=LEADERLESS_AFTER + 1), StreamRole.LEADERLESS),
    ):
        assert stream_role(stream, away, me, leader_status) is wanted
    assert stream_role(stream, node_statuses, other, LeaderStatus()) is StreamRole.MEMBER
