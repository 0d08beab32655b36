"""Spark's parser on a document's SQL: syntax errors at their lines, and what is said where it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.pipeline.declared import spark_parser
from pyjs.pipeline.declared.reading import LoadedDocument, parse

TEXT = """\
name: p
connection: {servers: s}
sources:
  orders:
    stream: ORDERS
    decode: {format: json, schema: "item STRNG"}
    expect: {a: cents >> > 0, b: cents > 0}
transforms:
  fine: {sql: "SELECT * FROM orders, LATERAL (SELECT 1);"}
  block:
    sql: |
      SELECT item
      FROM orders WHERE )
      GROUP BY item
  line: {sql: SELECT 1 +}
sinks:
  lake: {from: orders, format: parquet, path: out}
"""


def read(text: str) -> LoadedDocument:
    return parse(text, Path("p.yaml"))


@pytest.mark.usefixtures("needs_java")
def test_syntax_errors_are_told_at_their_lines() -> None:
    found = spark_parser.problems(read(TEXT))
    assert [(each.path, each.line) for each in found] == [
        ("sources.orders.decode.schema", 6),
        ("sources.orders.expect.a", 7),
        ("transforms.block.sql", 13),
        ("transforms.line.sql", 15),
    ]
    assert (
        found[0].message
        == '[UNSUPPORTED_DATATYPE] Unsupported data type "STRNG" (line 1, column 6 of the schema)'
    )
    assert found[2].message == "[PARSE_SYNTAX_ERROR] Syntax error at or near ')'"
    assert found[3].message.endswith("end of input (line 1, column 11 of the query)")


def test_nothing_starts_for_a_document_without_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_parser, "_parsing", None)
    lines = [
        line
        for line in TEXT.splitlines()
        if "sql" not in line and "decode" not in line and "expect" not in line
    ]
    text = "\n".join(line for line in lines if not line.startswith(("transforms", "  block", "      ")))
    assert spark_parser.problems(read(text)) == []


def test_without_java_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(spark_parser.ParserError, match="Spark needs Java"):
        spark_parser.problems(read(TEXT))
