"""Filters become what the server can do, checked on every message against Spark's own meaning of them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyjs.pipeline.source.pushdown import CLOCKS, PushedFilters, push
from pyjs.protocol import subject
from pyspark.sql import datasource as spark

EPOCH = datetime(2026, 11, 22, tzinfo=UTC)
SUBJECTS = ["orders", "orders.eu", "orders.eu.a", "orders.eu.b", "orders.us.a", "ordersx.eu", "other.eu.a"]


def fits(narrowed: PushedFilters, name: str, sequence: int, ns: int) -> bool:
    """Whether the reader gives this message."""
    return (
        not narrowed.nothing
        and (not narrowed.subjects or any(subject.matches(one, name) for one in narrowed.subjects))
        and sequence >= narrowed.first
        and (narrowed.end is None or sequence < narrowed.end)
        and (narrowed.since is None or ns >= narrowed.since)
        and (narrowed.until is None or ns < narrowed.until)
    )


def holds(one: Any, row: dict[str, Any]) -> bool:
    """What Spark does with a filter."""
    value = row[one.attribute[0]]
    match one:
        case spark.EqualTo() | spark.EqualNullSafe():
            return bool(value == one.value)
        case spark.In():
            return value in one.value
        case spark.GreaterThan():
            return bool(value > one.value)
        case spark.GreaterThanOrEqual():
            return bool(value >= one.value)
        case spark.LessThan():
            return bool(value < one.value)
        case spark.LessThanOrEqual():
            return bool(value <= one.value)
        case spark.StringStartsWith():
            return str(value).startswith(one.value)
        case spark.StringEndsWith():
            return str(value).endswith(one.value)
        case spark.IsNotNull():
            return True
    raise AssertionError(one)


def any_filter(rng: random.Random) -> Any:
    compare = [
        spark.EqualTo,
        spark.GreaterThan,
        spark.GreaterThanOrEqual,
        spark.LessThan,
        spark.LessThanOrEqual,
    ]
    kind = rng.randrange(7)
    if kind == 0:
        return rng.choice(compare)(("sequence",), rng.randint(0, 40))
    if kind == 1:
        return spark.In(("sequence",), tuple(rng.sample(range(40), 3)))
    if kind == 2:
        return rng.choice(compare)(("timestamp",), EPOCH + timedelta(minutes=rng.randint(-2, 42)))
    if kind == 3:
        return spark.In(("subject",), tuple(rng.sample([*SUBJECTS, "no.such", "a b"], 2)))
    if kind == 4:
        return spark.StringStartsWith(
            ("subject",), rng.choice(["", "o", "orders", "orders.", "orders.eu", "orders.eu."])
        )
    if kind == 5:
        return rng.choice(
            [
                spark.IsNotNull(("subject",)),
                spark.StringEndsWith(("subject",), "a"),
                spark.EqualTo(("subject",), "*"),
            ]
        )
    return spark.EqualTo(("subject",), rng.choice(SUBJECTS))


def test_pushed_filters_and_those_left_give_what_all_filters_give() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(400):
        optional = rng.choice([(), ("orders.>",), ("orders.eu.*", "other.>")])
        filters = [any_filter(rng) for _ in range(rng.randint(1, 4))]
        narrowed, left = push(filters, PushedFilters(optional))
        for sequence in range(1, 41):
            name = rng.choice(SUBJECTS)
            when = EPOCH + timedelta(minutes=sequence)
            row = {"subject": name, "sequence": sequence, "timestamp": when}
            wanted = all(holds(one, row) for one in filters) and (
                not optional or any(subject.matches(one, name) for one in optional)
            )
            given = fits(narrowed, name, sequence, int(when.timestamp()) * 10**9)
            assert (given and all(holds(one, row) for one in left)) == wanted, f"seed {seed}: {filters}"


@pytest.mark.parametrize(
    ("one", "subjects", "exact"),
    [
        (spark.EqualTo(("subject",), "a.b"), ("a.b",), True),
        (spark.In(("subject",), ("a.b", None, "c")), ("a.b", "c"), True),
        (spark.StringStartsWith(("subject",), "a.b."), ("a.b.>",), True),
        (spark.StringStartsWith(("subject",), "a.b"), ("a.>",), False),
        (spark.StringStartsWith(("subject",), "a"), (), False),
        (spark.StringStartsWith(("subject",), "*.b"), (), False),
        (spark.EqualTo(("subject",), "a.*"), (), False),
        (spark.StringContains(("subject",), "b"), (), False),
        (spark.Not(spark.EqualTo(("subject",), "a")), (), False),
        (spark.EqualTo(("subject", "deeper"), "a"), (), False),
    ],
)
def test_what_a_filter_on_subject_becomes(one: Any, subjects: tuple[str, ...], exact: bool) -> None:
    narrowed, left = push([one], PushedFilters())
    assert (narrowed.subjects, not left) == (subjects, exact)


def test_a_long_list_of_subjects_is_left_to_spark() -> None:
    one = spark.In(("subject",), tuple(f"a.{n}" for n in range(101)))
    assert push([one], PushedFilters()) == (PushedFilters(), [one])


def test_filters_that_exclude_each_other_leave_nothing() -> None:
    narrowed, left = push(
        [spark.EqualTo(("subject",), "a"), spark.EqualTo(("subject",), "b")], PushedFilters()
    )
    assert narrowed.nothing
    assert left == []


def test_only_the_streams_asked_for_are_read() -> None:
    filters = [spark.In(("stream",), ("A", "B")), spark.EqualTo(("stream",), "C")]
    narrowed, left = push(filters, PushedFilters())
    assert (narrowed.streams, left) == (frozenset(), [])


def test_times_are_widened_by_what_clocks_may_differ_and_left_to_spark() -> None:
    one = spark.GreaterThan(("timestamp",), datetime(1970, 1, 1, 1, tzinfo=UTC))
    narrowed, left = push([one], PushedFilters())
    assert (narrowed.since, left) == (3600 * 10**9 - CLOCKS, [one])
