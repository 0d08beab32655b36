"""Times and sizes in the form of nsc's flags, and dates in the form of its pages.

Times are in seconds since the epoch, 0 for none; the present is in ns and always an argument. Calendar steps
(days, weeks, months, years) are made in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ..claims.base import SECOND
from ..errors import WorkspaceError

MINUTE, HOUR, DAY = 60, 3600, 86400
WEEK, MONTH, YEAR = 7 * DAY, 30 * DAY, 365 * DAY
_STEP = re.compile(r"(-?\d+)([mhdwMy])", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} UTC", re.ASCII)
_SIZE = re.compile(r"(-?)([\d,]*\.?\d+|\d+\.)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgtpe", 1):
    _UNITS |= {_letter: 1000**_power, f"{_letter}b": 1000**_power}
    _UNITS |= {f"{_letter}i": 1024**_power, f"{_letter}ib": 1024**_power}
# (from how many seconds, words, unit): the steps of a distance in words
_DISTANCES = (
    (0, "now", 1),
    (1, "1 second", 1),
    (2, "{} seconds", 1),
    (MINUTE, "1 minute", 1),
    (2 * MINUTE, "{} minutes", MINUTE),
    (HOUR, "1 hour", 1),
    (2 * HOUR, "{} hours", HOUR),
    (DAY, "1 day", 1),
    (2 * DAY, "{} days", DAY),
    (WEEK, "1 week", 1),
    (2 * WEEK, "{} weeks", WEEK),
    (MONTH, "1 month", 1),
    (2 * MONTH, "{} months", MONTH),
    (12 * MONTH, "1 year", 1),
    (18 * MONTH, "1 year", 1),
    (2 * 12 * MONTH, "2 years", 1),
    (3 * 12 * MONTH, "{} years", 12 * MONTH),
)


def moment(text: str, now: int) -> int:
    """Parse a time flag: `0` or empty (none), a date, `2026-01-02 03:04:05 UTC`, or `3d` from `now`.

    now: ns.

    The units are m, h, d, w, M (months) and y; a number may be negative. Raises WorkspaceError.
    """
    if text in {"", "0"}:
        return 0
    if _INSTANT.fullmatch(text):
        return _read(text, "%Y-%m-%d %H:%M:%S UTC")
    if _DATE.fullmatch(text):
        return _read(text, "%Y-%m-%d")
    found = _STEP.fullmatch(text)
    if found is None:
        raise WorkspaceError(
            f"{text!r} is no time: give a date as 2026-12-31 or '2026-12-31 08:00:00 UTC', a span as 30m,"
            " 12h, 3d, 2w, 6M or 1y, or 0 for none"
        )
    count, unit = int(found[1]), found[2]
    try:
        return _stepped(now // SECOND, count, unit) if count else 0
    except (OverflowError, ValueError):
        raise WorkspaceError(f"{text!r} is too far away") from None


def date_time(text: str, now: int) -> int:
    """Parse a point in time: `0` (`now`), RFC 3339, or seconds since the epoch. Raises WorkspaceError."""
    text = text.strip()
    if text == "0":
        return now // SECOND
    if re.fullmatch(r"-?\d+", text, re.ASCII):
        return int(text)
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None or "T" not in text.upper():
        raise WorkspaceError(
            f"{text!r} is neither seconds since the epoch nor a time as 2026-12-31T23:59:59Z"
        )
    return int(parsed.timestamp())


def size(text: str) -> int:
    """Parse a number with an optional unit: k is 1000, ki and kib are 1024, up to e.

    Raises WorkspaceError.
    """
    if not text:
        return 0
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[3].lower()) if found else None
    if found is None or unit is None:
        raise WorkspaceError(f"{text!r} is no number: give one as 100, 64k, 10MiB or -1")
    digits = found[2].replace(",", "")
    value = int(float(digits) * unit) if "." in digits else int(digits) * unit
    if value >= 2**63:
        raise WorkspaceError(f"{text!r} is too large a number")
    return -value if found[1] else value


def date(seconds: int) -> str:
    """Return a time as `2026-01-02 03:04:05 UTC`, "" for 0."""
    if not seconds:
        return ""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{seconds} seconds"


def relative(seconds: int, now: int) -> str:
    """Return a time as its distance from `now` (ns): `in 3 days`, `2 weeks ago`, `now`; "" for 0."""
    if not seconds:
        return ""
    ahead = seconds * SECOND - now
    distance = abs(ahead) // SECOND
    words, unit = next((w, u) for start, w, u in reversed(_DISTANCES) if distance >= start)
    words = words.format(distance // unit)
    if words == "now":
        return "now" if ahead <= 0 else "in now"
    return f"in {words}" if ahead > 0 else f"{words} ago"


def _read(text: str, form: str) -> int:
    try:
        return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise WorkspaceError(f"{text!r} is no date of the calendar") from None


def _stepped(start: int, count: int, unit: str) -> int:
    if unit in "mh":
        return start + count * (MINUTE if unit == "m" else HOUR)
    day = datetime.fromtimestamp(start, UTC)
    if unit in "dw":
        return int((day + timedelta(days=count * (7 if unit == "w" else 1))).timestamp())
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "y" else 1)
    # a day that the month does not have continues into the next month, as in Go's calendar
    first = day.replace(year=months // 12, month=months % 12 + 1, day=1)
    return int((first + timedelta(days=day.day - 1)).timestamp())
