"""Messages as a table, for the commands that show several of a stream or consumer.

A body is written as `kv get` and `dlq show` write it: as text if all of it can be printed, else as base64;
`encoding` says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...cli.output import NAME, NUMBER, TEXT, TIME, WORD, Column
from ...cli.output.columns import END, Kind
from ..kv.text import encoding, printable

HEADERS = Kind(
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    lambda found: ", ".join(f"{name}: {value}" for name, values in found.items() for value in values),
    END,
)
PLACE = (
    Column("seq", "Sequence", NUMBER),
    Column("subject", "Subject", NAME),
    Column("time", "Time", TIME),
)
CONTENT = (
    Column("headers", "Headers", HEADERS, optional=True),
    Column("data", "Body", TEXT, main=True),
    Column("encoding", "Encoding", WORD, wide=True),
)


def content(headers: Mapping[str, Sequence[str]], body: bytes) -> dict[str, Any]:
    """Return the fields of `CONTENT` for a message."""
    return {
        "headers": {name: list(values) for name, values in headers.items()},
        "data": printable(body),
        "encoding": encoding(body),
    }
