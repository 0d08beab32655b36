"""Weighted subject mappings."""

from __future__ import annotations

import pytest
from pyjs.server.accounts.mapping import Mapping, MappingError, Mappings


def draws(*values: float):  # type: ignore[no-untyped-def]
    return iter(values).__next__


def test_weights_share_out_the_messages() -> None:
    mapping = Mapping("a.*", [("x.$1", 30), ("y.$1", 70)])
    assert mapping.choose("a.1", draws(0.0)) == "x.1"
    assert mapping.choose("a.1", draws(0.2999)) == "x.1"
    assert mapping.choose("a.1", draws(0.3)) == "y.1"
    assert mapping.choose("a.1", draws(0.9999)) == "y.1"


def test_a_missing_remainder_stays_itself() -> None:
    mapping = Mapping("a", [("b", 10)])
    assert mapping.choose("a", draws(0.05)) == "b"
    assert mapping.choose("a", draws(0.5)) == "a"


def test_a_remainder_is_loss_when_the_source_is_listed() -> None:
    mapping = Mapping("a", [("a", 40), ("b", 10)])
    assert mapping.choose("a", draws(0.3)) == "a"
    assert mapping.choose("a", draws(0.45)) == "b"
    assert mapping.choose("a", draws(0.6)) is None


@pytest.mark.parametrize(
    ("source", "destinations"),
    [
        ("a..b", [("x", 100)]),
        ("a", [("x", 60), ("y", 50)]),
        ("a", [("x", 101)]),
        ("a", [("x", -1)]),
        ("a", [("x", 10), ("x", 20)]),
        ("a.*", [("x.$2", 100)]),
        ("a.>", [("x", 100)]),
    ],
)
def test_impossible_mappings_are_refused(source: str, destinations: list[tuple[str, int]]) -> None:
    with pytest.raises(MappingError):
        Mapping(source, destinations)


def test_literal_sources_go_before_patterns_and_a_source_is_mapped_once() -> None:
    mappings = Mappings([Mapping("a.*", [("p", 100)]), Mapping("a.b", [("l", 100)])])
    mappings.add(Mapping("a.b", [("m", 100)]))
    found = mappings.find("a.b")
    assert found is not None
    assert found.weights == [("m", 100)]
    assert mappings.find("b") is None
    assert mappings.remove("a.b")
    assert not mappings.remove("a.b")
    found = mappings.find("a.b")
    assert found is not None
    assert found.source == "a.*"
    assert [m.source for m in mappings] == ["a.*"]


def test_of_patterns_the_first_that_was_added_decides_and_a_new_one_takes_its_turn_at_the_end() -> None:
    mappings = Mappings([Mapping("a.*", [("x", 100)]), Mapping("*.b", [("y", 100)])])
    first = mappings.find("a.b")
    assert first is not None
    assert first.source == "a.*"
    mappings.add(Mapping("a.*", [("z", 100)]))
    second = mappings.find("a.b")
    assert second is not None
    assert second.source == "*.b"
    assert [mapping.source for mapping in mappings] == ["*.b", "a.*"]
    assert mappings.remove("*.b")
    assert not mappings.remove("*.b")


def test_they_are_counted_and_read_from_anywhere_in_their_order() -> None:
    mappings = Mappings([Mapping(source, [("x", 100)]) for source in ("b.*", "l", "a.*", "c.*", "m")])
    mappings.add(Mapping("b.*", [("y", 100)]))  # replaced: it is the last one now
    mappings.remove("c.*")
    order = ["l", "m", "a.*", "b.*"]
    assert [each.source for each in mappings] == order
    assert len(mappings) == 4
    for count in range(6):
        assert [each.source for each in mappings.following(count)] == order[count:]
