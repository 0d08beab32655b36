"""Which server answers which request."""

from __future__ import annotations

import itertools

import pytest
from lib.meta_fixture import Site
from pyjs.server.jetstream.api.table import all_handlers
from pyjs.server.jetstream.meta.node_info import NodeStatus
from pyjs.server.jetstream.meta.responder import (
    LISTENERS,
    PATIENCE,
    RULES,
    LeaderStatus,
    MetaRole,
    ResponderAction,
    ResponderRule,
    ResponderState,
    StreamRole,
    action_for,
    asset_of,
    error_of,
    meta_of,
    rule_for,
)

META = [pattern for pattern, rule in RULES.items() if rule is ResponderRule.META]
STREAM = [
    pattern for pattern, rule in RULES.items() if rule in {ResponderRule.STREAM, ResponderRule.STREAM_INFO}
]
CONSUMER = [
    pattern
    for pattern, rule in RULES.items()
    if rule in {ResponderRule.CONSUMER, ResponderRule.CONSUMER_INFO}
]
SYSTEM = [pattern for pattern, rule in RULES.items() if rule is ResponderRule.SYSTEM]
EVERYBODY = [pattern for pattern, rule in RULES.items() if rule is ResponderRule.EVERYBODY]


def acts(
    pattern: str, meta: MetaRole, asset: StreamRole = StreamRole.ABSENT, *, consumer: bool = True
) -> str:
    return action_for(RULES[pattern], ResponderState(meta, asset, consumer)).name


def test_every_subject_of_the_api_has_a_rule() -> None:
    assert set(all_handlers()) <= set(RULES)
    assert not set(RULES) & set(LISTENERS)
    assert len(META + STREAM + CONSUMER + SYSTEM + EVERYBODY) == len(RULES)


@pytest.mark.parametrize("pattern", META)
def test_what_is_decided_together_the_meta_leader_answers(pattern: str) -> None:
    for asset in StreamRole:
        assert acts(pattern, MetaRole.LEADER, asset) == "ANSWER"
        assert acts(pattern, MetaRole.FOLLOWER, asset) == "SILENT"
        assert acts(pattern, MetaRole.LEADERLESS, asset) == "UNAVAILABLE"


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
def test_what_a_stream_holds_its_leader_answers(pattern: str) -> None:
    for meta in MetaRole:
        assert acts(pattern, meta, StreamRole.LEADER) == "ANSWER"
    for asset in (StreamRole.MEMBER, StreamRole.ELSEWHERE):
        assert acts(pattern, MetaRole.LEADER, asset) == "SILENT"
        assert acts(pattern, MetaRole.FOLLOWER, asset) == "SILENT"
        assert acts(pattern, MetaRole.LEADERLESS, asset) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
def test_what_is_not_there_the_meta_leader_says(pattern: str) -> None:
    assert acts(pattern, MetaRole.LEADER) == "NO_STREAM"
    assert acts(pattern, MetaRole.FOLLOWER) == "SILENT"
    assert acts(pattern, MetaRole.LEADERLESS) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("pattern", CONSUMER)
@pytest.mark.parametrize("asset", [asset for asset in StreamRole if asset is not StreamRole.ABSENT])
def test_a_consumer_that_is_not_there_the_meta_leader_says(pattern: str, asset: StreamRole) -> None:
    assert acts(pattern, MetaRole.LEADER, asset, consumer=False) == "NO_CONSUMER"
    assert acts(pattern, MetaRole.FOLLOWER, asset, consumer=False) == "SILENT"
    assert acts(pattern, MetaRole.LEADERLESS, asset, consumer=False) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
def test_what_is_away_the_meta_leader_says_later(pattern: str) -> None:
    kind = "CONSUMER" if pattern in CONSUMER else "STREAM"
    assert acts(pattern, MetaRole.LEADER, StreamRole.OFFLINE) == f"{kind}_OFFLINE_LATER"
    assert acts(pattern, MetaRole.FOLLOWER, StreamRole.OFFLINE) == "SILENT"
    assert acts(pattern, MetaRole.LEADERLESS, StreamRole.OFFLINE) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
@pytest.mark.parametrize("meta", MetaRole)
def test_without_a_leader_members_say_so_and_show_the_stream(pattern: str, meta: MetaRole) -> None:
    wanted = "ANSWER" if pattern == "STREAM.INFO.*" else "UNAVAILABLE"
    assert acts(pattern, meta, StreamRole.LEADERLESS) == wanted


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
def test_who_is_to_lead_a_new_stream_shows_it_already(pattern: str) -> None:
    wanted = "ANSWER" if ".INFO." in pattern else "SILENT"
    assert acts(pattern, MetaRole.FOLLOWER, StreamRole.NEW) == wanted


@pytest.mark.parametrize("pattern", SYSTEM)
def test_the_system_accounts_requests_the_meta_leader_answers(pattern: str) -> None:
    for meta, system in itertools.product(MetaRole, (False, True)):
        wanted = ResponderAction.ANSWER if system and meta is MetaRole.LEADER else ResponderAction.SILENT
        assert action_for(RULES[pattern], ResponderState(meta, system=system)) is wanted


@pytest.mark.parametrize("pattern", EVERYBODY)
def test_what_each_server_does_for_itself_each_answers(pattern: str) -> None:
    for meta, asset in itertools.product(MetaRole, StreamRole):
        assert action_for(RULES[pattern], ResponderState(meta, asset, system=True)) is ResponderAction.ANSWER
        assert action_for(RULES[pattern], ResponderState(meta, asset)) is ResponderAction.SILENT


@pytest.mark.parametrize("pattern", sorted(RULES))
@pytest.mark.parametrize("state", ["led", "offline", "absent"])
def test_exactly_one_of_three_servers_answers(pattern: str, state: str) -> None:
    """With a meta leader, whoever leads the stream, and with the meta leader in it or not."""
    if RULES[pattern] is ResponderRule.EVERYBODY:
        return
    for home in range(4):
        assets = [StreamRole.ELSEWHERE if home == 3 else StreamRole.MEMBER] * 3 + [StreamRole.ELSEWHERE]
        assets[home] = StreamRole.LEADER
        if state == "offline":
            assets = [StreamRole.OFFLINE] * 4
        elif state == "absent":
            assets = [StreamRole.ABSENT] * 4
        standings = [
            ResponderState(MetaRole.LEADER if n == 0 else MetaRole.FOLLOWER, asset, system=True)
            for n, asset in enumerate(assets)
        ]
        said = [action_for(RULES[pattern], standing) for standing in standings]
        assert len([act for act in said if act is not ResponderAction.SILENT]) == 1, said


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


def test_internal_consumers_are_their_streams_matter() -> None:
    assert rule_for("CONSUMER.CREATE.*") is ResponderRule.META
    assert rule_for("CONSUMER.CREATE.*.>", internal=True) is ResponderRule.STREAM
    assert rule_for("CONSUMER.CREATE.*.>", internal=True, retention="workqueue") is ResponderRule.META
    assert rule_for("CONSUMER.INFO.*.*", internal=True) is ResponderRule.CONSUMER_INFO


@pytest.mark.parametrize(
    ("led", "wanted"),
    [
        (LeaderStatus("me"), MetaRole.LEADER),
        (LeaderStatus("other"), MetaRole.FOLLOWER),
        (LeaderStatus(since=PATIENCE), MetaRole.FOLLOWER),
        (LeaderStatus(since=PATIENCE + 1), MetaRole.LEADERLESS),
    ],
)
def test_where_it_stands_in_the_meta_group(led: LeaderStatus, wanted: MetaRole) -> None:
    assert meta_of("me", led) is wanted


def test_where_it_stands_with_a_stream() -> None:
    site = Site(4)
    stream, single = site.create(), site.create(name="R1", replicas=1)
    me, other = stream.preferred, next(peer for peer in stream.peers if peer != stream.preferred)
    [stranger] = set(site.state.servers) - set(stream.peers)
    sights = site.sights
    assert asset_of(None, sights, me, None) is StreamRole.ABSENT
    assert asset_of(stream, sights, stranger, None) is StreamRole.ELSEWHERE
    away = dict.fromkeys(sights, NodeStatus(online=False))
    assert asset_of(stream, away, stranger, None) is StreamRole.OFFLINE
    assert asset_of(single, sights, single.peers[0], None) is StreamRole.LEADER
    assert asset_of(stream, sights, me, None) is StreamRole.MEMBER
    for led, wanted in (
        (LeaderStatus(me), StreamRole.LEADER),
        (LeaderStatus(other), StreamRole.MEMBER),
        (LeaderStatus(), StreamRole.NEW),
        (LeaderStatus(ever=True), StreamRole.MEMBER),
        (LeaderStatus(since=PATIENCE + 1), StreamRole.LEADERLESS),
    ):
        assert asset_of(stream, away, me, led) is wanted
    assert asset_of(stream, sights, other, LeaderStatus()) is StreamRole.MEMBER
