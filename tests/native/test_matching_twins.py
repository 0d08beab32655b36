"""The compiled search for subjects finds what the plain one does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.native import matching

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")

TOKENS = ["a", "b", "gr\u00fcn", "\udcff", "ab"]
NAMES = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=4).map(".".join) | st.just("")
PATTERNS = st.lists(st.sampled_from([*TOKENS, "*", "*"]), max_size=4).flatmap(
    lambda tokens: st.sampled_from([tokens, [*tokens, ">"]]).map(
        lambda found: tuple(token.encode("utf-8", "surrogateescape") for token in found or ["a"])
    )
)


@given(st.lists(NAMES, max_size=8), st.integers(0, 9), st.integers(0, 9), st.lists(PATTERNS, max_size=3))
def test_names_are_matched_as_by_the_plain_function(
    names: list[str], start: int, stop: int, patterns: list[tuple[bytes, ...]]
) -> None:
    found = matching.match_names(names, start, stop, patterns)
    assert _native.match_names(names, start, stop, patterns) == found
