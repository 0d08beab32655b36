"""Hours of the day: which window holds a moment, and when it ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pyjs.keys.time_ranges import window_end


def _ns(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("spans", "now", "end"),
    [
        ([("08:00:00", "17:00:00")], "2026-01-31T12:00:00Z", "2026-01-31T17:00:00Z"),
        ([("08:00:00", "17:00:00")], "2026-01-31T07:59:59Z", ""),
        ([("08:00:00", "17:00:00")], "2026-01-31T08:00:00Z", ""),
        ([("08:00:00", "17:00:00")], "2026-01-31T17:00:00Z", ""),
        ([("22:00:00", "06:00:00")], "2026-01-31T23:30:00Z", "2026-02-01T06:00:00Z"),
        ([("22:00:00", "06:00:00")], "2026-01-31T05:00:00Z", "2026-01-31T06:00:00Z"),
        ([("22:00:00", "06:00:00")], "2026-01-31T12:00:00Z", ""),
        (
            [("08:00:00", "13:00:00"), ("11:00:00", "17:00:00")],
            "2026-01-31T12:00:00Z",
            "2026-01-31T17:00:00Z",
        ),
        ([("08:00:00", "08:00:00")], "2026-01-31T12:00:00Z", ""),
        ([("8:00:00", "17:00:00.5")], "2026-01-31T12:00:00Z", "2026-01-31T17:00:00Z"),
        ([("never", "17:00:00")], "2026-01-31T12:00:00Z", ""),
        ([("08:00:00", "25:00:00")], "2026-01-31T12:00:00Z", ""),
    ],
)
def test_windows(spans: list[tuple[str, str]], now: str, end: str) -> None:
    assert window_end(spans, "", UTC, _ns(now)) == (_ns(end) if end else 0)


def test_a_window_has_its_own_zone_or_the_servers() -> None:
    spans, now = [("08:00:00", "09:00:00")], _ns("2026-07-01T06:30:00Z")
    assert window_end(spans, "Europe/Berlin", UTC, now) == _ns("2026-07-01T07:00:00Z")
    assert window_end(spans, "", timezone(timedelta(hours=2)), now) == _ns("2026-07-01T07:00:00Z")
    assert window_end(spans, "UTC", timezone(timedelta(hours=2)), now) == 0


@pytest.mark.parametrize("zone", ["No/Where", "../../etc/passwd", "/etc/passwd", "\0"])
def test_an_unknown_zone_admits_nobody(zone: str) -> None:
    assert window_end([("00:00:00", "23:59:59")], zone, UTC, _ns("2026-07-01T06:30:00Z")) == 0


def test_hours_follow_a_change_of_the_clock() -> None:
    spans = [("01:00:00", "05:00:00")]
    assert window_end(spans, "Europe/Berlin", UTC, _ns("2026-03-29T00:30:00Z")) == _ns("2026-03-29T03:00:00Z")
