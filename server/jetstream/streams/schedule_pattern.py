"""When a scheduled message is due: `@at`, `@every`, and cron patterns with a time zone.

Promises: pure functions of their arguments; the clock is never read. Times are in ns. Source: ADR-51.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ....protocol.duration import DurationError, parse_go
from ....protocol.errors import ApiError, api_error
from ....protocol.timestamp import TimestampError, format_exact, parse_exact
from ...clock import SECOND
from .cron import PatternError, next_time

PREDEFINED = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}


class Due(NamedTuple):
    """When a schedule fires. repeats: whether it does so again. zone: of the time as text."""

    at: int
    repeats: bool
    zone: tzinfo = UTC

    @property
    def text(self) -> str:
        """The time as RFC 3339, with the offset of the zone."""
        if self.zone is UTC:
            return format_exact(self.at)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.at // SECOND)
        text = moment.astimezone(self.zone).isoformat()
        return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def zone_of(name: bytes | None) -> tzinfo | None:
    """Return the time zone of a header value, None if there is none. Raises ApiError."""
    if name is None:
        return None
    try:
        return _zone(name.decode())
    except (ValueError, OSError, KeyError):  # not UTF-8, or a path; a directory; unknown
        raise api_error("JSMessageSchedulesTimeZoneInvalidErr") from None


@lru_cache(maxsize=1024)
def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


def due(pattern: str, zone: tzinfo | None, after: int, now: int, *, in_phase: bool = False) -> Due:
    """Return when a schedule fires next, after it fired or was stored at `after`. Raises ApiError.

    What would have fired several times until `now` is due once, after `now`. in_phase: whether an interval
    counts from `after` all the same.
    """
    try:
        if pattern.startswith("@at "):
            return Due(parse_exact(_without_zone(pattern[4:], zone)), repeats=False)
        if pattern.startswith("@every "):
            return Due(_every(_without_zone(pattern[7:], zone), after, now, in_phase=in_phase), repeats=True)
        pattern, zone = PREDEFINED.get(pattern, pattern), zone or UTC
        at = next_time(pattern, zone, after // SECOND)
        if at * SECOND < now:
            at = next_time(pattern, zone, _rounded(now) // SECOND)
        return Due(at * SECOND, repeats=True, zone=zone)
    except (PatternError, TimestampError, DurationError):
        raise _invalid() from None


def _without_zone(text: str, zone: tzinfo | None) -> str:
    if zone is not None:
        raise _invalid()
    return text


def _every(text: str, after: int, now: int, *, in_phase: bool) -> int:
    interval = parse_go(text)
    if interval < SECOND:
        raise _invalid()
    at = _rounded(after) + interval
    if at >= now:
        return at
    return at + -((at - now) // interval) * interval if in_phase else _rounded(now) + interval


def _rounded(time: int) -> int:
    return (time + SECOND // 2) // SECOND * SECOND


def _invalid() -> ApiError:
    return api_error("JSMessageSchedulesPatternInvalidErr")
