"""Spreading leaders evenly is arithmetic: which moves, in which clusters."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from lib.examples import seeds
from pyjs.plugins.stream.leadership import even, servers

Cluster = dict[str, Any]


def cluster(leader: str, *replicas: str, **faults: list[str]) -> Cluster:
    """`behind` and `offline` name replicas that are so."""
    return {
        "name": "mesh",
        "leader": leader,
        "replicas": [
            {
                "name": name,
                "current": name not in faults.get("behind", []),
                "offline": name in faults.get("offline", []),
            }
            for name in replicas
        ],
    }


def after(clusters: dict[str, Cluster]) -> Counter[str]:
    """How many each server leads once the moves are made."""
    targets = {move.name: move.target for move in even(clusters)}
    led = {name: each["leader"] for name, each in clusters.items() if each["leader"]}
    return Counter({**led, **targets}.values())


def test_leaders_are_spread_over_the_servers_that_have_copies() -> None:
    clusters = {f"S{number}": cluster("a", "b", "c") for number in range(6)}
    assert after(clusters) == {"a": 2, "b": 2, "c": 2}
    assert all(move.origin == "a" for move in even(clusters))
    assert len(even(clusters)) == 4


def test_what_is_even_stays_as_it_is() -> None:
    assert even({"A": cluster("a", "b"), "B": cluster("b", "a"), "C": cluster("a", "b")}) == []
    assert even({}) == []


def test_a_leader_moves_only_to_where_a_copy_is() -> None:
    clusters = {**{f"S{n}": cluster("a", "b") for n in range(4)}, "T": cluster("c", "d")}
    assert after(clusters) == {"a": 2, "b": 2, "c": 1}


def test_room_is_made_over_a_third_server() -> None:
    clusters = {
        **{f"A{number}": cluster("a", "b") for number in range(5)},
        **{f"B{number}": cluster("b", "c") for number in range(3)},
    }
    assert after(clusters) == {"a": 3, "b": 3, "c": 2}


@pytest.mark.parametrize("fault", ["behind", "offline"])
def test_a_server_that_is_not_well_is_given_nothing(fault: str) -> None:
    clusters = {f"S{number}": cluster("a", "b", "c", **{fault: ["c"]}) for number in range(4)}
    assert after(clusters) == {"a": 2, "b": 2}


def test_a_stream_without_a_leader_or_replicas_is_left_alone() -> None:
    clusters = {"N": cluster("", "a", "b"), "R1": cluster("a"), "R1b": cluster("a"), "R1c": cluster("a")}
    assert even(clusters) == []


@seeds(20)
def test_no_server_leads_two_more_than_another_that_could(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"s{number}" for number in range(rng.randint(3, 7))]
    clusters = {}
    for number in range(rng.randint(1, 40)):
        members = rng.sample(names, 3)
        clusters[f"S{number}"] = cluster(*members)
    counts = after(clusters)
    targets = {move.name: move.target for move in even(clusters)}
    for name, each in clusters.items():
        leader = targets.get(name, each["leader"])
        assert leader in servers(each)
        assert all(counts[leader] - counts[other] < 2 for other in servers(each))
