"""The index of subjects: its views stay right, whatever happens while they are made, at a small cost."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterator
from random import Random
from typing import Any

import pyjs.store.subjects as module
import pytest
from lib.examples import seeds
from lib.stream_model import fits
from pyjs.server.slices import at_once
from pyjs.store import ordered, views
from pyjs.store.memory import MemoryStream
from pyjs.store.ordered import OrderedNames
from pyjs.store.subjects import SubjectIndex


def test_a_subject_id_is_free_again_when_its_last_message_is_gone() -> None:
    index = SubjectIndex()
    first = index.add("a", 1)
    index.discard(first, 1)
    assert index.add("b", 2) == first
    assert index.names[first] == "b"
    assert index.subject_count("a") == 0


def test_old_views_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_VIEWS", 3)
    index = SubjectIndex()
    for seq in range(1, 40):
        index.add(f"a.{seq % 20}.x", seq)
    for number in range(20):
        assert index.count((f"a.{number}.*",), 0) in {1, 2}
    assert len(index._views) == 3
    index.add("a.0.x", 40)
    assert index.count(("a.0.*",), 0) == 2


def test_a_view_of_many_subjects_keeps_its_sequences_merged() -> None:
    index = SubjectIndex()
    for seq in range(1, 101):
        index.add(f"{'ab'[seq % 2]}.{seq % 50}", seq)
    assert index.count(("a.*",), 51) == 25
    assert index._views["a.*",].merged is not None
    index.discard(index.ids["a.0"], 50)
    index.drop_before(11)
    index.add("a.new", 101)
    assert index.seqs(("a.*",), 0, 200) == [*range(12, 50, 2), *range(52, 101, 2), 101]


TOKENS = ("a", "b", "ab", "a-b", "a/", "7", "\u00fc")
PATTERN_TOKENS = ("a", "b", "a-b", "ab", "*", "*")


def subject(rng: Random, tokens: tuple[str, ...] = TOKENS) -> str:
    return ".".join(rng.choice(tokens) for _ in range(rng.randint(1, 4)))


def pattern(rng: Random) -> str:
    tokens = subject(rng, PATTERN_TOKENS).split(".")
    if rng.random() < 0.4:
        tokens[-1] = ">"
    return ".".join(tokens)


@seeds(60)
def test_a_walk_finds_what_the_pattern_stands_for_in_order(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered, "PIECE", 6)
    monkeypatch.setattr(ordered, "UNSORTED", 10)
    rng = Random(seed)
    names, model = OrderedNames(), set[str]()
    if seed % 2:  # very many at once
        model |= {subject(rng) for _ in range(rng.choice([1, 30, 120]))}
        names.expect(rng.sample(sorted(model), max(1, len(model) // rng.choice([1, 5, 20]))))
        names.extend(rng.sample(sorted(model), len(model)))
    for _ in range(rng.choice([0, 5, 40, 150])):
        name = subject(rng)
        if name not in model:
            model.add(name)
            names.add(name)
        elif rng.random() < 0.4:
            model.remove(name)
            names.remove(name)
    assert names.count == len(model)
    for _ in range(20):
        wanted = pattern(rng)
        most = rng.choice([1, 2, 5, 1000])
        found, begin = names.page(wanted, "", most)
        while begin:
            more, begin = names.page(wanted, begin, most)
            found += more
        assert found == sorted(name for name in model if fits(wanted, name)), wanted


class Small:
    """An index beside a plain dict, both changed at random."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.index = SubjectIndex()
        self.stored: dict[int, str] = {}
        self.last = 0
        self.pool = [subject(rng) for _ in range(rng.choice([3, 12, 60]))]

    def change(self) -> None:
        rng, index = self.rng, self.index
        kind = rng.choices(["add", "run", "discard", "drop"], [6, 1, 4, 0.2])[0]
        if kind == "add":
            self.last += rng.choice([1, 1, 9])
            self.stored[self.last] = name = rng.choice(self.pool)
            index.add(name, self.last)
        elif kind == "run":
            names = rng.choices(self.pool, k=rng.randint(1, 5))
            seqs = array("Q", range(self.last + 1, self.last + 1 + len(names)))
            numbers = index.add_each([(name, b"", b"") for name in names], seqs)
            assert list(numbers) == [index.ids[name] for name in names]
            for name in names:
                self.last += 1
                self.stored[self.last] = name
        elif kind == "discard" and self.stored:
            seq = rng.choice(list(self.stored))
            index.discard(index.ids[self.stored.pop(seq)], seq)
        elif kind == "drop":
            floor = rng.randint(0, self.last + 2)
            self.stored = {seq: name for seq, name in self.stored.items() if seq >= floor}
            index.drop_before(floor)

    def check(self, filters: tuple[str, ...]) -> None:
        seqs = sorted(seq for seq, name in self.stored.items() if any(fits(one, name) for one in filters))
        edge = self.rng.randint(0, self.last + 1)
        index = self.index
        after = [seq for seq in seqs if seq >= edge]
        assert index.next_seq(filters, edge) == (after[0] if after else 0)
        assert index.count(filters, edge) == len(after)
        assert index.run(filters, edge, self.last, 3) == after[:3]
        assert index.last_seq(filters, edge) == max((seq for seq in seqs if seq <= edge), default=0)
        assert index.seqs(filters, edge, self.last) == after
        names = {name for name in self.stored.values() if any(fits(one, name) for one in filters)}
        listed = [name for page in index.matching(filters) for name in page]
        assert sorted(listed) == sorted(names)
        lasts = {name: seq for seq, name in sorted(self.stored.items()) if seq <= edge and name in names}
        assert index.last_per_subject(filters, edge) == sorted(lasts.values())
        assert list(at_once(index.picking(filters, edge))) == sorted(lasts.values())


@seeds(80)
def test_views_are_right_whatever_happens_while_they_are_made(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    monkeypatch.setattr(module, "STEP", rng.choice([1, 2, 7]))
    monkeypatch.setattr(module, "FEW", rng.choice([0, 2, 8]))
    monkeypatch.setattr(module, "FEW_MESSAGES", rng.choice([0, 3]))
    monkeypatch.setattr(module, "MAX_VIEWS", rng.choice([2, 256]))
    monkeypatch.setattr(views, "CHUNK", 8)
    small = Small(rng)
    filters = [tuple(pattern(rng) for _ in range(rng.choice([1, 1, 2]))) for _ in range(3)]
    under_way: list[Iterator[object]] = []
    for _ in range(120):
        small.change()
        if rng.random() < 0.1:
            under_way.append(small.index.preparing(rng.choice(filters)))
        if rng.random() < 0.02:
            under_way.append(small.index.matching(rng.choice(filters)))
        under_way = [work for work in under_way if next(work, small) is not small]
        if rng.random() < 0.15:
            small.check(rng.choice(filters))
    for chosen in filters:
        small.check(chosen)


def test_a_wildcard_costs_what_it_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    index = SubjectIndex()
    for seq in range(1, 20_001):
        index.add(f"a.{seq % 2000}.{seq}", seq)
    for number in range(7):
        steps = sum(1 for _ in index.preparing((f"a.{number}.*",)))
        assert steps < 50  # passes over all, and then they are brought in order, 512 in a step
    looked: list[str] = []
    skip_to = ordered._Walk.skip_to

    def noted(walk: Any, name: str) -> Any:
        looked.append(name)
        return skip_to(walk, name)

    monkeypatch.setattr(ordered._Walk, "skip_to", noted)
    assert index.count(("a.77.*",), 0) == 10
    assert index.count(("*.78.*",), 0) == 10
    assert len(looked) < 60
    assert sum(1 for _ in index.preparing(("a.8.*",))) <= 3


def test_the_first_filters_bring_nothing_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    placed: list[str] = []
    monkeypatch.setattr(ordered.OrderedNames, "extend", lambda _, names: placed.extend(names))
    index = SubjectIndex()
    for seq in range(1, 6001):
        index.add(f"a.{seq}.{seq % 10}", seq)
    for number in range(4):
        filters = (f"a.*.{number}", "a.7.>", "a.8.8", f"a.{10 + number}.{number}", "none")
        assert sum(1 for _ in index.preparing(filters)) < 10
        assert index.count(filters, 0) == 602
    assert not placed


@pytest.mark.parametrize(("filters", "gathered"), [(("a.>",), 0), (("a.7.*", "a.8.*"), 20)])
def test_a_filter_that_matches_all_gathers_nothing(
    monkeypatch: pytest.MonkeyPatch, filters: tuple[str, ...], gathered: int
) -> None:
    """As that of a consumer that has its stream's subject for a filter."""
    taken: list[int] = []
    monkeypatch.setattr(views.SequenceGather, "take", lambda self, seqs: taken.extend(seqs))
    index = SubjectIndex()
    for seq in range(1, 1001):
        index.add(f"a.{seq % 100}.{seq}", seq)
    for _ in index.preparing(filters):
        pass
    assert len(taken) == gathered


def test_messages_and_their_order_are_little_for_the_collector_of_cycles() -> None:
    """Only what it tracks counts, and of lists and dicts that it has not met yet, how long they are."""
    gc.collect()
    before = len(gc.get_objects())
    store = MemoryStream()
    for seq in range(50_000):
        store.append(f"m.{seq % 100}.{seq // 100}", b"", b"", 1)
    gc.collect()
    assert len(gc.get_objects()) < before + 1000
    for _ in store.preparing(("m.7.*",)):
        pass
    gc.collect(0)
    assert store.count(("m.*.7",), 0) == 100  # looks into every piece of the order
    met = {id(one) for generation in (1, 2) for one in gc.get_objects(generation)}
    young = [one for one in gc.get_objects() if id(one) not in met and isinstance(one, list | dict)]
    assert sum(map(len, young)) < 10_000
