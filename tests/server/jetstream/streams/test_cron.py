"""When cron patterns fire: fields, names and steps, the calendar, and days on which clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from time import process_time
from zoneinfo import ZoneInfo

import pytest
from lib.examples import seeds
from pyjs.server.jetstream.streams.cron import PatternError, next_time

WRONG = (
    *("", "* * * * *", "* * * * * * *", "60 * * * * *", "* * 24 * * *", "* * * 0 * *", "* * * * 13 *"),
    *("* * * * * 7", "5-1 * * * * *", "1-2-3 * * * * *", "*/0 * * * * *", "1/2/3 * * * * *", "x * * * * *"),
    *("-5 * * * * *", "1_0 * * * * *", ", * * * * *", "\u0665 * * * * *", "* * * * foo *", "0 0 0 31 Feb ?"),
    *("0 0 0 30 2 *", "0 " * 5000, f"{'1,' * 3000}1 * * * * *", "9" * 5000 + " * * * * *"),
)


def fires(after: str, pattern: str, zone: str = "UTC") -> str:
    """When a pattern fires after a time, in the zone."""
    moment = datetime.fromisoformat(after)
    at = next_time(pattern, ZoneInfo(zone), int(moment.timestamp()))
    return datetime.fromtimestamp(at, ZoneInfo(zone)).isoformat()


@pytest.mark.parametrize(
    ("after", "pattern", "at"),
    [
        ("2012-07-09T14:45:00Z", "0 0/15 * * * *", "2012-07-09T15:00:00+00:00"),
        ("2012-07-09T14:59:59Z", "0 0/15 * * * *", "2012-07-09T15:00:00+00:00"),
        ("2012-07-09T15:45:00Z", "0 20-35/15 * * * *", "2012-07-09T16:20:00+00:00"),
        ("2012-07-09T23:46:00Z", "0 */15 * * * *", "2012-07-10T00:00:00+00:00"),
        ("2012-07-09T23:35:51Z", "15/35 20-35/15 1/2 9/20 * *", "2012-07-29T01:20:15+00:00"),
        ("2012-07-09T23:35:51Z", "15/35 20-35/15 * 9-20 jul *", "2012-07-10T00:20:15+00:00"),
        ("2012-07-09T23:35:00Z", "0 0 0 9 Apr-Oct ?", "2012-08-09T00:00:00+00:00"),
        ("2012-07-09T23:35:00Z", "0 0 0 */5 Apr,Aug,Oct Mon", "2012-08-01T00:00:00+00:00"),
        ("2012-07-09T23:35:00Z", "0 0 0 */5 Oct MON", "2012-10-01T00:00:00+00:00"),
        ("2012-07-09T23:35:00Z", "0 0 0 * Feb Mon", "2013-02-04T00:00:00+00:00"),
        ("2012-07-09T23:35:00Z", "0 0 0 * Feb Mon/2", "2013-02-01T00:00:00+00:00"),
        ("2012-12-31T23:59:45Z", "0 * * * * *", "2013-01-01T00:00:00+00:00"),
        ("2012-07-09T23:35:00Z", "0 0 0 29 Feb ?", "2016-02-29T00:00:00+00:00"),
        ("2012-07-09T23:35:00Z", "0 0 0 13 * FRI", "2012-07-13T00:00:00+00:00"),
        ("2012-07-14T00:00:00Z", "0 0 0 13 * FRI", "2012-07-20T00:00:00+00:00"),
        ("2012-07-14T00:00:00Z", "0 0 0 13 * *", "2012-08-13T00:00:00+00:00"),
        ("2012-07-14T00:00:00Z", "0 0 0 31 * *", "2012-07-31T00:00:00+00:00"),
        ("2012-08-31T00:00:00Z", "0 0 0 31 * *", "2012-10-31T00:00:00+00:00"),
        ("2012-07-14T00:00:00Z", "+5,, 0 0 * * *", "2012-07-14T00:00:05+00:00"),
        ("2012-07-14T00:00:00Z", "*-5 * * * * *", "2012-07-14T00:00:01+00:00"),
    ],
)
def test_when_a_pattern_fires(after: str, pattern: str, at: str) -> None:
    assert fires(after, pattern) == at


@pytest.mark.parametrize(
    ("after", "pattern", "at"),
    [
        # In the spring the hour from 02:00 on is left out.
        ("2012-03-11T00:00:00-05:00", "0 30 2 11 Mar ?", "2013-03-11T02:30:00-04:00"),
        ("2012-03-11T00:00:00-05:00", "0 0 * * * ?", "2012-03-11T01:00:00-05:00"),
        ("2012-03-11T01:00:00-05:00", "0 0 * * * ?", "2012-03-11T03:00:00-04:00"),
        ("2012-03-11T03:00:00-04:00", "0 0 * * * ?", "2012-03-11T04:00:00-04:00"),
        ("2012-03-11T00:00:00-05:00", "0 0 2 * * ?", "2012-03-12T02:00:00-04:00"),
        # In the autumn the hour from 01:00 on comes twice.
        ("2012-11-04T00:00:00-04:00", "0 30 2 04 Nov ?", "2012-11-04T02:30:00-05:00"),
        ("2012-11-04T01:45:00-04:00", "0 30 1 04 Nov ?", "2012-11-04T01:30:00-05:00"),
        ("2012-11-04T00:00:00-04:00", "0 0 * * * ?", "2012-11-04T01:00:00-04:00"),
        ("2012-11-04T01:00:00-04:00", "0 0 * * * ?", "2012-11-04T01:00:00-05:00"),
        ("2012-11-04T01:00:00-05:00", "0 0 * * * ?", "2012-11-04T02:00:00-05:00"),
        ("2012-11-04T01:00:00-05:00", "0 0 1 * * ?", "2012-11-05T01:00:00-05:00"),
        ("2012-11-04T02:00:00-05:00", "0 0 2 * * ?", "2012-11-05T02:00:00-05:00"),
        ("2012-11-04T03:00:00-05:00", "0 0 3 * * ?", "2012-11-05T03:00:00-05:00"),
    ],
)
def test_days_on_which_clocks_change(after: str, pattern: str, at: str) -> None:
    assert fires(after, pattern, "America/New_York") == at


@pytest.mark.parametrize(
    "pattern",
    WRONG,
)
def test_what_never_fires_is_no_pattern(pattern: str) -> None:
    began = process_time()
    for _ in range(10):
        with pytest.raises(PatternError):
            next_time(pattern, UTC, 1_700_000_000)
    assert process_time() - began < 0.5


@seeds(30)
def test_it_is_the_first_second_that_every_field_allows(seed: int) -> None:
    rng = Random(seed)
    fields = [
        rng.choice(["*", f"*/{rng.randint(1, most)}", str(rng.randint(least, most))])
        for least, most in ((0, 59), (0, 59), (0, 23), (1, 28), (1, 12))
    ]
    start = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), rng.randrange(24), 59, 58, tzinfo=UTC)
    at = next_time(" ".join([*fields, "*"]), UTC, int(start.timestamp()))

    def allowed(moment: datetime) -> bool:
        values = (moment.second, moment.minute, moment.hour, moment.day, moment.month)
        starts = (0, 0, 0, 1, 1)
        return all(
            field == "*" or (field == str(value) if "/" not in field else (value - low) % int(field[2:]) == 0)
            for field, value, low in zip(fields, values, starts, strict=True)
        )

    assert allowed(datetime.fromtimestamp(at, UTC))
    for back in [*range(1, 4000), *(rng.randrange(1, at - int(start.timestamp()) + 1) for _ in range(2000))]:
        moment = datetime.fromtimestamp(at, UTC) - timedelta(seconds=back)
        if moment <= start:
            continue
        assert not allowed(moment)
