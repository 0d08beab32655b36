"""Decoding payloads: a column of bytes becomes columns, by Spark's own functions.

What counts as not decodable is what Spark notices: bytes that are not of the format, values that are not of
the type in the schema, and empty payloads. Spark takes no notice of what follows a complete JSON value. For
Avro and Protobuf it makes a record of nulls of what it cannot read, so a record all of whose fields are null
counts as not decodable.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from .section import option_text
from .table_steps import Decoding

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FAILED = "__pyjs_undecoded"
_VALUE, _CORRUPT = "__pyjs_value", "__pyjs_corrupt"


class StepError(ValueError):
    """A step cannot be made of this table, whatever the rows have; `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def decoded(frame: DataFrame, how: Decoding, schema: str, folder: Path) -> DataFrame:
    """Return the table with what the column holds as columns, and in FAILED whether it could not be decoded.

    schema: Spark's DDL for json and csv, else what the document has
    folder: where relative paths start

    Columns whose names begin with `__pyjs_` stay. Raises StepError.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    require(frame, how.column)
    payload = functions.col(f"`{how.column}`")
    frame = frame.withColumn(_VALUE, _value(payload, how, schema, folder))
    kind = frame.schema[_VALUE].dataType
    if not isinstance(kind, StructType):
        raise StepError("the schema is not that of a record, whose fields could be columns")
    fields = [name for name in kind.names if name != _CORRUPT]
    kept = _kept(frame, how, [how.into] if how.into else fields)
    inside = [functions.col(f"{_VALUE}.`{name}`").alias(name) for name in fields]
    made = [functions.struct(*inside).alias(how.into)] if how.into else inside
    failed = functions.col(_VALUE).isNull() | (functions.octet_length(payload) == 0) | payload.isNull()
    if how.format in {"json", "csv"}:
        failed |= functions.col(f"{_VALUE}.{_CORRUPT}").isNotNull()
    else:
        nulls = [functions.col(f"{_VALUE}.`{name}`").isNull() for name in fields]
        failed |= functools.reduce(lambda one, other: one & other, nulls)
    return frame.select(*made, *(f"`{name}`" for name in kept), failed.alias(FAILED))


def _value(payload: Column, how: Decoding, schema: str, folder: Path) -> Column:
    from pyspark.sql import functions

    options = {"mode": "PERMISSIVE", **{key: option_text(value) for key, value in how.options.items()}}
    if how.format in {"json", "csv"}:
        read = functions.from_json if how.format == "json" else functions.from_csv
        shape = f"{schema.strip().rstrip(',')}, {_CORRUPT} STRING"
        return read(payload.cast("string"), shape, {**options, "columnNameOfCorruptRecord": _CORRUPT})
    if how.format == "avro":
        from pyspark.sql.avro.functions import from_avro

        return from_avro(payload, _avro(schema, folder), options)
    from pyspark.sql.protobuf.functions import from_protobuf

    file = folder / Path(str(how.descriptor)).expanduser()
    if not file.is_file():
        raise StepError(f"there is no {file}", "protoc --include_imports --descriptor_set_out=FILE makes it")
    return from_protobuf(payload, str(how.message), str(file), options)


def _avro(schema: str, folder: Path) -> str:
    """Return Avro's JSON: `schema` itself, or what is in the file of that name."""
    if schema.lstrip()[:1] in {"{", "[", '"'}:
        return schema
    try:
        return (folder / Path(schema).expanduser()).read_text(encoding="utf-8")
    except OSError as error:
        raise StepError(f"cannot read {schema}: {error.strerror}", f"looked in {folder}") from None


def _kept(frame: DataFrame, how: Decoding, made: list[str]) -> list[str]:
    """Return the columns that stay besides those that are made."""
    hidden = [name for name in frame.columns if name.startswith("__pyjs_") and name != _VALUE]
    shown = [name for name in frame.columns if name not in (*hidden, _VALUE)]
    for name in how.keep or ():
        require(frame, name)
    kept = [name for name in shown if name != how.column] if how.keep is None else how.keep
    twice = sorted({name.lower() for name in kept} & {name.lower() for name in made})
    if twice:
        raise StepError(
            f"{twice[0]} is a field of what is decoded, and a column of the table",
            "keep: [stream, sequence] names the columns that stay, into: NAME puts all fields into one",
        )
    return [*kept, *hidden]


def require(frame: DataFrame, column: str) -> None:
    """Raise StepError if a table has no such column."""
    if column not in frame.columns:
        names = [name for name in frame.columns if not name.startswith("__pyjs_")]
        raise StepError(f"there is no column {column}", f"there are {', '.join(names)}")
