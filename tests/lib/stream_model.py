"""The simplest possible stream: a dict, which answers every question by a pass over all messages."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from pyjs.protocol.subject import matches
from pyjs.store.message import StoredMessage

fits = functools.cache(matches)  # of few subjects, asked for every message again and again

FILTERS: list[tuple[str, ...]] = [
    (),
    (">",),
    ("a.*",),
    ("a.b",),
    ("*.b", "a.>"),
    ("a.b", "c"),
    ("none",),
    ("b.>",),
]


class Model:
    def __init__(self) -> None:
        self.messages: dict[int, StoredMessage] = {}
        self.last_seq = 0
        self.last_time = 0

    def copy(self) -> Model:
        other = Model()
        other.messages = dict(self.messages)
        other.last_seq, other.last_time = self.last_seq, self.last_time
        return other

    def append_at(self, seq: int, subject: str, header: bytes, body: bytes, time: int) -> None:
        self.messages[seq] = StoredMessage(seq, subject, header, body, time)
        self.last_seq, self.last_time = seq, time

    def skip_to(self, seq: int) -> None:
        self.last_seq = max(seq, self.last_seq)

    @property
    def first_seq(self) -> int:
        return min(self.messages, default=self.last_seq + 1 if self.last_seq else 0)

    def matching(self, filters: Sequence[str]) -> list[int]:
        return sorted(
            seq
            for seq, message in self.messages.items()
            if not filters or any(fits(one, message.subject) for one in filters)
        )

    def purge(self, subject: str | None, up_to: int, keep: int) -> int:
        if up_to == 1:
            return 0
        seqs = self.matching([subject] if subject else [])
        if keep and not (up_to and subject in {None, ">"}):
            seqs = seqs[: max(0, len(seqs) - keep)]
        gone = [seq for seq in seqs if not up_to or seq < up_to]
        for seq in gone:
            del self.messages[seq]
        if subject in {None, ">"} and up_to > self.last_seq + 1:
            self.last_seq = up_to - 1
        return len(gone)


def check(store: Any, model: Model) -> None:
    """Compare all answers of a store with the model's."""
    messages = model.messages
    assert store.messages == len(messages)
    assert (store.first_seq, store.last_seq) == (model.first_seq, model.last_seq)
    assert store.last_time == model.last_time
    assert store.first_time == (messages[min(messages)].time if messages else 0)
    assert store.bytes == sum(
        store.size_of(one.subject, len(one.header), len(one.body)) for one in messages.values()
    )
    gaps = (
        [seq for seq in range(min(messages), model.last_seq + 1) if seq not in messages] if messages else []
    )
    assert [seq for low, high in store.gaps() for seq in range(low, high + 1)] == gaps
    middle = model.last_seq // 2
    late = [seq for low, high in store.gaps(middle) for seq in range(low, high + 1)]
    assert late == [seq for seq in gaps if seq >= middle]
    assert store.num_deleted == len(gaps)
    for seq, message in messages.items():
        assert store.get(seq) == message
    subjects = {one.subject for one in messages.values()}
    assert store.num_subjects == len(subjects)
    for subject in subjects:
        seqs = model.matching([subject])
        assert (store.subject_first(subject), store.subject_last(subject)) == (seqs[0], seqs[-1])
        assert store.subject_count(subject) == len(seqs)
    for edge in (0, model.first_seq, model.last_seq // 2 + 1):
        assert list(store.headed(edge)) == sorted(
            seq for seq, one in messages.items() if one.header and seq >= edge
        )
    for filters in FILTERS:
        _check_filters(store, model, filters)
    for time in {one.time + extra for one in messages.values() for extra in (0, 1)}:
        expected = min((seq for seq, one in messages.items() if one.time >= time), default=model.last_seq + 1)
        assert store.seq_at(time) == expected


def _check_filters(store: Any, model: Model, filters: tuple[str, ...]) -> None:
    seqs = model.matching(filters)
    edges = {0, 1, model.last_seq, model.last_seq + 1, *seqs[:3], *[seq + 1 for seq in seqs[-3:]]}
    for edge in edges:
        following = [seq for seq in seqs if seq >= edge]
        assert store.count(filters, edge) == len(following)
        assert store.next_seq(filters, edge) == (following[0] if following else 0)
        run = [seq for seq in following if seq <= edge + 20][:5]
        assert [one.seq for one in store.next_run(filters, edge, edge + 20, 5, 1 << 20)] == run
        message = store.next(filters, edge)
        assert message == (model.messages[following[0]] if following else None)
        lasts: dict[str, int] = {}
        for seq in seqs:
            if not edge or seq <= edge:
                lasts[model.messages[seq].subject] = seq
        assert store.last_per_subject(filters, edge) == sorted(lasts.values())
    if len(filters) == 1:
        assert store.last(filters[0]) == (model.messages[seqs[-1]] if seqs else None)
        counts: dict[str, int] = {}
        for seq in seqs:
            counts[model.messages[seq].subject] = counts.get(model.messages[seq].subject, 0) + 1
        assert store.subjects(filters[0]) == counts
