"""The index of subjects: its views stay right and its costs stay small."""

from __future__ import annotations

import pyjs.store.subjects as module
import pytest
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
    assert sum(len(views) for views in index._views_of.values()) == 3
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
