"""Times as text: RFC 3339 with nanoseconds, as in JSON. Values are nanoseconds since the epoch, UTC.

For `format_rfc3339` and `parse_rfc3339`, 0 means "no time". They write it as the zero time
``0001-01-01T00:00:00Z``, and read that as 0 again. `format_exact` and `parse_exact` know no such value. Years
have four digits. The hours beyond them that an offset can reach are written with an offset, too.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

ZERO = "0001-01-01T00:00:00Z"
_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62_167_219_200, 253_402_300_799  # seconds: of the years 0 and 9999
_YEAR_1 = -62_135_596_800
_CYCLE = 146_097 * 86_400  # seconds of 400 years: datetime has no year 0
_FURTHEST = (23 * 60 + 59) * 60  # the largest offset
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)


class TimestampError(ValueError):
    """The text is not an RFC 3339 time."""


def format_rfc3339(ns: int) -> str:
    """Return a time in UTC. The fraction has as many digits as needed, up to nine."""
    return ZERO if ns == 0 else format_exact(ns)


def format_exact(ns: int) -> str:
    """Like `format_rfc3339`, but 0 is the epoch."""
    seconds, fraction = divmod(ns, _SECOND)
    zone = "Z"
    if seconds < _FIRST:
        seconds, zone = seconds + _FURTHEST, "+23:59"
    elif seconds > _LAST:
        seconds, zone = seconds - _FURTHEST, "-23:59"
    text = to_the_second(seconds)
    return f"{text}.{fraction:09d}".rstrip("0") + zone if fraction else text + zone


@lru_cache(maxsize=64)  # times that are written together are mostly of the same few seconds
def to_the_second(seconds: int) -> str:
    """Return a time in s of the years 0 to 9999 as text, without fraction and zone."""
    early = seconds < _YEAR_1
    stamp = _EPOCH + timedelta(seconds=seconds + _CYCLE * early)
    return f"{stamp.year - 400 * early:04d}-{stamp.month:02d}-{stamp.day:02d}T{stamp:%H:%M:%S}"


def parse_rfc3339(text: str) -> int:
    """Read a time with any offset and any number of fraction digits. Digits beyond nine are cut off.

    Raises TimestampError.
    """
    return 0 if text == ZERO else parse_exact(text)


def parse_exact(text: str) -> int:
    """Like `parse_rfc3339`, but the zero time is the first day of the year 1."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise TimestampError(f'invalid time "{text}": use RFC 3339 such as 2026-01-31T15:04:05Z')
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    try:
        stamp = datetime(year or 400, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise TimestampError(f'invalid time "{text}": {error}') from None
    offset = 0
    if found[9]:
        offset = (int(found[10]) * 60 + int(found[11])) * 60
        if offset > _FURTHEST:
            raise TimestampError(f'invalid time "{text}": its offset is more than 23:59')
        if found[9] == "-":
            offset = -offset
    delta = stamp - _EPOCH
    seconds = delta.days * 86_400 + delta.seconds - offset - (0 if year else _CYCLE)
    return seconds * _SECOND + int((found[7] or "")[:9].ljust(9, "0"))
