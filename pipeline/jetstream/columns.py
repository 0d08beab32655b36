"""The columns of a record batch: their names and Arrow types, in the order of the data source's schema."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

HEADERS = "headers"
COLUMNS: dict[str, pa.DataType] = {
    "subject": pa.string(),
    "data": pa.binary(),
    "stream": pa.string(),
    "sequence": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    HEADERS: pa.map_(pa.string(), pa.list_(pa.string())),
    "size": pa.int64(),  # bytes of subject, headers and payload
    "domain": pa.string(),
}


def schema(columns: Sequence[str]) -> pa.Schema:
    """The Arrow schema of these columns, in this order. Raises KeyError for an unknown one."""
    return pa.schema([(name, COLUMNS[name]) for name in columns])


def names(*, headers: bool) -> tuple[str, ...]:
    """All columns, with the headers only when asked for."""
    return tuple(name for name in COLUMNS if headers or name != HEADERS)
