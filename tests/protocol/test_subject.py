"""Subjects against small models: a pattern as a set of literals over a tiny alphabet."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol.subject import collide, has_wildcard, is_literal, is_subset, is_valid, matches, tokenize

LETTERS = ("a", "b")
LITERALS = [".".join(tokens) for n in (1, 2, 3, 4) for tokens in product(LETTERS, repeat=n)]

tokens = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3)
patterns = st.builds(lambda head, rest: ".".join(head + [">"] * rest), tokens, st.booleans()) | st.just(">")


def model_matches(pattern: str, literal: str) -> bool:
    want, have = pattern.split("."), literal.split(".")
    while want and have:
        if want[0] == ">":
            return True
        if want[0] != "*" and want[0] != have[0]:
            return False
        want, have = want[1:], have[1:]
    return not want and not have


@given(patterns, st.sampled_from(LITERALS))
def test_matches_is_token_by_token(pattern: str, literal: str) -> None:
    assert matches(pattern, literal) == model_matches(pattern, literal)


@given(patterns, patterns)
def test_collide_means_some_literal_matches_both(a: str, b: str) -> None:
    both = any(matches(a, literal) and matches(b, literal) for literal in LITERALS)
    assert collide(a, b) == both
    assert collide(b, a) == both


@given(patterns, patterns)
def test_subset_means_every_literal_of_one_is_in_the_other(a: str, b: str) -> None:
    # A literal token "c" that no pattern names stands for all others, so that a.* is no subset of a.a or a.b.
    universe = [".".join(t) for n in (1, 2, 3, 4, 5) for t in product(("a", "b", "c"), repeat=n)]
    assert is_subset(a, b) == all(matches(b, one) for one in universe if matches(a, one))


@pytest.mark.parametrize(
    "subject", ["a", "a.b", "*", ">", "a.*", "a.>", "*.>", "a>b", "a*.b", "$SYS.x", "é.ü"]
)
def test_valid(subject: str) -> None:
    assert is_valid(subject)


@pytest.mark.parametrize(
    "subject", ["", ".", "a.", ".a", "a..b", ">.a", "a.>.b", "a b", "a\tb", "a\r", "a\n", "\x0c", "a\x00"]
)
def test_not_valid(subject: str) -> None:
    assert not is_valid(subject)
    assert not is_literal(subject)


@given(st.text(alphabet="ab.*> \t", max_size=8))
def test_validity_is_a_property_of_the_tokens(subject: str) -> None:
    parts = tokenize(subject)
    good = all(parts) and ">" not in parts[:-1] and not any(c in subject for c in " \t")
    assert is_valid(subject) == good
    assert has_wildcard(subject) == ("*" in parts or ">" in parts)
    assert is_literal(subject) == (good and not has_wildcard(subject))


def test_a_star_inside_a_token_is_a_letter() -> None:
    assert is_literal("a.b*")
    assert matches("a.b*", "a.b*")
    assert not matches("a.b*", "a.bc")
    assert matches("a.*", "a.b*")
