"""The compiled search for subjects finds what the plain one does."""

from __future__ import annotations

from typing import Any

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


@given(st.lists(NAMES, max_size=8), st.integers(0, 2), st.integers(0, 9), st.lists(PATTERNS, max_size=3))
def test_names_are_matched_as_by_the_plain_function(
    names: list[str], start: int, stop: int, patterns: list[tuple[bytes, ...]]
) -> None:
    found = matching.match_names(names, start, stop, patterns)
    assert _native.match_names(names, start, stop, patterns) == found


@pytest.mark.parametrize("function", [_native.match_names, matching.match_names])
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (b">", [0, 1, 2, 4, 5]),
        (b"*", [0, 5]),
        (b"a", [0]),
        (b"a.>", [1, 2]),
        (b"a.*", [1]),
        (b"*.*", [1, 4]),
        (b"*.b.*", [2]),
        (b"a.b.c.>", []),
        (b"gr\xc3\xbcn.*", [4]),
        (b"\xff", [5]),
        (b"a.>.c", []),  # only the last token may be a wildcard for more
    ],
)
def test_places_of_the_names_that_match(function: Any, pattern: bytes, found: list[int]) -> None:
    names = ["a", "a.b", "a.b.c", "", "gr\u00fcn.b", "\udcff"]
    tokens = tuple(pattern.split(b"."))
    assert function(names, 0, 9, [(b"none",), tokens]) == found
    assert function(names, 2, 5, [tokens]) == [place for place in found if 2 <= place < 5]
