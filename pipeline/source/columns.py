"""The columns of the tables that are read."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from ..jetstream.columns import HEADERS, OF_BUCKETS, names
from ..options import QuerySettings

TYPES: dict[str, DataType] = {
    "subject": StringType(),
    "data": BinaryType(),
    "stream": StringType(),
    "sequence": LongType(),
    "timestamp": TimestampType(),
    HEADERS: MapType(StringType(), ArrayType(StringType())),
    "size": LongType(),
    "domain": StringType(),
    "key": StringType(),
    "operation": StringType(),
}


def schema(settings: QuerySettings) -> StructType:
    """Return the schema of what these settings read."""
    found = StructType()
    for name in names(headers=settings.include_headers, of_bucket=bool(settings.bucket)):
        found.add(name, TYPES[name])
    return found


def chosen(wanted: StructType, settings: QuerySettings) -> tuple[str, ...]:
    """Return the columns of a schema that was given to Spark's reader, in its order. Raises ValueError."""
    there = [name for name in TYPES if settings.bucket or name not in OF_BUCKETS]
    for column in wanted.fields:
        if column.name not in there:
            hint = "; for a bucket name it with option bucket" if column.name in OF_BUCKETS else ""
            raise ValueError(f'there is no column "{column.name}"; there are {", ".join(there)}{hint}')
        known = TYPES[column.name]
        if column.dataType != known:
            raise ValueError(
                f'column "{column.name}" is {known.simpleString()}, not {column.dataType.simpleString()}; '
                "cast it after reading"
            )
    return tuple(wanted.fieldNames())
