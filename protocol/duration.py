"""Durations as text, in the grammars of the `nats` tool and of Go. Values are integer nanoseconds.

`parse` reads the tool's grammar: a sum of numbers with units. The units are ``ns us µs ms s m h``, ``d D``
(24 hours), ``w W`` (7 days), ``M`` (30 days) and ``y Y`` (365 days). Numbers may have fractions, and
a leading ``-`` negates the whole. A bare number, such as ``-1``, is not a duration, except for ``0``. A
caller that takes -1 for "unlimited" must check for it first.
"""

import re

NANOSECOND = 1
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY
MONTH = 30 * DAY
YEAR = 365 * DAY
MAX = (1 << 63) - 1

_GO_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,  # U+00B5 micro sign
    "\u03bcs": MICROSECOND,  # Greek letter mu
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_LONG_UNITS = {"d": DAY, "D": DAY, "w": WEEK, "W": WEEK, "M": MONTH, "y": YEAR, "Y": YEAR}
_GO_PIECE = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|\u03bcs|ms|s|m|h)", re.ASCII)
_PIECE = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|\u03bcs|ms|[smhdDwWMyY])", re.ASCII)


class DurationError(ValueError):
    """The text is not a duration."""


def parse(text: str) -> int:
    """Read a duration as the `nats` tool does, e.g. ``1d12h``, ``2m0s``, ``1.5y``. Return nanoseconds.

    Raises DurationError, also for a bare number, for junk between or after the pieces and beyond 292 years.
    """
    return _parse(text, _PIECE, "use a number with a unit such as 30s, 5m, 2h, 1d, 1w, 1M or 1y")


def parse_go(text: str) -> int:
    """Read a duration in Go's grammar, with units up to ``h``. Return nanoseconds. Raises DurationError."""
    return _parse(text, _GO_PIECE, "use a number with a unit such as 500ms, 30s, 5m or 2h")


def _parse(text: str, piece: re.Pattern[str], hint: str) -> int:
    body = text[1:] if text[:1] in {"-", "+"} else text
    if body == "0":
        return 0
    if not body:
        raise DurationError(f'invalid duration "{text}": {hint}')
    total = 0
    at = 0
    while at < len(body):
        found = piece.match(body, at)
        if found is None:
            what = "missing unit in" if body[at:].replace(".", "").isdigit() else "invalid"
            raise DurationError(f'{what} duration "{text}": {hint}')
        total += _scale(found[1], _GO_UNITS.get(found[2]) or _LONG_UNITS[found[2]])
        at = found.end()
    if total > MAX:
        raise DurationError(f'invalid duration "{text}": it is longer than 292 years')
    return -total if text[0] == "-" else total


def _scale(number: str, unit: int) -> int:
    """Multiply a decimal number by a unit without going through floats."""
    whole, _, fraction = number.partition(".")
    value = int(whole or "0") * unit
    if fraction:
        value += int(fraction) * unit // 10 ** len(fraction)
    return value


def format_go(nanoseconds: int) -> str:
    """Write a duration as Go does: ``2m0s``, ``1.5s``, ``100ms``, ``0s``."""
    if nanoseconds == 0:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    value = abs(nanoseconds)
    if value < SECOND:
        for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "µs"), (NANOSECOND, "ns")):
            if value >= unit:
                return f"{sign}{_decimal(value, unit)}{name}"
    hours, rest = divmod(value, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    if minutes:
        return f"{sign}{minutes}m{seconds}"
    return sign + seconds


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    width = len(str(unit)) - 1
    return f"{whole}.{rest:0{width}d}".rstrip("0")
