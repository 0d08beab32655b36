"""Backfills: spans of time, what a document must have for them, and that one is bounded and resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lib.jetstream import ALONE
from lib.pipeline_stage import Seen, Stage
from lib.process import ServerProcess
from pyjs.pipeline.declared import backfill
from pyjs.pipeline.declared.backfill import BackfillSpan
from pyjs.pipeline.declared.reading import parse
from pyjs.pipeline.declared.run import Halt, Outcome, play
from pyjs.pipeline.declared.variables import Variables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """
name: p
connection: {servers: s}
trigger: 10s
sources:
  orders: {stream: ORDERS, startingOffsets: earliest, maxOffsetsPerTrigger: 2}
  names: {bucket: names, lastPerSubject: true, as: table}
sinks:
  lake: {from: orders, format: parquet, path: "out/${FROM:-live}"}
"""


def test_a_span_is_of_dates_or_times() -> None:
    span = BackfillSpan.of("2026-11-22", "2026-11-23T08:00:00+02:00")
    assert (span.start, span.end) == (
        datetime(2026, 11, 22, tzinfo=UTC),
        datetime(2026, 11, 23, 6, tzinfo=UTC),
    )
    assert span.name == "2026-11-22--2026-11-23T0800000200"
    for first, last, said in (
        ("2026-11-22", "2026-11-22", "is not before"),
        ("22.11.2026", "2026-11-23", "is no date such as"),
        ("2026-11-22T08:00:00", "2026-11-23", "is no date such as"),
        ("2026-13-22", "2026-11-23", "is no date such as"),
    ):
        with pytest.raises(ValueError, match=said):
            BackfillSpan.of(first, last)


def test_a_document_is_bounded_by_it() -> None:
    span = BackfillSpan.of("2026-11-22", "2026-11-23")
    loaded = parse(TEXT, Path("p.yaml"), variables=Variables(implied=span.variables))
    assert list(backfill.problems(loaded)) == []
    document = backfill.bounded(loaded, span).document
    assert document.trigger == "availableNow"
    assert document.sinks["lake"].path == "out/2026-11-22"  # type: ignore[union-attr]
    found: Any = document.sources["orders"].options
    assert found["startingTimestamp"] == "2026-11-22T00:00:00Z"
    assert found["endingTimestamp"] == "2026-11-23T00:00:00Z"
    assert "endingTimestamp" not in document.sources["names"].options
    assert parse(TEXT, Path("p.yaml")).document.sinks["lake"].path == "out/live"  # type: ignore[union-attr]


def test_a_folder_of_the_pipeline_itself_is_refused() -> None:
    text = TEXT.replace("/${FROM:-live}", "").replace("sinks:", "  k: {format: kafka}\nsinks:")
    found = list(backfill.problems(parse(text, Path("p.yaml"))))
    assert [(each.path, each.line) for each in found] == [("sources.k", 8), ("sinks.lake.path", 10)]
    assert found[1].hint == "put the variable into it, such as out/${FROM:-live}"


@pytest.fixture
def stage(
    spark: SparkSession, serve: Callable[[str], ServerProcess], unique: str, tmp_path: Path
) -> Iterator[Stage]:
    made = Stage(spark, serve(ALONE), unique, tmp_path, messages=9)
    yield made
    made.js.wire.close()


@pytest.mark.parametrize("implementation", ["pyjs"])
def test_a_backfill_reads_its_span_and_goes_on_after_a_stop(stage: Stage) -> None:
    def stored(sequence: int) -> str:
        return str(stage.js.get(stage.name, seq=sequence)["time"])

    def run(until: int = 0) -> tuple[Outcome, Seen]:
        span = BackfillSpan.of(stored(3), stored(8))
        text = TEXT.replace("{servers: s}", f"{{servers: '{stage.server.url}'}}").replace(
            "ORDERS", stage.name
        )
        text = text.replace("  names: {bucket: names, lastPerSubject: true, as: table}\n", "")
        text = text.replace("${FROM:-live}", "${FROM}".replace("FROM", "DAY"))
        loaded = parse(text, stage.folder / "p.yaml", variables=Variables({"DAY": "d"}))
        loaded = backfill.bounded(loaded, span)
        halt = Halt()
        seen = Seen(halt, lambda batch: until if batch.batch == 0 else 0)
        folder = backfill.checkpoint(loaded.document, span, str(stage.folder / "checkpoint"))
        return play(stage.spark, loaded, folder, seen, halt), seen

    outcome, seen = run(until=1)
    assert outcome == Outcome("stopped")
    assert 1 <= len(seen.batches) < 3
    outcome, _ = run()
    assert outcome == Outcome("finished")
    assert sorted(row["sequence"] for row in stage.rows("out/d")) == [3, 4, 5, 6, 7]
    outcome, seen = run()
    assert (outcome, seen.batches) == (Outcome("finished"), [])
