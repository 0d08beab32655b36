"""Documents run on Spark: what is read, computed and written, how a run stops, and what failures say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib.jetstream import ALONE
from lib.pipeline_stage import Stage
from lib.process import ServerProcess
from lib.spark_settings import LIMITED
from pyjs.pipeline.declared.progress import Batch
from pyjs.pipeline.declared.run import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FUNCTION = """
from pyspark.sql import functions

@functions.udf("long")
def number(data):
    return int(bytes(data).decode().rpartition(" ")[2])

def numbered(messages):
    return messages.withColumn("number", number("data"))
"""


@pytest.fixture
def stage(
    spark: SparkSession, serve: Callable[[str], ServerProcess], unique: str, tmp_path: Path
) -> Iterator[Stage]:
    made = Stage(spark, serve(ALONE), unique, tmp_path)
    yield made
    made.js.wire.close()


@pytest.mark.parametrize("implementation", ["pyjs"])
def test_a_batch_goes_through_queries_and_functions_into_all_sinks(stage: Stage) -> None:
    (stage.folder / "t.py").write_text(FUNCTION)
    outcome, seen = stage.play("""
trigger: batch
sources:
  messages: {stream: NAME}
transforms:
  numbers: {python: "t.py:numbered", inputs: [messages]}
  halves: {sql: "SELECT subject, count(*) AS n, max(number) AS top FROM numbers GROUP BY ALL ORDER BY 1"}
  back: {sql: "SELECT CAST(top AS STRING) AS data FROM halves"}
sinks:
  files: {from: numbers, format: json, path: out, partitionBy: [subject]}
  screen: {from: halves, format: console, rows: 1}
  stream: {from: back, format: jetstream, stream: NAME, subject: NAME.back}
  base: {from: halves, format: jdbc, url: "jdbc:derby:memory:NAME;create=true", table: halves}
""")
    assert outcome == Outcome("finished")
    assert seen.stages == ["planning: looking at the streams", "in the first batch"]
    assert [(b.sink, b.rows_in, b.rows_out) for b in seen.batches] == [
        ("files", 40, 40),
        ("screen", 40, 1),
        ("stream", 40, 2),
        ("base", 40, 2),  # where streams end is looked at once, for all sinks
    ]
    assert sorted(row["number"] for row in stage.rows("out", "json")) == list(range(40))
    assert seen.shown == [("screen", ["subject", "n", "top"], [[f"{stage.name}.0", "20", "38"]], None)]
    assert sorted(stage.js.stored(stage.name, 41).values()) == [b"38", b"39"]


@pytest.mark.skipif(not LIMITED, reason="Spark 4.1 tells a Python source no limits per trigger")
@pytest.mark.parametrize("implementation", ["pyjs"])
def test_a_stream_goes_on_where_it_was_and_shows_its_lag(stage: Stage) -> None:
    text = """
sources:
  messages: {stream: NAME, startingOffsets: earliest, maxOffsetsPerTrigger: 25}
transforms:
  even: {sql: "SELECT sequence, CAST(data AS STRING) AS data FROM messages WHERE subject LIKE '%.0'"}
sinks:
  files: {from: even, format: parquet, path: out}
  screen: {from: messages, format: console, rows: 1}
"""
    outcome, seen = stage.play(text)
    assert outcome == Outcome("finished")
    reported = [(b.sink, b.batch, b.rows_in, b.rows_out, b.lag) for b in seen.batches]
    assert [line for line in reported if line[0] == "files"] == [
        ("files", 0, 25, 13, 15),
        ("files", 1, 15, 7, 0),
    ]
    assert [line[1:4] for line in reported if line[0] == "screen"] == [(0, 25, 25), (1, 15, 15)]
    assert [total for *_, total in seen.shown] == [25, 15]
    assert all(b.seconds > 0 and b.rate for b in seen.batches)
    stage.publish(40, 44)
    outcome, seen = stage.play(text)
    assert [(b.batch, b.rows_in, b.rows_out) for b in seen.batches if b.sink == "files"] == [(2, 4, 2)]
    assert sorted(row["sequence"] for row in stage.rows("out")) == list(range(1, 45, 2))


CONTINUOUS = """
trigger: 0s
sources:
  messages: {stream: NAME, startingOffsets: earliest, maxOffsetsPerTrigger: 3}
sinks:
  files: {from: messages, format: parquet, path: out}
"""


@pytest.mark.parametrize("implementation", ["pyjs"])
def test_a_stop_waits_for_the_batch_under_way_and_one_at_once_loses_nothing(stage: Stage) -> None:
    published = 40

    def ask(batch: Batch) -> int:
        nonlocal published
        if not LIMITED:  # Spark 4.1, which took all in its first batch: there is something for another one
            stage.publish(published, published + 3)
            published += 3
        return int(batch.batch == 1)

    outcome, seen = stage.play(CONTINUOUS, until=ask)
    assert outcome == Outcome("stopped")
    last = seen.batches[-1].batch
    assert 1 <= last < 13
    names = [each.name for each in (stage.folder / "checkpoint" / "files" / "commits").iterdir()]
    assert sorted(int(name) for name in names if name.isdigit()) == list(range(last + 1))
    committed = {
        Path(json.loads(line)["path"]).name
        for log in (stage.folder / "out" / "_spark_metadata").iterdir()
        if log.name.isdigit()
        for line in log.read_text().splitlines()[1:]
    }
    assert {each.name for each in (stage.folder / "out").glob("*.parquet")} == committed
    stage.publish(published, published + 3)
    outcome, _ = stage.play(CONTINUOUS, until=lambda batch: 2)
    assert outcome == Outcome("interrupted")
    outcome, _ = stage.play(CONTINUOUS.replace("0s", "availableNow"))
    assert outcome == Outcome("finished")
    assert sorted(row["sequence"] for row in stage.rows("out")) == list(range(1, published + 4))


@pytest.mark.parametrize("implementation", ["pyjs"])
def test_failures_are_reported_in_a_line_with_the_place_in_the_document(stage: Stage) -> None:
    (stage.folder / "t.py").write_text("def none(messages): return None\ndef fail(messages): return 1 / 0\n")
    (stage.folder / "full").mkdir()
    (stage.folder / "full" / "x").touch()
    source = "trigger: batch\nsources: {messages: {stream: NAME}}\n"
    sink = "sinks: {out: {from: messages, format: csv, path: out}}\n"
    cases = [
        (source.replace("NAME", "NONE") + sink, "sinks.out: stream NONE not found", ""),
        (
            source + "transforms: {a: {sql: SELECT * FROM nowhere}}\n" + sink,
            r":5:18: .*`nowhere`",
            "above it",
        ),
        (source + "transforms: {a: {python: 't.py:none'}}\n" + sink, "returned NoneType", ""),
        (source + "transforms: {a: {python: 't.py:fail'}}\n" + sink, "division by zero", ""),
        (source + sink.replace("csv, path: out", "json, path: full"), "full already exists", "overwrite"),
        (source + sink.replace("csv, path: out", "delta, path: lake"), "delta", "packages"),
    ]
    for text, said, hint in cases:
        outcome, _ = stage.play(text)
        assert outcome.state == "failed"
        assert "\n" not in outcome.error
        assert outcome.error.startswith(str(stage.folder / "p.yaml") + ":")
        assert re.search(said, outcome.error), outcome.error
        assert hint in outcome.hint
        assert "Traceback" in outcome.detail
