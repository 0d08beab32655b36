"""Cron patterns of six fields (second, minute, hour, day of month, month, day of week), and when they fire.

Promises:
- The result is nats-server's, also where clocks are changed: hours and less advance by elapsed time, days and
  months by the calendar of the time zone.
- A pattern that fires in none of the next five years raises PatternError. Looking for it takes milliseconds.

No library on PyPI counts as nats-server does, whose rules for changed clocks, `?` and steps are its own.
Source: nats-server's server/cron.go.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

MOST = 4096  # characters of a pattern
YEARS = 5
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PatternError(ValueError):
    """The text is not a pattern, or one that never fires."""


class _Bounds(NamedTuple):
    """What a field may be: from `low` to `high`, or one of `names`, of which the first is `low`."""

    low: int
    high: int
    names: tuple[str, ...] = ()


class _Field(NamedTuple):
    """What a field allows. star: whether it does not restrict anything."""

    values: frozenset[int]
    star: bool


_BOUNDS = (
    _Bounds(0, 59),
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _MONTHS),
    _Bounds(0, 6, _DAYS),
)


def next_time(pattern: str, zone: tzinfo, after: int) -> int:
    """Return the first second after `after` at which the pattern fires; both in seconds since the epoch.

    Raises PatternError.
    """
    return _Search(_fields(pattern), zone, after + 1).run()


@lru_cache(maxsize=256)
def _fields(pattern: str) -> list[_Field]:
    texts = pattern.split() if len(pattern) <= MOST else []
    if len(texts) != len(_BOUNDS):
        raise PatternError("a pattern has six fields")
    return [_field(text, bounds) for text, bounds in zip(texts, _BOUNDS, strict=True)]


def _field(text: str, bounds: _Bounds) -> _Field:
    values: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        found, unrestricted = _range(part, bounds)
        values.update(found)
        star = star or unrestricted
    if not values:
        raise PatternError(f"nothing is allowed: {text}")
    return _Field(frozenset(values), star)


def _range(text: str, bounds: _Bounds) -> tuple[range, bool]:
    """Read `*`, a number or `low-high`, each with a step or without."""
    ends, *steps = text.split("/")
    low, *highs = ends.split("-")
    star = low in {"*", "?"}
    if star:
        first, last = bounds.low, bounds.high
    elif len(highs) > 1:
        raise PatternError(f"too many hyphens: {text}")
    else:
        first = _number(low, bounds)
        last = _number(highs[0], bounds) if highs else first
    if len(steps) > 1:
        raise PatternError(f"too many slashes: {text}")
    step = 1
    if steps:
        step = _number(steps[0])
        last = last if highs else bounds.high
        star = star and step <= 1
    if step == 0 or not bounds.low <= first <= last <= bounds.high:
        raise PatternError(f"out of range: {text}")
    return range(first, last + 1, step), star


def _number(text: str, bounds: _Bounds = _BOUNDS[0]) -> int:
    name = text.lower()
    if name in bounds.names:
        return bounds.low + bounds.names.index(name)
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise PatternError(f"not a number: {text}")
    return int(digits)


class _Search:
    """The search for the next time: a moment (seconds since the epoch) that moves on field by field."""

    def __init__(self, fields: list[_Field], zone: tzinfo, start: int) -> None:
        self._seconds, self._minutes, self._hours = (field.values for field in fields[:3])
        self._days, self._months, self._weekdays = fields[3:]
        self._zone = zone
        self._cut = False  # whether smaller fields than the one that moves are at their beginning
        self._go(start)

    def _go(self, moment: int) -> None:
        self._moment = moment
        try:
            self._wall = (_EPOCH + timedelta(seconds=moment)).astimezone(self._zone)
        except OverflowError:
            raise PatternError("it never fires") from None

    def run(self) -> int:
        last = self._wall.year + YEARS
        while self._wall.year <= last:
            if self._month() and self._day() and self._hour() and self._minute() and self._second():
                return self._moment
        raise PatternError("it never fires")

    # Each of these moves to the next value that its field allows; False if a larger field changed meanwhile.

    def _month(self) -> bool:
        while self._wall.month not in self._months.values:
            if not self._cut:
                self._cut = True
                self._calendar(day=1)
            wall = self._wall
            self._go(
                self._at(wall.year + wall.month // 12, wall.month % 12 + 1, wall.day, self._time_of_day())
            )
            if self._wall.month == 1:
                return False
        return True

    def _day(self) -> bool:
        while not self._is_day():
            if not self._cut:
                self._cut = True
                self._calendar()
            wall = self._wall
            self._go(self._at(wall.year, wall.month, wall.day + 1, self._time_of_day()))
            if self._wall.day == 1:
                return False
        return True

    def _is_day(self) -> bool:
        of_month = self._wall.day in self._days.values
        of_week = self._wall.isoweekday() % 7 in self._weekdays.values
        if self._days.star or self._weekdays.star:
            return of_month and of_week
        return of_month or of_week

    def _hour(self) -> bool:
        while self._wall.hour not in self._hours:
            if not self._cut:
                self._cut = True
                wall = self._wall
                self._go(self._at(wall.year, wall.month, wall.day, wall.hour * 3600))
            self._go(self._moment + 3600)
            if self._wall.hour == 0:
                return False
        return True

    def _minute(self) -> bool:
        while self._wall.minute not in self._minutes:
            if not self._cut:
                self._cut = True
                self._go(self._moment // 60 * 60)
            self._go(self._moment + 60)
            if self._wall.minute == 0:
                return False
        return True

    def _second(self) -> bool:
        while self._wall.second not in self._seconds:
            self._cut = True
            self._go(self._moment + 1)
            if self._wall.second == 0:
                return False
        return True

    def _calendar(self, day: int = 0) -> None:
        """Go back to the beginning of the day, or of that day of the month."""
        self._go(self._at(self._wall.year, self._wall.month, day or self._wall.day, 0))

    def _time_of_day(self) -> int:
        wall = self._wall
        return wall.hour * 3600 + wall.minute * 60 + wall.second

    def _at(self, year: int, month: int, day: int, seconds: int) -> int:
        """Return the moment of a time on the wall; a day beyond the month's end is one of the next month.

        A time that clocks skip or show twice gets one of the two offsets, as Go chooses it.
        """
        try:
            local = datetime(year, month, 1, tzinfo=UTC) - _EPOCH
        except ValueError:
            raise PatternError("it never fires") from None
        moment = local.days * 86_400 + (day - 1) * 86_400 + seconds
        offset = self._offset(moment)
        return moment - self._offset(moment - offset) if offset else moment

    def _offset(self, moment: int) -> int:
        offset = (_EPOCH + timedelta(seconds=moment)).astimezone(self._zone).utcoffset()
        return 0 if offset is None else int(offset.total_seconds())
