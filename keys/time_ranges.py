"""Hours of the day during which a user may be connected."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000_000


def window_end(spans: list[tuple[str, str]], location: str, local: tzinfo, now: int) -> int:
    """Return the end (ns) of the window that contains `now`.

    The latest if there are several, 0 if there is none.

    spans: (start, end) as `HH:MM:SS`; an end before its start is on the next day.
    location: the IANA name of their zone, "" for `local`.

    A span or zone that cannot be read admits nobody.
    """
    from .claims.parts import clock, zone

    place: tzinfo | None = zone(location) if location else local
    if place is None:
        return 0
    moment = (_EPOCH + timedelta(microseconds=now // 1000)).astimezone(place)
    latest = 0
    for start_text, end_text in spans:
        start_clock, end_clock = clock(start_text), clock(end_text)
        if start_clock is None or end_clock is None:
            return 0
        start, end = _at(moment, start_clock), _at(moment, end_clock)
        if start > end and not end > moment:
            end = _at(moment + timedelta(days=1), end_clock)
        elif start > end:
            start = _at(moment - timedelta(days=1), start_clock)
        if start < moment < end:
            latest = max(latest, _nanoseconds(end))
    return latest


def _at(day: datetime, clock: tuple[int, int, int]) -> datetime:
    hour, minute, second = clock
    return day.replace(hour=hour, minute=minute, second=second, microsecond=0)


def _nanoseconds(moment: datetime) -> int:
    delta = moment.astimezone(UTC) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * _SECOND
