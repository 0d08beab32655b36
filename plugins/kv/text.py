"""Values and times of buckets as text for a terminal."""

from __future__ import annotations

import base64
from datetime import datetime

SECOND = 1_000_000_000
SHORT = 40  # letters of a value in a table
ENDS = 15


def printable(value: bytes) -> str:
    """Return a value as text if all of it can be printed, else as base64."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode("ascii")
    return text if text.isprintable() else base64.b64encode(value).decode("ascii")


def shortened(value: bytes) -> str:
    """Return a value as one short cell of a table."""
    text = printable(value)
    return f"{text[:ENDS]}...{text[-ENDS:]}" if len(text) > SHORT else text


def moment(nanoseconds: int) -> str:
    """Return a time as local time, to the second: `2021-06-28 12:52:29`."""
    return f"{datetime.fromtimestamp(nanoseconds // SECOND).astimezone():%Y-%m-%d %H:%M:%S}"


def encoding(value: bytes) -> str:
    """Return how `printable` writes a value: `text` or `base64`."""
    return "text" if printable(value).encode() == value else "base64"
