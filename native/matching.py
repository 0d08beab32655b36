"""Finding the subjects that match patterns, in a list of all."""

from __future__ import annotations

from collections.abc import Sequence

Pattern = tuple[bytes, ...]


def match_names(names: list[str], start: int, stop: int, patterns: Sequence[Pattern]) -> list[int]:
    """Return the places from `start` up to `stop` whose names match one of the patterns, in order.

    names: literal subjects, or "" for none. patterns: the tokens of each, of which the last one may be `>`.
    """
    found = []
    for place in range(start, min(stop, len(names))):
        if names[place]:
            tokens = names[place].encode("utf-8", "surrogateescape").split(b".")
            if any(covers(pattern, tokens) for pattern in patterns):
                found.append(place)
    return found


def covers(pattern: Pattern, tokens: list[bytes]) -> bool:
    """Return whether the pattern, whose last token may be `>`, covers these tokens."""
    if pattern[-1:] == (b">",):
        pattern = pattern[:-1]
        if len(tokens) <= len(pattern):
            return False
    elif len(tokens) != len(pattern):
        return False
    return all(wanted in {b"*", given} for wanted, given in zip(pattern, tokens, strict=False))
