"""Runs that went wrong: each broken promise is found, under its name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.trust.findings import Content, Findings, Stored, judge_content, judge_deliveries, judge_jobs
from lib.trust.publishers import EXPECTED
from lib.trust.values import BUCKET, JOB, JOBS, KEYS, STREAM, SUBJECT, Outcome, Value, Values
from lib.trust.worker import Handled

CHAIN = f"{SUBJECT}.chain"


def played() -> tuple[Values, Content]:
    """Three values, a refused one, a chain of two; all as it should be."""
    values = Values()
    content: Content = {}
    for number in range(1, 4):
        stored(values.new(f"p0.{number}", STREAM, f"{SUBJECT}.p0"), content)
    values.new("p0.4", STREAM, f"{SUBJECT}.p0").outcome = Outcome.REFUSED
    stored(values.new("c0.1", STREAM, CHAIN, expected=0), content)
    stored(values.new("c1.1", STREAM, CHAIN, expected=4), content)
    return values, content


def stored(value: Value, content: Content) -> None:
    value.outcome, value.seq = Outcome.ACKED, len(content) + 1
    header = f"NATS/1.0\r\n{EXPECTED}: {value.expected}\r\n\r\n".encode() if value.expected >= 0 else b""
    content[value.seq] = Stored(value.subject, header, value.body)


def lose(values: Values, content: Content) -> None:
    del content[2]


def move(values: Values, content: Content) -> None:
    content[2], content[3] = content[3], content[2]


def change(values: Values, content: Content) -> None:
    content[6] = Stored(f"{SUBJECT}.p0", b"", values.by_name["p0.3"].body[:-1])


def repeat(values: Values, content: Content) -> None:
    content[6] = content[3]


def bring_back(values: Values, content: Content) -> None:
    content[6] = Stored(f"{SUBJECT}.p0", b"", values.by_name["p0.4"].body)


def fork(values: Values, content: Content) -> None:
    stored(values.new("c0.2", STREAM, CHAIN, expected=4), content)


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    values, content = played()
    findings = Findings()
    judge_content(STREAM, content, values, findings)
    assert findings.good and findings.notes == []


@pytest.mark.parametrize(
    ("kind", "harm", "count"),
    [
        ("lost", lose, 1),
        ("moved", move, 2),
        ("strange", change, 1),
        ("twice", repeat, 1),
        ("returned", bring_back, 1),
        ("chains", fork, 1),
    ],
)
def test_a_broken_promise_is_seen(kind: str, harm: Callable[[Values, Content], None], count: int) -> None:
    values, content = played()
    harm(values, content)
    findings = Findings()
    judge_content(STREAM, content, values, findings)
    assert {name: found for name, found in findings.counts.items() if found} == {kind: count}


def test_a_key_that_fell_back_is_lost() -> None:
    values = Values()
    content: Content = {}
    for number in (5, 10):
        stored(values.new(f"k0.{number}", BUCKET, f"{KEYS}.k0"), content)
    findings = Findings()
    judge_content(BUCKET, {2: content[2]}, values, findings)
    assert findings.good
    judge_content(BUCKET, {1: content[1]}, values, findings)
    assert findings.lost == 1


def test_deliveries_of_what_is_not_stored_and_missing_ones_are_seen() -> None:
    values, content = played()
    handled = Handled(values, STREAM)
    handled.seen = {seq: values.of(message.body) for seq, message in content.items()}
    findings = Findings()
    judge_deliveries(content, handled, findings)
    assert findings.good
    handled.seen[9] = handled.seen.pop(3)
    judge_deliveries(content, handled, findings)
    assert findings.consumer == 2


def test_a_job_that_nobody_got_is_lost() -> None:
    values = Values()
    content: Content = {}
    for number in (1, 2):
        stored(values.new(f"j0.{number}", JOBS, f"{JOB}.j0"), content)
    handled = Handled(values, JOBS)
    handled.seen = {seq: values.of(message.body) for seq, message in content.items()}
    findings = Findings()
    judge_jobs({}, handled, values, findings)
    assert findings.good
    del handled.seen[1]
    judge_jobs({2: content[2]}, handled, values, findings)
    assert (findings.lost, findings.consumer) == (1, 1)
