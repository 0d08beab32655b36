"""The kinds of values that options take, each a function from the option's text to its value.

All raise ValueError with a text that says what is wrong and what is right, without the option's name.
"""

from __future__ import annotations

import re

from ...protocol import duration, subject
from ...protocol.timestamp import parse_rfc3339

TRUE, FALSE = "true", "false"
MILLISECOND = 1_000_000  # in nanoseconds
_FORBIDDEN = frozenset(" \t\r\n\f.*>/\\")


def text(given: str) -> str:
    """Return any text but an empty one."""
    if not given.strip():
        raise ValueError("is empty")
    return given.strip()


def secret(given: str) -> str:
    """Return a secret, or where it is, unchanged, since a blank may belong to it."""
    if not given:
        raise ValueError("is empty")
    return given


def words(given: str) -> tuple[str, ...]:
    """Parse a list with commas; no item may be empty or occur twice."""
    found = [item.strip() for item in given.split(",")]
    if not all(found):
        raise ValueError(f'"{given}" has an empty item; write a,b,c')
    return tuple(dict.fromkeys(found))


def stream(given: str) -> str:
    """Return the name of a stream."""
    name = text(given)
    if not _FORBIDDEN.isdisjoint(name):
        raise ValueError(f'"{name}" is no stream name: it may have no blanks, dots, slashes or wildcards')
    return name


def streams(given: str) -> tuple[str, ...]:
    """Return names of streams."""
    return tuple(stream(name) for name in words(given))


def pattern(given: str) -> str:
    """Return a regular expression of Python's that the whole name must match."""
    try:
        re.compile(text(given))
    except re.error as error:
        raise ValueError(f'"{given}" is no regular expression: {error}') from None
    return given.strip()


def subjects(given: str) -> tuple[str, ...]:
    """Return subjects with wildcards, without those that another one contains."""
    found = words(given)
    for one in found:
        if not subject.is_valid(one):
            raise ValueError(f'"{one}" is no subject')
    kept = tuple(one for one in found if not any(one != o and subject.is_subset(one, o) for o in found))
    for at, one in enumerate(kept):
        for other in kept[at + 1 :]:
            if subject.collide(one, other):
                raise ValueError(
                    f'"{one}" and "{other}" overlap, which JetStream does not filter by; '
                    "name what contains both, or narrower ones"
                )
    return kept


def literal(given: str) -> str:
    """Return a subject to publish to."""
    if not subject.is_literal(text(given)):
        raise ValueError(f'"{given}" is no subject to publish to: it may have no blanks and no wildcards')
    return given.strip()


def flag(given: str) -> bool:
    """Parse `true` or `false`."""
    if given.strip().lower() not in {TRUE, FALSE}:
        raise ValueError(f'"{given}" is neither true nor false')
    return given.strip().lower() == TRUE


def count(given: str) -> int:
    """Parse a whole number of 1 or more."""
    found = _whole(given)
    if found < 1:
        raise ValueError(f'"{given}" is not 1 or more')
    return found


def tally(given: str) -> int:
    """Parse a whole number of 0 or more."""
    found = _whole(given)
    if found < 0:
        raise ValueError(f'"{given}" is not 0 or more')
    return found


def _whole(given: str) -> int:
    try:
        return int(given)
    except ValueError:
        raise ValueError(f'"{given}" is no whole number') from None


def seconds(given: str) -> float:
    """Parse a positive span such as `500ms`, `5s` or `2m`; return it in seconds.

    Without a unit it is in milliseconds, as with Kafka.
    """
    try:
        ns = int(given) * MILLISECOND if given.strip().isdigit() else duration.parse(given.strip())
    except ValueError:
        ns = 0
    if ns <= 0:
        raise ValueError(f'"{given}" is no span of time such as 500ms, 5s or 2m')
    return ns / 1e9


def time(given: str) -> int:
    """Parse a moment and return it in nanoseconds since the epoch.

    It is given in milliseconds since then, or as `2026-11-22T08:00:00Z`.
    """
    wanted = given.strip()
    if wanted.isdigit():
        return int(wanted) * MILLISECOND
    try:
        return parse_rfc3339(wanted)
    except ValueError:
        raise ValueError(
            f'"{given}" is no time: give milliseconds since 1970, or 2026-11-22T08:00:00Z with its zone'
        ) from None


def one_of(*choices: str) -> OneOf:
    """Return a kind that accepts one of these words."""
    return OneOf(choices)


class OneOf:
    """One of some words."""

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.choices = choices

    def __call__(self, given: str) -> str:
        """Return the word, in the spelling of the choices."""
        found = given.strip().lower()
        for choice in self.choices:
            if choice.lower() == found:
                return choice
        raise ValueError(f'"{given}" is none of {", ".join(self.choices)}')
