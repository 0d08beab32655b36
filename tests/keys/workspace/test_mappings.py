"""Mappings: targets by weight and cluster, added, replaced and taken away."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.nsc_folders import NscFolders
from pyjs.keys import IdentityError
from pyjs.keys.claims import WeightedMapping
from pyjs.keys.workspace.mappings import add_mapping, delete_mapping, set_mappings


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    return NscFolders(tmp_path / "nsc", "TEST")


def _add(folders: NscFolders, source: str, subject: str, weight: int = 0, cluster: str = "") -> str:
    target = WeightedMapping(subject=subject, weight=weight, cluster=cluster)
    return add_mapping(folders.workspace(), source, target).report.render()


def _mappings(folders: NscFolders) -> dict[str, list[tuple[str, int, str]]]:
    mappings = folders.claims("TEST").nats.mappings
    return {
        source: [(t.subject, t.weight, t.cluster) for t in targets] for source, targets in mappings.items()
    }


def test_a_target_without_a_weight_gets_all(folders: NscFolders) -> None:
    assert _add(folders, "a.*", "b.$1") == "[ OK ] added mapping a.* -> b.$1, weight 100%"
    assert _mappings(folders) == {"a.*": [("b.$1", 0, "")]}


def test_the_same_target_is_replaced_another_added(folders: NscFolders) -> None:
    _add(folders, "a", "b")
    _add(folders, "a", "b", 50)
    _add(folders, "a", "c", 50)
    _add(folders, "a", "b", 70, "east")
    assert _mappings(folders) == {"a": [("b", 50, ""), ("c", 50, ""), ("b", 70, "east")]}


@pytest.mark.parametrize(
    ("source", "subject", "weight", "error"),
    [
        ("", "b", 0, "from subject is required"),
        ("a", "", 0, "to subject is required"),
        ("a b", "c", 0, "cannot have spaces"),
        ("held", "c", 51, "exceeds 100% among all"),
        ("a", "c", 101, "has a weight 101 that exceeds 100"),
        ("a.*", "b.$2", 0, "out of range"),
        ("a.*", "b.*", 0, "invalid subject"),
        ("a.>", "b", 0, "invalid subject"),
        ("a.*", "b.{{nothing(1)}}", 0, "unknown function"),
    ],
)
def test_what_servers_could_not_use_changes_nothing(
    folders: NscFolders, source: str, subject: str, weight: int, error: str
) -> None:
    _add(folders, "held", "b", 50)
    before = folders.content()
    with pytest.raises(IdentityError) as raised:
        _add(folders, source, subject, weight)
    assert error in str(raised.value)
    assert folders.content() == before


@pytest.mark.parametrize("gone", ["b", "c", "d", "e"])
def test_one_target_is_deleted_wherever_it_stands(folders: NscFolders, gone: str) -> None:
    for subject in "bcde":
        _add(folders, "a", subject, 10)
    done = delete_mapping(folders.workspace(), "a", target=gone)
    assert done.report.render() == f"[ OK ] deleted mapping a -> {gone}"
    assert [subject for subject, _, _ in _mappings(folders)["a"]] == [s for s in "bcde" if s != gone]


def test_all_targets_or_one_clusters_are_deleted(folders: NscFolders) -> None:
    for cluster in ("", "east", "west"):
        _add(folders, "a", "b", 10, cluster)
        _add(folders, "a", "c", 10, cluster)
    assert delete_mapping(folders.workspace(), "a", target="b", cluster="east").report.render() == (
        "[ OK ] deleted mapping a -> b in cluster east"
    )
    assert delete_mapping(folders.workspace(), "a", cluster="west").report.render() == (
        "[ OK ] deleted all mapping in cluster west for a"
    )
    assert _mappings(folders) == {"a": [("b", 10, ""), ("c", 10, ""), ("c", 10, "east")]}
    assert delete_mapping(folders.workspace(), "a").report.render() == "[ OK ] deleted all mapping for a"
    assert "mappings" not in folders.claims("TEST").nats.document()


@pytest.mark.parametrize(
    ("source", "target", "cluster"),
    [("", "", ""), ("x", "", ""), ("a", "x", ""), ("a", "b", "east"), ("a", "", "east")],
)
def test_deleting_what_is_not_there_is_an_error(
    folders: NscFolders, source: str, target: str, cluster: str
) -> None:
    _add(folders, "a", "b")
    before = folders.content()
    with pytest.raises(IdentityError, match=r"has no mapping|is required"):
        delete_mapping(folders.workspace(), source, target=target, cluster=cluster)
    assert folders.content() == before


def test_mappings_are_set_together_or_not_at_all(folders: NscFolders) -> None:
    _add(folders, "a", "old")
    _add(folders, "kept", "x")
    halves = [WeightedMapping(subject=name, weight=50) for name in ("b1", "b2")]
    for wrong, text in (
        ({}, "no mappings"),
        ({"a": halves, "c": []}, "at least one target"),
        ({"a": halves, "c": [WeightedMapping(weight=1)]}, "has no subject"),
        ({"a": [*halves, WeightedMapping(subject="b3", weight=1)]}, "exceeds 100%"),
    ):
        with pytest.raises(IdentityError, match=text):
            set_mappings(folders.workspace(), wrong)
        assert _mappings(folders) == {"a": [("old", 0, "")], "kept": [("x", 0, "")]}
    set_mappings(folders.workspace(), {"a": halves, "d": [WeightedMapping(subject="e", cluster="c1")]})
    assert _mappings(folders) == {
        "a": [("b1", 50, ""), ("b2", 50, "")],
        "d": [("e", 0, "c1")],
        "kept": [("x", 0, "")],
    }
