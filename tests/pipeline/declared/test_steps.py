"""Steps of tables on Spark: payloads decoded, expectations, dead letters, masks, and how they are counted."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lib.jetstream import ALONE
from lib.pipeline_stage import Stage
from lib.process import ServerProcess
from pyjs.pipeline.declared.run import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.parametrize("implementation", ["pyjs"])
SECRET = "0123456789abcdef-tea"


@pytest.fixture
def stage(
    spark: SparkSession,
    serve: Callable[[str], ServerProcess],
    unique: str,
    tmp_path: Path,
) -> Iterator[Stage]:
    (tmp_path / "key").write_text(SECRET)  # workers have the environment of Spark's start, and no later one
    made = Stage(spark, serve(ALONE), unique, tmp_path, messages=0)
    made.js.create(f"{unique}_DEAD", subjects=[f"{unique}_dead"], allow_direct=True)
    yield made
    made.js.wire.close()


def publish(stage: Stage, *payloads: bytes) -> None:
    for payload in payloads:
        stage.js.publish(f"{stage.name}.new", payload)


ORDERS = (
    b'{"item": "tea", "cents": 420, "who": {"mail": "a@b.c", "card": "4000123412349999"}}',
    b'{"item": "tea", "cents": "much"}',
    b"",
    b'{"item": "coffee", "cents": -1, "who": {"mail": "d@e.f"}}',
    b'{"item": "milk", "cents": 5000, "who": null}',
    b"\xff\xfe",
    b'{"cents": 7}',
)
STEPS = """
    decode: {format: json, schema: "item STRING, cents BIGINT, who STRUCT<mail: STRING, card: STRING>",
      keep: [stream, sequence], otherwise: drop}
    expect:
      positive: {sql: "cents > 0", otherwise: drop}
      named: {sql: "item <> ''", otherwise: drop}
      cheap: {sql: "cents < 1000", otherwise: warn}
    mask:
      who.mail: {method: hmac, secret: "file://KEY"}
      who.card: {method: redact, last: 4}
"""
BATCH = """
trigger: batch
sources:
  orders:
    stream: NAME
STEPS
transforms:
  items: {sql: "SELECT item, cents, sequence, who.mail, who.card FROM orders"}
sinks:
  lake: {from: items, format: parquet, path: out}
  again: {from: items, format: orc, path: out2}
  dead: {from: deadLetters, format: parquet, path: dead}
  letters: {from: deadLetters, format: jetstream, stream: NAME_DEAD, subject: NAME_dead}
"""
DROPPED = [
    (2, "the payload is not json of the schema"),
    (3, "the payload is not json of the schema"),
    (4, "positive: not cents > 0"),
    (6, "the payload is not json of the schema"),
    (7, "named: not item <> ''"),
]
COUNTS = {"orders.decode": 3, "orders.positive": 1, "orders.named": 1, "orders.cheap": 1}


def test_rows_are_decoded_checked_and_masked_and_none_is_lost(stage: Stage) -> None:
    publish(stage, *ORDERS)
    outcome, seen = stage.play(BATCH.replace("STEPS", STEPS.replace("KEY", str(stage.folder / "key"))))
    assert outcome == Outcome("finished")
    mail = hmac.new(SECRET.encode(), b"a@b.c", hashlib.sha256).hexdigest()
    rows = sorted(tuple(row) for row in stage.rows("out"))
    assert rows == [("milk", 5000, 5, None, None), ("tea", 420, 1, mail, "****9999")]
    assert sorted(tuple(row) for row in stage.rows("out2", "orc")) == rows
    dead = sorted(stage.rows("dead"), key=lambda row: row["sequence"])
    assert [(row["sequence"], row["reason"]) for row in dead] == DROPPED
    assert {(row["step"], row["stream"], row["subject"]) for row in dead} == {
        ("orders", stage.name, f"{stage.name}.new")
    }
    assert [bytes(row["data"]) for row in dead] == [ORDERS[number - 1] for number, _ in DROPPED]
    counted = {batch.sink: dict(batch.rules) for batch in seen.batches}
    assert counted == {"lake": COUNTS, "again": {}, "dead": {}, "letters": {}}
    assert sorted(stage.js.stored(f"{stage.name}_DEAD", 1).values()) == sorted(
        bytes(row["data"]) for row in dead
    )
    header = stage.js.get(f"{stage.name}_DEAD", seq=1)["hdrs"]
    text = base64.b64decode(header).decode()
    assert "Pyjs-Dead-Letter-Step: orders\r\n" in text
    assert f"Pyjs-Dead-Letter-Stream: {stage.name}\r\n" in text


def test_a_stream_counts_what_it_drops_and_goes_on_with_its_schema(stage: Stage) -> None:
    publish(stage, *ORDERS)
    text = """
sources:
  orders: {stream: NAME, startingOffsets: earliest,
    decode: {format: json, sample: 100, keep: [sequence], otherwise: drop},
    expect: {named: {sql: "item <> ''", otherwise: drop}}}
sinks:
  lake: {from: orders, format: json, path: out}
  dead: {from: deadLetters, format: json, path: dead}
"""
    outcome, seen = stage.play(text)
    assert outcome == Outcome("finished")
    (lake,) = [batch for batch in seen.batches if batch.sink == "lake"]
    assert (lake.rows_in, lake.rows_out, dict(lake.rules)) == (7, 4, {"orders.decode": 2, "orders.named": 1})
    found = (stage.folder / "checkpoint" / ".schemas" / "orders.ddl").read_text()
    assert found == "`cents` string, `item` string, `who` struct<card:string,mail:string>"
    publish(stage, b'{"item": "jam", "cents": 1, "new": true}')
    outcome, seen = stage.play(text)
    assert outcome == Outcome("finished")
    rows = [
        json.loads(line)
        for file in (stage.folder / "out").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    assert {"cents": "1", "item": "jam", "sequence": 8} in rows


def test_what_may_not_be_fails_the_run_with_its_place(stage: Stage) -> None:
    publish(stage, b'{"a": 1}', b'{"a": -1}', b"x")
    head = "trigger: batch\nsources:\n  s: {stream: NAME, STEPS}\n"
    sink = "sinks: {out: {from: s, format: parquet, path: out, mode: overwrite}}\n"
    schema = 'schema: "a BIGINT"'
    cases: list[tuple[str, str]] = [
        (
            f"decode: {{format: json, {schema}}}",
            f"s: the payload is not json of the schema (stream {stage.name}, sequence 3)",
        ),
        (
            f"decode: {{format: json, {schema}, otherwise: drop}}, expect: {{positive: a > 0}}",
            f"s: positive: not a > 0 (stream {stage.name}, sequence 2)",
        ),
        (
            'decode: {format: json, schema: "sequence BIGINT"}',
            "sequence is a field of what is decoded, and a column of the table",
        ),
        ("mask: {nobody: redact}", "mask: there is no column nobody"),
        (
            'mask: {data: {method: sha2, secret: "env://NO_SUCH_KEY"}}',
            "the environment variable NO_SUCH_KEY is not set",
        ),
        ("expect: {odd: nobody > 0}", "nobody"),
        ("decode: {format: json, column: body, schema: 'a INT'}", "there is no column body"),
        ("decode: {format: protobuf, message: M, descriptor: no.desc}", "there is no "),
        ("decode: {format: avro, schema: no.avsc}", "cannot read no.avsc"),
    ]
    for steps, said in cases:
        outcome, _ = stage.play(head.replace("STEPS", steps) + sink)
        assert outcome.state == "failed"
        assert said in outcome.error, outcome.error


def test_a_secret_is_neither_in_plans_nor_in_errors(stage: Stage) -> None:
    from pyjs.pipeline.declared import tables
    from pyjs.pipeline.declared.reading import parse

    publish(stage, b"x")
    text = f"""
name: p
trigger: batch
sources:
  s: {{servers: "{stage.server.url}", stream: {stage.name}, mask: {{subject: {{method: sha2, secret: "file://{stage.folder}/key"}}}}}}
sinks: {{out: {{from: s, format: parquet, path: out}}}}
"""
    built = tables.build(stage.spark, parse(text, stage.folder / "p.yaml"))
    frame: Any = built.tables["s"]
    assert SECRET not in frame._jdf.queryExecution().toString()
    (row,) = frame.select("subject").collect()
    assert row[0] == hashlib.sha256(f"{SECRET}{stage.name}.new".encode()).hexdigest()
    (stage.folder / "key").write_text("short-one")
    outcome, _ = stage.play(text.partition("\n")[2].replace("name: p\n", ""))
    assert outcome.state == "failed"
    assert "fewer than 16 bytes" in outcome.error
    assert "short-one" not in outcome.error


def test_csv_is_decoded_into_one_column(stage: Stage) -> None:
    publish(stage, b"1,tea", b"x,tea", b"2", b"3,a,b", b"")
    outcome, _ = stage.play("""
trigger: batch
sources:
  lines: {stream: NAME}
transforms:
  items: {from: lines, decode: {format: csv, schema: "n INT, item STRING", into: line, otherwise: drop}}
sinks:
  out: {from: items, format: json, path: out}
  dead: {from: deadLetters, format: json, path: dead}
""")
    assert outcome == Outcome("finished")
    assert [row["line"].asDict() for row in stage.rows("out", "json")] == [{"n": 1, "item": "tea"}]
    assert sorted(row["sequence"] for row in stage.rows("dead", "json")) == [2, 3, 4, 5]
