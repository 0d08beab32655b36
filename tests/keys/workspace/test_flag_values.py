"""Times and sizes as nsc's flags have them."""

from __future__ import annotations

import calendar

import pytest
from pyjs.keys import WorkspaceError
from pyjs.keys.workspace.flag_values import date, date_time, moment, relative, size

SECOND = 10**9


def _utc(*parts: int) -> int:
    return calendar.timegm((*parts, *[0] * (6 - len(parts))))


NOW = _utc(2026, 1, 31, 12) * SECOND


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("0", 0),
        ("0d", 0),
        ("2026-12-31", _utc(2026, 12, 31)),
        ("2026-12-31 23:59:58 UTC", _utc(2026, 12, 31, 23, 59, 58)),
        ("90m", _utc(2026, 1, 31, 13, 30)),
        ("-2h", _utc(2026, 1, 31, 10)),
        ("3d", _utc(2026, 2, 3, 12)),
        ("2w", _utc(2026, 2, 14, 12)),
        ("1M", _utc(2026, 3, 3, 12)),  # February 31st, as Go counts
        ("-1M", _utc(2025, 12, 31, 12)),
        ("1y", _utc(2027, 1, 31, 12)),
    ],
)
def test_times_are_dates_or_spans(text: str, expected: int) -> None:
    assert moment(text, NOW) == expected


@pytest.mark.parametrize(
    "text", ["x", "3", "3s", "1.5d", "2026-13-01", "2026-02-30", "3d2h", "99999999999y", "٣d", "3 d"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(WorkspaceError):
        moment(text, NOW)


def test_points_in_time() -> None:
    assert date_time("0", NOW) == NOW // SECOND
    assert date_time("1700000000", NOW) == 1700000000
    assert date_time("2026-01-02T03:04:05Z", NOW) == _utc(2026, 1, 2, 3, 4, 5)
    assert date_time("2026-01-02T03:04:05+01:00", NOW) == _utc(2026, 1, 2, 2, 4, 5)
    for text in ("", "soon", "2026-01-02", "2026-01-02T03:04:05", "1.5"):
        with pytest.raises(WorkspaceError):
            date_time(text, NOW)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("-1", -1),
        ("10", 10),
        ("1k", 1000),
        ("1K", 1000),
        ("1kb", 1000),
        ("1ki", 1024),
        ("1KiB", 1024),
        ("2 MiB", 2 * 1024**2),
        ("1.5g", 1_500_000_000),
        ("1,000", 1000),
        ("1e", 10**18),
        ("5ei", 5 * 1024**6),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["x", "1x", "--1", "1 0", "k", "9223372036854775808", "16e", "1.2.3", "٣"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(WorkspaceError):
        size(text)


def test_dates_in_words() -> None:
    at = NOW // SECOND
    assert (date(at), date(0)) == ("2026-01-31 12:00:00 UTC", "")
    day = 86400
    words = {0: "now", 1: "in 1 second", -30: "30 seconds ago", 3600: "in 1 hour", 3 * day: "in 3 days"}
    words |= {
        -14 * day: "2 weeks ago",
        61 * day: "in 2 months",
        365 * day: "in 1 year",
        1461 * day: "in 4 years",
    }
    assert {span: relative(at + span, NOW) for span in words} == words
    assert relative(0, NOW) == ""
