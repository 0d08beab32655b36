"""Spans of time and sizes as people write them in documents, exactly."""

from __future__ import annotations

from ..protocol.duration import DAY, format_go

UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def span_text(nanoseconds: int) -> str:
    """Return a span of time as people write it, exactly: `1d`, `2h30m`, `1.5s`."""
    if nanoseconds and nanoseconds % DAY == 0:
        return f"{nanoseconds // DAY}d"
    text = format_go(nanoseconds)
    text = text.removesuffix("0s") if text.endswith("m0s") else text
    return text.removesuffix("0m") if text.endswith("h0m") else text


def size_value(size: int) -> int | str:
    """Return a number of bytes as people write it, exactly: `10MiB`, 1000."""
    for unit, factor in UNITS:
        if size > 0 and size % factor == 0:
            return f"{size // factor}{unit}"
    return size
