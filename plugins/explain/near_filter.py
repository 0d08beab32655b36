"""The filter that was probably meant, by what a stream holds.

A filter is compared token by token, and its wildcards stay: what was meant by `orders.EU.*` is `orders.eu.*`
and no single subject of it. Tokens that differ in a number only, such as two order numbers, are no slip.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ...protocol.subject import collide

ANY, REST = "*", ">"
SIMILAR = 0.6  # of 1, as difflib counts
LONGER = 0.1  # how far a filter is off that has too few tokens: less than one with a slip


def near_filter(wanted: str, stored: Iterable[str]) -> str:
    """Return the filter nearest to `wanted` that matches one of the stored subjects; empty if none is near.

    stored: subjects, or subjects with wildcards that a stream takes.
    """
    best, least = "", float("inf")
    for subject in stored:
        found, distance = _toward(wanted.split("."), subject.split("."))
        if found and distance < least:
            best, least = found, distance
    return best


def _toward(wanted: list[str], subject: list[str]) -> tuple[str, float]:
    """Return `wanted` with as few changes as make it match `subject`, and how much those change; or empty."""
    open_ended = wanted[-1] == REST
    fixed = wanted[:-1] if open_ended else wanted
    if len(subject) < len(fixed) + open_ended and subject[-1] != REST:
        return "", 0
    tokens, distance = [], 0.0
    for mine, theirs in zip(fixed, subject, strict=False):
        if theirs == REST:
            break
        similar = 1.0 if mine == theirs or ANY in (mine, theirs) else _similarity(mine, theirs)
        if similar < SIMILAR:
            return "", 0
        tokens.append(mine if similar == 1.0 else theirs)
        distance += 1 - similar
    tokens += fixed[len(tokens) :]
    if open_ended:
        tokens.append(REST)
    elif len(subject) > len(fixed) and subject[-1] != REST:
        tokens = [*(tokens[:-1] if tokens[-1] == ANY else tokens), REST]
        distance += LONGER
    changed = ".".join(tokens)
    useful = changed != ".".join(wanted) and changed != REST
    return (changed, distance) if useful and collide(changed, ".".join(subject)) else ("", 0)


def _similarity(mine: str, theirs: str) -> float:
    """Return how alike two tokens are, below 1; upper and lower case count little."""
    if mine.casefold() == theirs.casefold():
        return 0.99
    if _letters(mine) == _letters(theirs):
        return 0.0
    return min(0.98, difflib.SequenceMatcher(None, mine.casefold(), theirs.casefold()).ratio())


def _letters(token: str) -> str:
    return "".join(each for each in token if not each.isdigit())
