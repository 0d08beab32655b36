"""Sorted sequences give the answers of a sorted list."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import pyjs.store.sequences as module
from hypothesis import given
from hypothesis import strategies as st
from pyjs.store.sequences import Sequences

STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "extend", "pop", "discard", "drop"]), st.integers(0, 60)),
    max_size=60,
)


def check(found: Sequences, expected: list[int], place: int) -> None:
    assert list(found) == expected
    assert len(found) == found.count == len(expected)
    assert (found.first, found.last) == ((expected[0], expected[-1]) if expected else (0, 0))
    for seq in {0, 1, place, *expected[:3], *expected[-2:]}:
        at = bisect_left(expected, seq)
        assert found.count_from(seq) == len(expected) - at
        assert found.at_or_after(seq) == (expected[at] if at < len(expected) else 0)
        before = bisect_right(expected, seq)
        assert found.at_or_before(seq) == (expected[before - 1] if before else 0)
        assert (seq in found) == (seq in expected)
        assert list(found.between(seq, seq + 9)) == [one for one in expected if seq <= one <= seq + 9]


@given(STEPS)
def test_sequences_are_a_sorted_list(steps: list[tuple[str, int]]) -> None:
    chunk, module.CHUNK = module.CHUNK, 4
    try:
        found, expected, last = Sequences(), [], 0
        for step, number in steps:
            if step in {"append", "extend"}:
                more = (
                    [last + 1 + number] if step == "append" else list(range(last + 1, last + number % 12, 2))
                )
                expected.extend(more)
                if step == "append":
                    found.append(more[0])
                else:
                    found.extend(more)
                last = max([last, *more])
            elif step == "pop" and expected:
                assert found.pop_first() == expected.pop(0)
            elif step == "discard" and expected:
                seq = expected[number % len(expected)] if number % 5 else number
                assert found.discard(seq) == (seq in expected)
                if seq in expected:
                    expected.remove(seq)
            elif step == "drop":
                seq = (expected[0] if expected else 0) + number
                assert found.drop_before(seq) == len([one for one in expected if one < seq])
                expected = [one for one in expected if one >= seq]
            check(found, expected, last - number)
    finally:
        module.CHUNK = chunk
