"""JDBC by key: statements by database, and on Derby, SQLite and PostgreSQL that no batch counts twice."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lib.jetstream import ALONE
from lib.pipeline_stage import Stage
from lib.postgres import Postgres
from lib.process import ServerProcess
from pyjs.documents.problem import DocumentError
from pyjs.pipeline.declared import drivers, upsert
from pyjs.pipeline.declared.reading import parse
from pyjs.pipeline.declared.run import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def statements(database: str, key: tuple[str, ...] = ("a",)) -> tuple[str, str]:
    made = upsert.Upsert(f"jdbc:{database}:x", "t", "s", ["a", "b"], key)
    return made.create(), made.move()


def test_each_database_has_its_statements() -> None:
    assert statements("postgresql") == (
        'CREATE TABLE s AS SELECT "a", "b" FROM t WHERE 1 = 0',
        'INSERT INTO t ("a", "b") SELECT "a", "b" FROM s WHERE true ON CONFLICT ("a") '
        'DO UPDATE SET "b" = excluded."b"',
    )
    assert statements("sqlite", ("a", "b"))[1].endswith('ON CONFLICT ("a", "b") DO NOTHING')
    assert statements("mysql") == (
        "CREATE TABLE s AS SELECT `a`, `b` FROM t WHERE 1 = 0",
        "INSERT INTO t (`a`, `b`) SELECT `a`, `b` FROM s ON DUPLICATE KEY UPDATE `b` = VALUES(`b`)",
    )
    assert statements("derby") == (
        'CREATE TABLE s AS SELECT "a", "b" FROM t WITH NO DATA',
        'MERGE INTO t t USING s s ON t."a" = s."a" WHEN MATCHED THEN UPDATE SET "b" = s."b" '
        'WHEN NOT MATCHED THEN INSERT ("a", "b") VALUES (s."a", s."b")',
    )
    create, move = statements("sqlserver")
    assert create == "SELECT [a], [b] INTO s FROM t WHERE 1 = 0"
    assert move.endswith("VALUES (s.[a], s.[b]);")


def test_names_are_quoted() -> None:
    made = upsert.Upsert("jdbc:postgresql:x", "t", "s", ['a"; DROP TABLE t; --'], ['a"; DROP TABLE t; --'])
    assert '"a""; DROP TABLE t; --"' in made.move()
    assert upsert.staging_table("shop.totals", "my-pipe", "Base") == "shop.pyjs_my_pipe_base"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("newest: sequence", "newest goes with key"),
        ("key: [a], mode: overwrite", "has either key, by which rows replace others, or mode"),
    ],
)
def test_a_key_excludes_a_mode(keys: str, said: str) -> None:
    text = f"""
name: p
trigger: batch
connection: {{servers: s}}
sources: {{s: {{stream: S}}}}
sinks: {{base: {{from: s, format: jdbc, url: "jdbc:x:y", table: t, {keys}}}}}
"""
    with pytest.raises(DocumentError, match=said):
        parse(text, Path("p.yaml"))


@pytest.fixture
def stage(
    spark: SparkSession, serve: Callable[[str], ServerProcess], unique: str, tmp_path: Path
) -> Iterator[Stage]:
    made = Stage(spark, serve(ALONE), unique, tmp_path, messages=0)
    yield made
    made.js.wire.close()


@pytest.fixture(params=["derby", "sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, unique: str, tmp_path: Path, jdbc_drivers: set[str]) -> Iterator[str]:
    if request.param == "derby":
        yield f"jdbc:derby:memory:{unique};create=true"
        return
    if request.param not in jdbc_drivers:
        pytest.skip(f"not run: the driver of {request.param} is not to be had from Maven here")
    if request.param == "sqlite":
        yield f"jdbc:sqlite:{tmp_path}/base.db"
        return
    with Postgres.started() as base:
        yield base.url


TEXT = """
sources:
  orders: {stream: NAME, startingOffsets: earliest,
    decode: {format: json, schema: "item STRING, cents BIGINT"}}
transforms:
  items: {sql: "SELECT item, cents, sequence FROM orders"}
sinks:
  base: {from: items, format: jdbc, url: "URL", table: items, key: [item], newest: sequence,
    options: {createTableColumnTypes: "item VARCHAR(100)"}}
"""


@pytest.mark.parametrize("implementation", ["pyjs"])
def test_a_batch_that_is_done_again_is_not_there_twice(
    stage: Stage, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(*orders: tuple[str, int]) -> None:
        for item, cents in orders:
            stage.js.publish(f"{stage.name}.new", json.dumps({"item": item, "cents": cents}).encode())

    def rows() -> list[Any]:
        options = {"url": url, "dbtable": "items", "driver": drivers.usual(url)}
        found = stage.spark.read.format("jdbc").options(**{k: v for k, v in options.items() if v}).load()
        return sorted(tuple(row) for row in found.collect())

    text = TEXT.replace("URL", url)
    publish(("tea", 400), ("milk", 100), ("tea", 420))
    if ":sqlite:" in url:
        outcome, _ = stage.play(text)
        assert "there is no table items, and Spark cannot make it: " in outcome.error
        with sqlite3.connect(url.removeprefix("jdbc:sqlite:")) as base:
            base.execute("CREATE TABLE items (item TEXT PRIMARY KEY, cents INTEGER, sequence INTEGER)")
    assert stage.play(text)[0] == Outcome("finished")
    assert rows() == [("milk", 100, 2), ("tea", 420, 3)]
    publish(("tea", 500), ("jam", 1))
    execute = upsert.execute

    def killed(connection: Any, *each: str) -> None:
        execute(connection, *each)
        if len(each) > 1:  # the rows are moved, and the checkpoint does not know it yet
            raise RuntimeError("the power is gone")

    with monkeypatch.context() as patched:
        patched.setattr(upsert, "execute", killed)
        outcome, _ = stage.play(text)
    assert outcome.state == "failed"
    assert "the power is gone" in outcome.error
    assert rows() == [("jam", 1, 5), ("milk", 100, 2), ("tea", 500, 4)]
    assert stage.play(text)[0] == Outcome("finished")  # does the batch again
    assert rows() == [("jam", 1, 5), ("milk", 100, 2), ("tea", 500, 4)]
    publish(("tea", 600), ("tea", 610))
    outcome, _ = stage.play(text.replace(", newest: sequence", ""))
    assert outcome.state == "failed"
    assert "a batch has several rows of one key: item=tea" in outcome.error
    assert rows() == [("jam", 1, 5), ("milk", 100, 2), ("tea", 500, 4)]  # all of a batch or nothing
    assert stage.play(text)[0] == Outcome("finished")
    assert rows() == [("jam", 1, 5), ("milk", 100, 2), ("tea", 610, 7)]
