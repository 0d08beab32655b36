"""Other formats of Spark in documents: tables to join, streams of files, and sinks, on real Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib.jetstream import ALONE
from lib.pipeline_stage import Stage
from lib.process import ServerProcess
from pyjs.pipeline.declared.run import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.parametrize("implementation", ["pyjs"])


@pytest.fixture
def stage(
    spark: SparkSession, serve: Callable[[str], ServerProcess], unique: str, tmp_path: Path
) -> Iterator[Stage]:
    made = Stage(spark, serve(ALONE), unique, tmp_path, messages=4)
    yield made
    made.js.wire.close()


def test_a_stream_is_joined_with_files_a_database_and_a_bucket(stage: Stage) -> None:
    spark, name = stage.spark, stage.name
    spark.sql("SELECT 0 AS half, 'even' AS word UNION ALL SELECT 1, 'odd'").write.parquet(
        f"{stage.folder}/words"
    )
    url = f"jdbc:derby:memory:{name};create=true"
    spark.sql("SELECT 0 AS half, 10 AS price").write.jdbc(url, "prices")
    (stage.folder / "in").mkdir()
    (stage.folder / "in" / "a.json").write_text('{"n": 7}\n{"n": 8}\n')
    stage.js.create(f"KV_{name}", subjects=[f"$KV.{name}.>"], max_msgs_per_subject=1, allow_direct=True)
    stage.js.publish(f"$KV.{name}.0", b"zero")
    outcome, seen = stage.play(f"""
sources:
  messages: {{stream: NAME, startingOffsets: earliest}}
  words: {{format: parquet, path: words}}
  prices: {{format: jdbc, options: {{url: "{url}", dbtable: prices}}}}
  names: {{bucket: NAME, lastPerSubject: true, as: table}}
  files: {{format: json, as: stream, path: in, schema: n INT}}
transforms:
  halves: {{sql: "SELECT CAST(split_part(subject, '.', 2) AS INT) AS half, sequence FROM messages"}}
  joined:
    sql: |
      SELECT h.sequence, w.word, p.price, CAST(n.data AS STRING) AS name
      FROM halves h JOIN words w ON h.half = w.half
      LEFT JOIN prices p ON p.half = h.half LEFT JOIN names n ON n.key = CAST(h.half AS STRING)
sinks:
  lake: {{from: joined, format: orc, path: out}}
  copies: {{from: files, format: json, path: copies}}
""")
    assert outcome == Outcome("finished")
    assert sorted(tuple(row) for row in stage.rows("out", "orc")) == [
        (1, "even", 10, "zero"),
        (2, "odd", None, None),
        (3, "even", 10, "zero"),
        (4, "odd", None, None),
    ]
    lines = [
        line for file in (stage.folder / "copies").glob("*.json") for line in file.read_text().splitlines()
    ]
    assert sorted(json.loads(line)["n"] for line in lines) == [7, 8]
    assert {batch.sink: batch.rows_out for batch in seen.batches} == {"lake": 4, "copies": 2}


def test_a_table_without_a_stream_is_no_streaming_sink(stage: Stage) -> None:
    stage.spark.range(1).write.parquet(f"{stage.folder}/words")
    outcome, _ = stage.play("""
sources:
  messages: {stream: NAME}
  words: {format: parquet, path: words}
sinks:
  lake: {from: words, format: orc, path: out}
""")
    assert outcome.state == "failed"
    assert "sinks.lake: words reads no stream" in outcome.error
    assert "trigger: batch" in outcome.hint


def test_a_format_that_spark_does_not_have_is_told_with_its_place(stage: Stage) -> None:
    outcome, _ = stage.play("""
trigger: batch
sources:
  messages: {stream: NAME}
  own: {format: com.acme.Source}
sinks:
  lake: {from: messages, format: com.acme.Sink}
""")
    assert outcome.state == "failed"
    assert "sources.own: " in outcome.error
    assert "com.acme.Source" in outcome.error
    assert "spark: {packages:" in outcome.hint
