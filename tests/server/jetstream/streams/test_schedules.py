"""Schedules of a stream without a server: many at once, after a restart, and how long they are remembered."""

from __future__ import annotations

import pytest
from lib.streams import JetStreamFixture
from pyjs.protocol.timestamp import format_rfc3339
from pyjs.server.jetstream.streams.message_schedules import SPARE

SECOND = 1_000_000_000


def at(fixture: JetStreamFixture, seconds: int) -> str:
    """A pattern for a moment from now."""
    return f"@at {format_rfc3339(fixture.clock.now() + seconds * SECOND)}"


def schedule(fixture: JetStreamFixture, pattern: str, subject: str = "s.when", target: str = "s.to") -> None:
    answer = fixture.publish(subject, Nats_Schedule=pattern, Nats_Schedule_Target=target)
    assert b'"seq"' in answer
    assert b"error" not in answer


def test_a_thousand_that_are_due_come_at_once(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.>"], allow_msg_schedules=True)
    for number in range(1000):
        schedule(fixture, at(fixture, 1), f"s.when.{number}")
    assert stream.store.messages == 1000
    fixture.clock.advance(SECOND + SECOND // 2)
    assert set(fixture.subjects(stream)) == {"s.to"}
    assert stream.store.messages == 1000


def test_schedules_that_are_replaced_are_forgotten(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.>"], allow_msg_schedules=True)
    for number in range(3 * SPARE):
        schedule(fixture, at(fixture, 1000 + number))
    assert stream.store.messages == 1
    assert len(stream.schedules._heap) <= 2 * SPARE
    fixture.clock.advance(10_000 * SECOND)
    assert fixture.subjects(stream) == ["s.to"]


@pytest.mark.parametrize(
    ("pattern", "first", "down", "after"),
    [
        ("0 0 * * * *", 3600, 60, 0),  # nothing was due meanwhile
        ("0 0 * * * *", 3600, 3 * 3600, 1),  # what was due three times comes once
        ("@every 1h", 3600, 60, 0),
        ("@every 1h", 3600, 3 * 3600, 1),
    ],
)
def test_what_was_due_meanwhile_comes_once(
    fixture: JetStreamFixture, pattern: str, first: int, down: int, after: int
) -> None:
    """Also where what the schedule brought before is gone."""
    stream = fixture.stream(subjects=["s.>"], storage="file", allow_msg_schedules=True)
    schedule(fixture, pattern)
    fixture.clock.advance((first + 1) * SECOND)
    assert fixture.subjects(stream) == ["s.when", "s.to"]
    fixture.call("STREAM.PURGE.S", {"filter": "s.to"})
    fixture.close()
    fixture.clock.advance(down * SECOND)
    fixture.open()
    stream = fixture.js.lookup("S")
    fixture.clock.advance(SECOND)
    assert fixture.subjects(stream).count("s.to") == after
    fixture.clock.advance(3600 * SECOND)
    assert fixture.subjects(stream).count("s.to") == after + 1
