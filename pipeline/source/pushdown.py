"""Filters of a query that the server can apply: on subject, sequence, timestamp and stream.

A filter is `exact` if everything that is read satisfies it, so that Spark need not check again. Other filters
only reduce what is read, and Spark applies them too. Those on time are of this kind: the clocks of servers
that led a stream one after the other may differ, so a minute more is read on either side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import datasource as spark

from ...protocol import subject

CLOCKS = 60 * 10**9  # ns that clocks of servers may differ
MOST_SUBJECTS = 100  # a longer list is left to Spark
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NEVER_NULL = frozenset({"subject", "data", "stream", "sequence", "timestamp", "size", "domain"})


@dataclass(frozen=True)
class PushedFilters:
    """What is left to read.

    subjects: subjects with wildcards; none: all
    first and end: sequences [first, end); None is no bound
    since and until: times [since, until) in ns since the epoch; None is no bound
    streams: the names of streams; None: all
    nothing: whether no message can satisfy the filters
    """

    subjects: tuple[str, ...] = ()  # none: all
    first: int = 1
    end: int | None = None
    since: int | None = None
    until: int | None = None
    streams: frozenset[str] | None = None  # None: all
    nothing: bool = False  # no message can fit


def push(filters: Iterable[Any], narrowed: PushedFilters) -> tuple[PushedFilters, list[Any]]:
    """Narrow by `filters`, which must all hold; return the result and the filters that Spark must apply."""
    left = []
    for one in filters:
        narrowed, exact = _by(one, narrowed)
        if not exact:
            left.append(one)
    return narrowed, left


def _by(one: Any, narrowed: PushedFilters) -> tuple[PushedFilters, bool]:
    """Narrow by one filter; return the result, and whether the filter is exact."""
    if len(one.attribute if hasattr(one, "attribute") else ()) != 1:
        return narrowed, False  # a Not, or a part of the headers
    column = one.attribute[0]
    if isinstance(one, spark.IsNotNull):
        return narrowed, column in _NEVER_NULL
    value = getattr(one, "value", None)
    if value is None:
        return narrowed, False
    if column == "sequence":
        return _by_sequence(one, value, narrowed)
    if column == "subject":
        return _by_subject(one, value, narrowed)
    if column == "timestamp" and isinstance(value, datetime) and value.tzinfo is not None:
        return _by_time(one, value, narrowed), False
    if column == "stream" and isinstance(one, spark.EqualTo | spark.EqualNullSafe | spark.In):
        wanted = frozenset(value if isinstance(one, spark.In) else [value])
        return replace(
            narrowed, streams=wanted if narrowed.streams is None else wanted & narrowed.streams
        ), True
    return narrowed, False


def _by_sequence(one: Any, value: Any, narrowed: PushedFilters) -> tuple[PushedFilters, bool]:
    if isinstance(one, spark.In):
        known = [item for item in value if item is not None]
        if not known:
            return narrowed, False
        return _sequences(narrowed, min(known), max(known) + 1), False
    bounds: dict[type, tuple[int, int | None]] = {
        spark.EqualTo: (value, value + 1),
        spark.EqualNullSafe: (value, value + 1),
        spark.GreaterThan: (value + 1, None),
        spark.GreaterThanOrEqual: (value, None),
        spark.LessThan: (1, value),
        spark.LessThanOrEqual: (1, value + 1),
    }
    found = bounds.get(type(one))
    return (_sequences(narrowed, *found), True) if found else (narrowed, False)


def _sequences(narrowed: PushedFilters, first: int, end: int | None) -> PushedFilters:
    return replace(narrowed, first=max(first, narrowed.first), end=_least(end, narrowed.end))


def _by_time(one: Any, value: datetime, narrowed: PushedFilters) -> PushedFilters:
    ns = _nanoseconds(value)
    since = until = None
    if isinstance(one, spark.GreaterThan | spark.GreaterThanOrEqual | spark.EqualTo | spark.EqualNullSafe):
        since = ns - CLOCKS
    if isinstance(one, spark.LessThan | spark.LessThanOrEqual | spark.EqualTo | spark.EqualNullSafe):
        until = ns + CLOCKS
    if since is not None and narrowed.since is not None:
        since = max(since, narrowed.since)
    return replace(
        narrowed,
        since=since if since is not None else narrowed.since,
        until=_least(until, narrowed.until),
    )


def _by_subject(one: Any, value: Any, narrowed: PushedFilters) -> tuple[PushedFilters, bool]:
    wanted: tuple[str, ...]
    if isinstance(one, spark.EqualTo | spark.EqualNullSafe):
        wanted, exact = (value,), True
    elif isinstance(one, spark.In):
        wanted, exact = tuple(dict.fromkeys(item for item in value if item is not None)), True
    elif isinstance(one, spark.StringStartsWith):
        wanted, exact = _starting(value)
    else:
        return narrowed, False
    if not wanted or len(wanted) > MOST_SUBJECTS or not all(map(_filterable, wanted)):
        return narrowed, False
    if not narrowed.subjects:
        return replace(narrowed, subjects=wanted), exact
    both = _both(narrowed.subjects, wanted)
    if both is None:
        return narrowed, False
    return replace(narrowed, subjects=both or narrowed.subjects, nothing=narrowed.nothing or not both), exact


def _starting(prefix: str) -> tuple[tuple[str, ...], bool]:
    """Return the subjects with this prefix, and whether they are exact: only whole tokens can be.

    There are none if subjects cannot express the prefix.
    """
    tokens, _, rest = prefix.rpartition(".")
    if not tokens or subject.has_wildcard(tokens):
        return (), False
    return (f"{tokens}.>",), not rest


def _filterable(one: str) -> bool:
    return subject.is_literal(one) or (subject.is_literal(one[:-2]) and one.endswith(".>"))


def _both(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the subjects in both, empty for none; None if no list of subjects can express them."""
    found: list[str] = []
    for a in some:
        for b in others:
            if subject.is_subset(a, b):
                found.append(a)
            elif subject.is_subset(b, a):
                found.append(b)
            elif subject.collide(a, b):
                return None
    return tuple(dict.fromkeys(found))


def _least(a: int | None, b: int | None) -> int | None:
    return min(a, b) if a is not None and b is not None else a if b is None else b


def _nanoseconds(value: datetime) -> int:
    return (value - _EPOCH) // _MICROSECOND * 1000
