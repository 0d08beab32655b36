"""Which servers are chosen, and the error when there are none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from lib.meta_fixture import MIB, MetaFixture, code, server
from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.meta.node_info import NodeStatus
from pyjs.server.jetstream.meta.placement import (
    EXCLUDED,
    PlacementPolicy,
    PlacementRequest,
    loads,
    may_lead,
    place,
    preferred,
    successor,
    survivors,
)

AWAY = NodeStatus(online=False)
NEVER_HEARD = NodeStatus(online=False, known=False)


def choose(
    meta: MetaFixture, replicas: int = 3, clusters: tuple[str, ...] = ("C",), **more: Any
) -> list[str]:
    extra = {name: more.pop(name) for name in ("existing", "ignore") if name in more}
    placement = PlacementRequest(replicas, clusters, **more)
    peers, _ = place(meta.state, meta.node_statuses, placement, meta.policy, meta.random, **extra)
    return [meta.state.server_name(peer) for peer in peers]


def why_not(meta: MetaFixture, **more: Any) -> str:
    with pytest.raises(ApiError) as refused:
        choose(meta, **more)
    assert code(refused.value) == 10005
    text = refused.value.description
    assert text.startswith("no suitable peers for placement")
    return text.removeprefix("no suitable peers for placement").removeprefix(", ")


def see(meta: MetaFixture, number: int, node_status: NodeStatus) -> None:
    meta.node_statuses[server(number).id] = node_status


def test_replicated_streams_are_spread_evenly() -> None:
    meta = MetaFixture(5)
    for number in range(10):
        meta.create(name=f"S{number}")
    counts = Counter(load.replicated for load in loads(meta.state).values())
    assert counts == {6: 5}


def test_single_streams_go_where_there_is_room_then_where_there_are_few() -> None:
    meta = MetaFixture(0)
    for number, limit in ((1, 10 * MIB), (2, 30 * MIB), (3, 20 * MIB)):
        meta.join(server(number, max_store=limit, max_memory=limit))
    assert choose(meta, 1) == ["n2"]
    meta.create(name="big", replicas=1, max_bytes=25 * MIB)
    assert choose(meta, 1) == ["n3"]
    see(meta, 3, NodeStatus(store=15 * MIB))
    assert choose(meta, 1) == ["n1"]
    assert choose(meta, 1, storage="memory") == ["n2"]
    even = MetaFixture(3)
    homes = Counter(even.create(name=f"S{n}", replicas=1).peers[0] for n in range(6))
    assert set(homes.values()) == {2}


def test_replicas_are_balanced_before_room() -> None:
    meta = MetaFixture(0)
    for number in range(1, 5):
        meta.join(server(number, max_store=number * MIB))
    assert choose(meta) == ["n4", "n3", "n2"]
    meta.create()
    assert choose(meta)[0] == "n1"


def test_equal_random_numbers_choose_the_same() -> None:
    chosen = {tuple(choose(MetaFixture(9, seed=3))) for _ in range(5)}
    assert len(chosen) == 1
    assert len({tuple(choose(MetaFixture(9, seed=seed))) for seed in range(20)}) > 5


def test_existing_peers_stay_first_and_ignored_ones_are_left_out() -> None:
    meta = MetaFixture(5)
    keep = [server(2).id, server(4).id]
    chosen = choose(meta, 4, existing=keep, ignore={server(1).id})
    assert chosen[:2] == ["n2", "n4"] and set(chosen[2:]) == {"n3", "n5"}
    assert choose(meta, 1, existing=keep) == ["n2"]


def test_only_servers_of_the_cluster_are_chosen_first_choice_first() -> None:
    meta = MetaFixture(2)
    for number in (3, 4, 5):
        meta.join(server(number, cluster="D", tags=("ssd",)))
    assert set(choose(meta, 3, ("C", "D"))) == {"n3", "n4", "n5"}
    assert set(choose(meta, 2, ("C", "D"))) == {"n1", "n2"}
    assert why_not(meta, clusters=("C",)) == ""
    assert why_not(meta, clusters=("elsewhere",)) == ""
    assert why_not(meta, clusters=("C", "D"), tags=("hdd",)) == "tags not matched ['hdd']"


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        (["ssd"], "tags not matched ['ssd']"),
        (["SSD", "eu"], "tags not matched ['eu', 'ssd']"),
        (["!eu"], "tags excluded ['eu']"),
        (["!eu", "ssd"], "tags not matched ['ssd'], tags excluded ['eu']"),
    ],
)
def test_tags_are_reasons(tags: list[str], wanted: str) -> None:
    meta = MetaFixture(0)
    meta.join(server(1, tags=("ssd",)))
    meta.join(server(2, tags=("ssd", "eu")))
    meta.join(server(3))
    assert why_not(meta, tags=tags) == wanted


def test_tags_choose() -> None:
    meta = MetaFixture(0)
    meta.join(server(1, tags=("ssd", "eu")))
    meta.join(server(2, tags=("ssd",)))
    meta.join(server(3, tags=(EXCLUDED,)))
    assert choose(meta, 1, tags=["ssd", "!eu"]) == ["n2"]
    assert choose(meta, 1, tags=["EU"]) == ["n1"]
    assert set(choose(meta, 2)) == {"n1", "n2"}
    assert why_not(meta) == "exclude tag set"


def test_unique_tags_spread_replicas() -> None:
    meta = MetaFixture(0, policy=PlacementPolicy(unique_tag="az:"))
    for number, zone in ((1, "a"), (2, "a"), (3, "b"), (4, "c"), (5, "c")):
        meta.join(server(number, tags=(f"az:{zone}",)))
    meta.join(server(6))
    for _ in range(10):
        zones = [meta.state.named(name).tags[0] for name in choose(meta)]  # type: ignore[union-attr]
        assert len(set(zones)) == 3
    assert why_not(meta, replicas=4) == "server tag not unique"
    assert set(choose(meta, 2, tags=["az:c"])) == {"n4", "n5"}
    assert set(choose(meta, 3, existing=[server(1).id, server(3).id])[2:]) <= {"n4", "n5"}


def test_servers_that_are_away_come_last_and_never_without_a_majority() -> None:
    meta = MetaFixture(3)
    see(meta, 1, AWAY)
    assert choose(meta)[2] == "n1"
    assert "n1" not in choose(meta, 2)
    see(meta, 2, AWAY)
    assert why_not(meta) == "peer offline"
    see(meta, 2, NEVER_HEARD)
    assert why_not(meta) == "peer offline"
    see(meta, 2, NodeStatus())
    see(meta, 1, NEVER_HEARD)
    assert why_not(meta) == "peer offline"
    del meta.node_statuses[server(1).id]
    assert why_not(meta) == "peer offline"


def test_room_is_asked_for_when_a_stream_is_promised_bytes() -> None:
    meta = MetaFixture(0)
    for number in (1, 2, 3):
        meta.join(server(number, max_store=10 * MIB, max_memory=MIB))
    choose(meta, max_bytes=10 * MIB)
    assert why_not(meta, max_bytes=10 * MIB + 1) == "insufficient storage"
    assert why_not(meta, max_bytes=2 * MIB, storage="memory") == "insufficient storage"
    see(meta, 1, NodeStatus(store=MIB))
    assert why_not(meta, max_bytes=10 * MIB) == "insufficient storage"
    meta.create(max_bytes=9 * MIB)
    assert why_not(meta, max_bytes=2 * MIB) == "insufficient storage"


def test_ha_assets_are_limited() -> None:
    meta = MetaFixture(3, policy=PlacementPolicy(max_ha_assets=3))
    meta.create()
    meta.consume()
    assert meta.create(name="T")
    assert why_not(meta) == "miscellaneous issue"
    with pytest.raises(ApiError) as refused:
        meta.consume(name="d")
    assert code(refused.value) == 10023


def test_without_servers_there_is_no_jetstream() -> None:
    assert why_not(MetaFixture(0)) == "jetstream not enabled in cluster"


def test_consumers_need_a_majority_of_their_streams_servers() -> None:
    meta = MetaFixture(3)
    meta.create()
    see(meta, 1, AWAY)
    meta.consume(name="one")
    see(meta, 2, AWAY)
    with pytest.raises(ApiError) as refused:
        meta.consume(name="two")
    assert code(refused.value) == 10023
    meta.consume(name="three", num_replicas=1)
    see(meta, 3, AWAY)
    with pytest.raises(ApiError) as refused:
        meta.consume(name="one", description="x")
    assert code(refused.value) == 10119
    with pytest.raises(ApiError) as refused:
        meta.update(description="x")
    assert code(refused.value) == 10118


def test_who_leads_first_is_online() -> None:
    node_statuses = {"a": AWAY, "b": NodeStatus(), "c": AWAY}
    assert {preferred(("a", "b", "c"), node_statuses, Random(seed)) for seed in range(9)} == {"b"}
    assert preferred(("a", "c"), node_statuses, Random(1)) in {"a", "c"}


def test_survivors() -> None:
    node_statuses = {"a": AWAY, "b": NodeStatus(), "c": NodeStatus(), "d": NodeStatus(), "e": AWAY}
    peers = ("a", "b", "c", "d", "e")
    lags = {"b": 9, "c": 3, "d": 1, "e": 0}
    assert survivors(peers, 3, node_statuses, holders=peers, leader="a", lags=lags) == ("a", "c", "d")
    lags = {"a": 5, "b": 9, "c": 3}
    assert survivors(peers, 4, node_statuses, holders=peers, leader="d", lags=lags) == ("a", "b", "c", "d")
    assert survivors(peers, 1, node_statuses, holders=peers) == ("b",)
    assert survivors(peers, 1, node_statuses, holders=("d", "e")) == ("d",)  # the others are still filling up


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"server": "n1"}, 'preferred server "n1" is already leader'),
        ({"server": "n9"}, 'preferred server "n9" not known'),
        ({"cluster": "D"}, "no replacement peer connected"),
        ({"tags": ["eu"]}, "no replacement peer connected"),
    ],
)
def test_a_leader_steps_down_for_someone(asked: dict[str, Any], wanted: str) -> None:
    meta = MetaFixture(2)
    meta.join(server(3, tags=("ssd",)))
    meta.join(server(4, tags=("eu",)), AWAY)
    members, leader = list(meta.state.servers), server(1).id
    with pytest.raises(ApiError) as refused:
        successor(meta.state, members, leader, meta.node_statuses, meta.random, **asked)
    assert (code(refused.value), refused.value.description) == (10005, wanted)
    for fits, expected in (
        ({"server": "n4"}, {4}),
        ({}, {2, 3}),
        ({"tags": ["SSD"]}, {3}),
        ({"cluster": "C"}, {2, 3}),
    ):
        chosen = {
            successor(meta.state, members, leader, meta.node_statuses, meta.random, **fits) for _ in range(20)
        }
        assert chosen == {server(number).id for number in expected}


def test_servers_of_leaf_nodes_clusters_do_not_lead_the_meta_group() -> None:
    meta = MetaFixture(3)
    members = sorted(meta.state.servers)
    away = members[0]
    meta.state.servers[away] = replace(meta.state.servers[away], cluster="LEAF")
    assert may_lead(meta.state, [*members, "unknown-1"], {"C"}) == {*members[1:], "unknown-1"}
    assert may_lead(meta.state, members, {"LEAF"}) == {away}
