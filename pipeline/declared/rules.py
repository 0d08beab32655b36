"""Expectations: which rows go on, which are dead letters, and how many of each rule a batch had.

A table's rows carry their origin (ORIGIN) and what is wrong with them until the table is made. Rows that are
dropped form a second table, of dead letters: step STRING (the table), reason STRING, stream STRING, sequence
BIGINT, subject STRING, timestamp TIMESTAMP, data BINARY. Of a row that comes from no message the place is
null, and the data is the row as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .decoding import FAILED
from .table_steps import DROP, FAIL, Decoding, Expectation, TableSection

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation

METRICS = "rules:"  # before the table's name, where Spark reports counts
DECODE = "decode"  # the rule that payloads decode
ORIGIN, REASON, ERROR = "__pyjs_origin", "__pyjs_reason", "__pyjs_error"
HIDDEN = (ORIGIN, REASON, ERROR, FAILED)


@dataclass(frozen=True)
class Ruled:
    """A table that its rules were applied to.

    table: the rows that go on, with the columns of before
    letters: the rows that do not, as dead letters; None if there can be none
    counts: where a batch query says how many rows broke each rule; None for a stream, whose progress does
    """

    table: DataFrame
    letters: DataFrame | None
    counts: Observation | None = None


def with_origin(frame: DataFrame, column: str) -> DataFrame:
    """Return the table with a column ORIGIN: where each row is from, and its payload.

    column: the payload; without such a column of bytes or text, the row as JSON is
    """
    from pyspark.sql import functions
    from pyspark.sql.types import BinaryType, StringType

    parts: list[Column] = []
    for name, kind in (
        ("stream", "string"),
        ("sequence", "bigint"),
        ("subject", "string"),
        ("timestamp", "timestamp"),
    ):
        value = functions.col(f"`{name}`") if name in frame.columns else functions.lit(None)
        parts.append(value.try_cast(kind).alias(name))
    whole = functions.to_json(functions.struct(*(f"`{name}`" for name in frame.columns)))
    payload = column in frame.columns and isinstance(frame.schema[column].dataType, BinaryType | StringType)
    data = functions.col(f"`{column}`") if payload else whole
    return frame.withColumn(ORIGIN, functions.struct(*parts, data.cast("binary").alias("data")))


def ruled(frame: DataFrame, name: str, section: TableSection, *, observed: bool = False) -> Ruled:
    """Return the table without the rows that it should not have.

    frame: with ORIGIN, and with FAILED if it was decoded
    observed: whether to count by an Observation, as batch queries have to
    """
    from pyspark.sql import Observation, functions

    broken = _broken(section)
    frame = frame.withColumns(
        {
            REASON: _first(broken, section, DROP),
            ERROR: _first(broken, section, FAIL),
        }
    )
    counts = [functions.count_if(each).alias(rule) for rule, each in broken.items()]
    metrics: Any = Observation(METRICS + name) if observed else METRICS + name
    place = [
        functions.coalesce(functions.col(f"{ORIGIN}.{part}").cast("string"), functions.lit("-"))
        for part in ("stream", "sequence")
    ]
    where = functions.concat(
        functions.lit(" (stream "), place[0], functions.lit(", sequence "), place[1], functions.lit(")")
    )
    error = functions.raise_error(functions.concat(functions.lit(f"{name}: "), functions.col(ERROR), where))
    goes_on = functions.when(functions.col(ERROR).isNotNull(), error.cast("boolean")).otherwise(
        functions.col(REASON).isNull()
    )
    letters = None
    if section.drops:
        letters = frame.where(functions.col(REASON).isNotNull()).select(
            functions.lit(name).alias("step"), functions.col(REASON).alias("reason"), f"{ORIGIN}.*"
        )
    table = frame.observe(metrics, *counts).where(goes_on).drop(*HIDDEN)
    return Ruled(table, letters, metrics if observed else None)


def counted(progress: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts that are not zero of a streaming query's report, by TABLE.RULE."""
    found: dict[str, int] = {}
    for name, row in (progress.get("observedMetrics") or {}).items():
        if name.startswith(METRICS):
            found |= named(name.removeprefix(METRICS), _fields(row))
    return found


def named(table: str, counts: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts that are not zero by TABLE.RULE."""
    return {f"{table}.{rule}": int(count) for rule, count in counts.items() if count}


def meaning(tables: Mapping[str, TableSection]) -> dict[str, str]:
    """Return what becomes of a row that breaks a rule, by TABLE.RULE: `fail`, `drop` or `warn`."""
    found: dict[str, str] = {}
    for name, table in tables.items():
        if table.decode:
            found[f"{name}.{DECODE}"] = table.decode.otherwise
        found |= {f"{name}.{rule}": each.otherwise for rule, each in table.expect.items()}
    return found


def _broken(section: TableSection) -> dict[str, Column]:
    """Return for each rule whether a row breaks it; a row that did not decode breaks only that."""
    from pyspark.sql import functions

    found: dict[str, Column] = {}
    fine = functions.lit(True)
    if section.decode:
        found[DECODE] = functions.col(FAILED)
        fine = ~functions.col(FAILED)
    for rule, each in section.expect.items():
        holds = functions.coalesce(functions.expr(each.sql).cast("boolean"), functions.lit(False))
        found[rule] = fine & ~holds
    return found


def _first(broken: Mapping[str, Column], section: TableSection, otherwise: str) -> Column:
    """Return the text of the first broken rule that has this consequence, null if there is none."""
    from pyspark.sql import functions

    texts = [functions.lit(None).cast("string")]
    for rule, each in broken.items():
        step: Decoding | Expectation
        if rule == DECODE and section.decode:
            step = section.decode
            text = f"the payload is not {step.format} of the schema"
        else:
            step = section.expect[rule]
            text = f"{rule}: not {step.sql}"
        if step.otherwise == otherwise:
            texts.append(functions.when(each, functions.lit(text)))
    return functions.coalesce(*texts[1:], texts[0])


def _fields(row: Any) -> Mapping[str, Any]:
    """Return a row of metrics by field: of this process' session, or the JSON of a remote one."""
    if isinstance(row, Mapping):
        names = [field["name"] for field in row["schema"]["fields"]]
        return dict(zip(names, row["values"], strict=True))
    fields: Mapping[str, Any] = row.asDict()
    return fields
