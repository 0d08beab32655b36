"""The columns that the sink accepts: their names, their types, and what each is for."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from .errors import SinkError


@dataclass(frozen=True)
class SinkColumn:
    """A column by its name; `types` says in words what `takes` checks."""

    name: str
    types: str
    doc: str

    def takes(self, found: DataType) -> bool:
        """Return whether the sink can write values of this type."""
        if self.name == "headers":
            return isinstance(found, MapType) and isinstance(found.keyType, StringType) and _value(found)
        if self.name == "data":
            return isinstance(found, (BinaryType, StringType))
        if self.name == "ttl":
            return isinstance(found, (StringType, IntegerType, LongType))
        return isinstance(found, StringType)


def _value(headers: MapType) -> bool:
    value = headers.valueType
    if isinstance(value, ArrayType):
        value = value.elementType
    return isinstance(value, StringType)


COLUMNS = (
    SinkColumn("subject", "string", "where the row is published; or the option `subject` for all rows"),
    SinkColumn("data", "binary or string", "the payload; null is an empty one"),
    SinkColumn(
        "headers",
        "map<string,array<string>> or map<string,string>",
        "the message's headers; null for none",
    ),
    SinkColumn("msg_id", "string", "`Nats-Msg-Id`: a stream stores an id once in its duplicate window"),
    SinkColumn(
        "ttl",
        "string or integer",
        "`Nats-TTL`, how long the stream keeps it: seconds, `1h`, `never`; null: as the stream says",
    ),
)
NAMES = tuple(column.name for column in COLUMNS)


def check(schema: StructType, subject: str) -> frozenset[str]:
    """Check the columns of a DataFrame and return their names; `subject` is the option's, "" without it.

    Raises SinkError that names the column: one that the sink does not know, one of a wrong type, a missing
    `data`, and a subject that is missing or given twice.
    """
    for field in schema.fields:
        known = next((column for column in COLUMNS if column.name == field.name), None)
        if known is None:
            near = difflib.get_close_matches(field.name, NAMES, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise SinkError(
                f"the sink has no column {field.name!r}: {hint}select what is to be published as "
                f"{', '.join(NAMES)}"
            )
        if not known.takes(field.dataType):
            raise SinkError(
                f"column {field.name} is {field.dataType.simpleString()}; it must be {known.types}: cast it"
            )
    found = frozenset(schema.fieldNames())
    if "data" not in found:
        raise SinkError("a column data (binary or string) is missing: it is the messages' payload")
    if len(found) < len(schema.fields):
        raise SinkError(f"columns of the same name: {', '.join(schema.fieldNames())}")
    if ("subject" in found) == bool(subject):
        why = "there are both" if subject else "there is neither"
        raise SinkError(f"the subject comes from a column subject or from the option subject: {why}")
    return found
