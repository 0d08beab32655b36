"""Which server answers which request."""

from __future__ import annotations

import itertools

import pytest
from lib.meta_site import Site
from pyjs.server.cluster.meta.answering import (
    LISTENERS,
    PATIENCE,
    RULES,
    Act,
    Asset,
    Led,
    Meta,
    Rule,
    Standing,
    asset_of,
    decide,
    error_of,
    meta_of,
    rule_for,
)
from pyjs.server.cluster.meta.server import Sight
from pyjs.server.jetstream.api.table import all_handlers

META = [pattern for pattern, rule in RULES.items() if rule is Rule.META]
STREAM = [pattern for pattern, rule in RULES.items() if rule in {Rule.STREAM, Rule.STREAM_INFO}]
CONSUMER = [pattern for pattern, rule in RULES.items() if rule in {Rule.CONSUMER, Rule.CONSUMER_INFO}]
SYSTEM = [pattern for pattern, rule in RULES.items() if rule is Rule.SYSTEM]
EVERYBODY = [pattern for pattern, rule in RULES.items() if rule is Rule.EVERYBODY]


def acts(pattern: str, meta: Meta, asset: Asset = Asset.ABSENT, *, consumer: bool = True) -> str:
    return decide(RULES[pattern], Standing(meta, asset, consumer)).name


def test_every_subject_of_the_api_has_a_rule() -> None:
    assert set(all_handlers()) <= set(RULES)
    assert not set(RULES) & set(LISTENERS)
    assert len(META + STREAM + CONSUMER + SYSTEM + EVERYBODY) == len(RULES)


@pytest.mark.parametrize("pattern", META)
def test_what_is_decided_together_the_meta_leader_answers(pattern: str) -> None:
    for asset in Asset:
        assert acts(pattern, Meta.LEADER, asset) == "ANSWER"
        assert acts(pattern, Meta.FOLLOWER, asset) == "SILENT"
        assert acts(pattern, Meta.LEADERLESS, asset) == "UNAVAILABLE"


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
def test_what_a_stream_holds_its_leader_answers(pattern: str) -> None:
    for meta in Meta:
        assert acts(pattern, meta, Asset.LEADER) == "ANSWER"
    for asset in (Asset.MEMBER, Asset.ELSEWHERE):
        assert acts(pattern, Meta.LEADER, asset) == "SILENT"
        assert acts(pattern, Meta.FOLLOWER, asset) == "SILENT"
        assert acts(pattern, Meta.LEADERLESS, asset) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
def test_what_is_not_there_the_meta_leader_says(pattern: str) -> None:
    assert acts(pattern, Meta.LEADER) == "NO_STREAM"
    assert acts(pattern, Meta.FOLLOWER) == "SILENT"
    assert acts(pattern, Meta.LEADERLESS) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("pattern", CONSUMER)
@pytest.mark.parametrize("asset", [asset for asset in Asset if asset is not Asset.ABSENT])
def test_a_consumer_that_is_not_there_the_meta_leader_says(pattern: str, asset: Asset) -> None:
    assert acts(pattern, Meta.LEADER, asset, consumer=False) == "NO_CONSUMER"
    assert acts(pattern, Meta.FOLLOWER, asset, consumer=False) == "SILENT"
    assert acts(pattern, Meta.LEADERLESS, asset, consumer=False) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
def test_what_is_away_the_meta_leader_says_later(pattern: str) -> None:
    kind = "CONSUMER" if pattern in CONSUMER else "STREAM"
    assert acts(pattern, Meta.LEADER, Asset.OFFLINE) == f"{kind}_OFFLINE_LATER"
    assert acts(pattern, Meta.FOLLOWER, Asset.OFFLINE) == "SILENT"
    assert acts(pattern, Meta.LEADERLESS, Asset.OFFLINE) == "UNAVAILABLE_LATER"


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
@pytest.mark.parametrize("meta", Meta)
def test_without_a_leader_members_say_so_and_show_the_stream(pattern: str, meta: Meta) -> None:
    wanted = "ANSWER" if pattern == "STREAM.INFO.*" else "UNAVAILABLE"
    assert acts(pattern, meta, Asset.LEADERLESS) == wanted


@pytest.mark.parametrize("pattern", STREAM + CONSUMER)
def test_who_is_to_lead_a_new_stream_shows_it_already(pattern: str) -> None:
    wanted = "ANSWER" if ".INFO." in pattern else "SILENT"
    assert acts(pattern, Meta.FOLLOWER, Asset.NEW) == wanted


@pytest.mark.parametrize("pattern", SYSTEM)
def test_the_system_accounts_requests_the_meta_leader_answers(pattern: str) -> None:
    for meta, system in itertools.product(Meta, (False, True)):
        wanted = Act.ANSWER if system and meta is Meta.LEADER else Act.SILENT
        assert decide(RULES[pattern], Standing(meta, system=system)) is wanted


@pytest.mark.parametrize("pattern", EVERYBODY)
def test_what_each_server_does_for_itself_each_answers(pattern: str) -> None:
    for meta, asset in itertools.product(Meta, Asset):
        assert decide(RULES[pattern], Standing(meta, asset, system=True)) is Act.ANSWER
        assert decide(RULES[pattern], Standing(meta, asset)) is Act.SILENT


@pytest.mark.parametrize("pattern", sorted(RULES))
@pytest.mark.parametrize("state", ["led", "offline", "absent"])
def test_exactly_one_of_three_servers_answers(pattern: str, state: str) -> None:
    """With a meta leader, whoever leads the stream, and with the meta leader in it or not."""
    if RULES[pattern] is Rule.EVERYBODY:
        return
    for home in range(4):
        assets = [Asset.ELSEWHERE if home == 3 else Asset.MEMBER] * 3 + [Asset.ELSEWHERE]
        assets[home] = Asset.LEADER
        if state == "offline":
            assets = [Asset.OFFLINE] * 4
        elif state == "absent":
            assets = [Asset.ABSENT] * 4
        standings = [
            Standing(Meta.LEADER if n == 0 else Meta.FOLLOWER, asset, system=True)
            for n, asset in enumerate(assets)
        ]
        said = [decide(RULES[pattern], standing) for standing in standings]
        assert len([act for act in said if act is not Act.SILENT]) == 1, said


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (Act.ANSWER, None),
        (Act.SILENT, None),
        (Act.UNAVAILABLE, 10008),
        (Act.UNAVAILABLE_LATER, 10008),
        (Act.NO_STREAM, 10059),
        (Act.NO_CONSUMER, 10014),
        (Act.STREAM_OFFLINE_LATER, 10118),
        (Act.CONSUMER_OFFLINE_LATER, 10119),
    ],
)
def test_what_is_said(act: Act, code: int | None) -> None:
    error = error_of(act)
    assert (None if error is None else error.err_code) == code
    assert act.later == act.name.endswith("LATER")


def test_internal_consumers_are_their_streams_matter() -> None:
    assert rule_for("CONSUMER.CREATE.*") is Rule.META
    assert rule_for("CONSUMER.CREATE.*.>", internal=True) is Rule.STREAM
    assert rule_for("CONSUMER.CREATE.*.>", internal=True, retention="workqueue") is Rule.META
    assert rule_for("CONSUMER.INFO.*.*", internal=True) is Rule.CONSUMER_INFO


@pytest.mark.parametrize(
    ("led", "wanted"),
    [
        (Led("me"), Meta.LEADER),
        (Led("other"), Meta.FOLLOWER),
        (Led(since=PATIENCE), Meta.FOLLOWER),
        (Led(since=PATIENCE + 1), Meta.LEADERLESS),
    ],
)
def test_where_it_stands_in_the_meta_group(led: Led, wanted: Meta) -> None:
    assert meta_of("me", led) is wanted


def test_where_it_stands_with_a_stream() -> None:
    site = Site(4)
    stream, single = site.create(), site.create(name="R1", replicas=1)
    me, other = stream.preferred, next(peer for peer in stream.peers if peer != stream.preferred)
    [stranger] = set(site.state.servers) - set(stream.peers)
    sights = site.sights
    assert asset_of(None, sights, me, None) is Asset.ABSENT
    assert asset_of(stream, sights, stranger, None) is Asset.ELSEWHERE
    away = dict.fromkeys(sights, Sight(online=False))
    assert asset_of(stream, away, stranger, None) is Asset.OFFLINE
    assert asset_of(single, sights, single.peers[0], None) is Asset.LEADER
    assert asset_of(stream, sights, me, None) is Asset.MEMBER
    for led, wanted in (
        (Led(me), Asset.LEADER),
        (Led(other), Asset.MEMBER),
        (Led(), Asset.NEW),
        (Led(ever=True), Asset.MEMBER),
        (Led(since=PATIENCE + 1), Asset.LEADERLESS),
    ):
        assert asset_of(stream, away, me, led) is wanted
    assert asset_of(stream, sights, other, Led()) is Asset.MEMBER
