"""The subject tree against the functions for single pairs, and its cost, counted in nodes visited."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol import subject_tree
from pyjs.protocol.subject import collide, is_subset, matches
from pyjs.protocol.subject_tree import SubjectTree
from pyjs.server.slices import at_once

tokens = st.lists(st.sampled_from(["a", "b", "*", "a*", "b>"]), min_size=1, max_size=4)
subjects = st.builds(lambda head, rest: ".".join(head + [">"] * rest), tokens, st.booleans()) | st.just(">")
literals = st.lists(st.sampled_from(["a", "b", "a*"]), min_size=1, max_size=4).map(".".join)
many = st.lists(subjects, max_size=12)


def tree_of(entries: list[str]) -> SubjectTree[str]:
    return SubjectTree((entry, entry) for entry in entries)


@given(many, subjects)
def test_colliding(entries: list[str], subject: str) -> None:
    assert sorted(tree_of(entries).colliding(subject)) == sorted(
        {entry for entry in entries if collide(entry, subject)}
    )


@given(many, subjects)
def test_covering(entries: list[str], subject: str) -> None:
    assert sorted(tree_of(entries).covering(subject)) == sorted(
        {entry for entry in entries if is_subset(subject, entry)}
    )


@given(many, literals)
def test_matching(entries: list[str], literal: str) -> None:
    assert sorted(tree_of(entries).covering(literal)) == sorted(tree_of(entries).matching(literal))
    assert sorted(tree_of(entries).matching(literal)) == sorted(
        {entry for entry in entries if matches(entry, literal)}
    )


@given(many, subjects)
def test_within(entries: list[str], subject: str) -> None:
    assert sorted(tree_of(entries).within(subject)) == sorted(
        {entry for entry in entries if is_subset(entry, subject)}
    )


@given(st.lists(st.tuples(st.booleans(), subjects), max_size=30))
def test_it_is_a_mapping(steps: list[tuple[bool, str]]) -> None:
    tree: SubjectTree[int] = SubjectTree()
    model: dict[str, int] = {}
    for number, (adds, subject) in enumerate(steps):
        if adds:
            tree[subject] = model[subject] = number
        else:
            assert tree.pop(subject) == model.pop(subject, None)
        assert len(tree) == len(model)
    assert sorted(tree.values()) == sorted(model.values())
    assert all(tree.get(subject) == model.get(subject) for _, subject in steps)
    assert all((subject in tree) == (subject in model) for _, subject in steps)
    for subject in list(model):
        tree.pop(subject)
    assert tree.root.empty


def test_none_is_a_value() -> None:
    tree: SubjectTree[None] = SubjectTree([("a.*", None)])
    assert tree.covering("a.b") == [None]
    assert "a.*" in tree


class _Counted(dict[str, Any]):
    """A node's children that count how often they are looked at."""

    looks = 0

    def get(self, key: str, default: Any = None) -> Any:
        _Counted.looks += 1
        return super().get(key, default)


@pytest.mark.parametrize("question", ["colliding", "covering", "within"])
def test_a_question_costs_what_shares_its_tokens(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = subject_tree._Node.__init__

    def counted(self: subject_tree._Node[Any]) -> None:
        plain(self)
        self.children = _Counted()

    monkeypatch.setattr(subject_tree._Node, "__init__", counted)
    tree = tree_of([f"s.{number}.*" for number in range(10_000)])
    _Counted.looks = 0
    assert list(getattr(tree, question)("s.77.*")) == ["s.77.*"]
    assert _Counted.looks < 20


@given(many)
def test_parting(entries: list[str]) -> None:
    different = sorted(set(entries))
    apart = not any(collide(a, b) for i, a in enumerate(different) for b in different[:i])
    assert at_once(tree_of(entries).parting()) == apart


@given(many, many)
def test_meets(mine: list[str], theirs: list[str]) -> None:
    wanted = any(collide(a, b) for a in mine for b in theirs)
    assert tree_of(mine).meets(tree_of(theirs)) == wanted
    assert tree_of(theirs).meets(tree_of(mine)) == wanted


def test_wildcards_in_too_many_places_are_not_compared_for_ever() -> None:
    entangled = tree_of([f"a{i}.*.x" for i in range(2000)] + [f"*.b{i}.y" for i in range(2000)])
    with pytest.raises(subject_tree.TooEntangled):
        at_once(entangled.parting())
    with pytest.raises(subject_tree.TooEntangled):
        tree_of([f"a{i}.*.x" for i in range(2000)]).meets(tree_of([f"*.b{i}.y" for i in range(2000)]))
    prefixes = [".".join(prefix) for prefix in product("a*", repeat=9)]
    patterns = [f"{prefix}.x{place}" for place, prefix in enumerate(prefixes)]
    colliding_not_nested = ["q.*.w", "*.r.w"]
    with pytest.raises(subject_tree.TooEntangled):
        subject_tree.nested([*patterns, *(f"{prefixes[0]}.y{i}" for i in range(500)), *colliding_not_nested])


@given(many)
def test_nested(entries: list[str]) -> None:
    wanted = any(is_subset(a, b) for i, a in enumerate(entries) for j, b in enumerate(entries) if i != j)
    assert subject_tree.nested(entries) == wanted


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.lists(subjects, max_size=4)), max_size=8), subjects)
def test_owners_are_followed(changes: list[tuple[str, list[str]]], subject: str) -> None:
    owners = subject_tree.SubjectOwners()
    subjects_of: dict[str, list[str]] = {}
    for name, listed in changes:
        if listed:
            subjects_of[name] = listed
        else:
            subjects_of.pop(name, None)
        owners.follow(subjects_of.items())
        wanted = {
            name for name, listed in subjects_of.items() if any(collide(one, subject) for one in listed)
        }
        assert owners.colliding(subject) == wanted
        if subject not in subjects_of.get("A", ()):
            assert owners.overlap("A", [subject]) == bool(wanted - {"A"})
            assert owners.overlap("none", [subject]) == bool(wanted)
