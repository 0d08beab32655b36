"""The columns that may be written, validated before any row is."""

from __future__ import annotations

import pytest
from pyjs.pipeline.sink import SinkError, columns
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

TYPES: dict[str, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "double": DoubleType(),
    "struct<a:int>": StructType([StructField("a", IntegerType())]),
    "map<string,string>": MapType(StringType(), StringType()),
    "map<string,int>": MapType(StringType(), IntegerType()),
    "map<string,array<string>>": MapType(StringType(), ArrayType(StringType())),
}


def check(ddl: str, subject: str = "") -> frozenset[str]:
    """Spark's own parser of this text needs a session."""
    pairs = [part.split(" ", 1) for part in ddl.split(", ")]
    return columns.check(StructType([StructField(name, TYPES[kind]) for name, kind in pairs]), subject)


@pytest.mark.parametrize(
    ("ddl", "subject"),
    [
        ("subject string, data binary", ""),
        ("data string", "orders.new"),
        ("data binary, headers map<string,array<string>>, msg_id string, ttl string", "orders.new"),
        ("subject string, data binary, headers map<string,string>, ttl int", ""),
        ("subject string, data binary, ttl bigint", ""),
    ],
)
def test_these_can_be_written(ddl: str, subject: str) -> None:
    assert check(ddl, subject) == {part.split()[0] for part in ddl.split(", ")}


@pytest.mark.parametrize(
    ("ddl", "subject", "text"),
    [
        ("subject string", "", "a column data (binary or string) is missing"),
        ("data binary", "", "from a column subject or from the option subject: there is neither"),
        ("subject string, data binary", "a", "there are both"),
        ("subject string, value binary", "", "no column 'value': select what is to be published as subject,"),
        ("subject string, data binary, header map<string,string>", "", "did you mean headers?"),
        ("subject int, data binary", "", "column subject is int; it must be string: cast it"),
        ("subject string, data struct<a:int>", "", "column data is struct<a:int>; it must be binary or"),
        ("subject string, data string, headers map<string,int>", "", "column headers is map<string,int>"),
        ("subject string, data string, headers string", "", "map<string,array<string>> or"),
        ("subject string, data string, msg_id bigint", "", "column msg_id is bigint; it must be string"),
        ("subject string, data string, ttl double", "", "column ttl is double; it must be string or integer"),
        ("subject string, data string, data binary", "", "columns of the same name"),
    ],
)
def test_these_cannot_and_the_error_says_why(ddl: str, subject: str, text: str) -> None:
    with pytest.raises(SinkError) as raised:
        check(ddl, subject)
    assert text in str(raised.value)
