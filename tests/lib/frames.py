"""Rows for the sink: schemas and record batches in a line."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, BinaryType, LongType, MapType, StringType, StructField, StructType

HEADERS = pa.map_(pa.string(), pa.list_(pa.string()))
ARROW = {
    "subject": pa.string(),
    "data": pa.binary(),
    "headers": HEADERS,
    "msg_id": pa.string(),
    "ttl": pa.int64(),
}
SPARK = {
    "subject": StringType(),
    "data": BinaryType(),
    "headers": MapType(StringType(), ArrayType(StringType())),
    "msg_id": StringType(),
    "ttl": LongType(),
}


def schema(*names: str) -> StructType:
    """Return a DataFrame's schema with these of the sink's columns."""
    return StructType([StructField(name, SPARK[name]) for name in names])


def batch(**columns: list[Any]) -> pa.RecordBatch:
    """Return a record batch as Spark provides it."""
    return pa.record_batch({name: pa.array(values, ARROW[name]) for name, values in columns.items()})
