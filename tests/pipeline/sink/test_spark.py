"""Writes by Spark itself: data frames, streaming queries and what their errors say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lib.jetstream import ALONE
from lib.pool import Pool
from lib.sink_fixture import SinkEnv

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONCE = {"guarantee": "effectively-once", "retryWindow": "2m", "deliveryTimeout": "1m"}


def save(frame: DataFrame, env: SinkEnv, mode: str = "append", **options: str) -> None:
    write = frame.write.format("jetstream").mode(mode).option("servers", env.server.url)
    write.options(stream=env.name, **options).save()


def numbers(spark: SparkSession, env: SinkEnv, count: int) -> DataFrame:
    """Rows in two partitions, with subject, data and headers."""
    return spark.range(0, count, 1, 2).selectExpr(
        f"'{env.name}.' || id % 3 as subject",
        "cast(id as string) as data",
        "map('N', cast(id as string)) as headers",
    )


def test_a_data_frame_is_written_by_all_of_its_tasks(spark: SparkSession, env: SinkEnv) -> None:
    env.create()
    save(numbers(spark, env, 3000), env, **ONCE)
    assert sorted(map(int, env.bodies())) == list(range(3000))
    message = env.js.get(env.name, seq=1)
    assert message["subject"].startswith(f"{env.name}.")


def test_errors_reach_the_one_who_writes(spark: SparkSession, pool: Pool, unique: str) -> None:
    env = SinkEnv(pool.get("pyjs", ALONE), unique)
    env.create(max_msgs=3, discard="new")
    frame = numbers(spark, env, 10).coalesce(1)
    unsaid = frame.selectExpr("if(data = 7, null, subject) as subject", "data")
    full = r"row 3 of partition 0, subject \S+: maximum messages exceeded: the stream is full and discards"
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: save(unsaid, env), r"row 7 of partition 0 has no subject: it is null"),
        (lambda: save(frame, env), full),
        (lambda: save(frame, env, "overwrite"), r"is refused: a stream is never purged by a write"),
    ]
    for write, text in cases:
        with pytest.raises(Exception, match=text):  # whatever Spark makes of it
            write()
    assert len(env.bodies()) == 3
    env.js.wire.close()


def test_a_batch_that_runs_again_after_a_restart_is_not_stored_again(
    spark: SparkSession, env: SinkEnv, tmp_path: Path
) -> None:
    """The commit of the last batch is taken out of the checkpoint, as if the driver had died before it."""
    env.create()
    files = tmp_path / "in"
    written = numbers(spark, env, 200).write
    written.json(str(files))

    def run(**options: str) -> None:
        frame = spark.readStream.schema("subject string, data string").option("maxFilesPerTrigger", 1)
        query = (
            frame.json(str(files))
            .writeStream.format("jetstream")
            .option("servers", env.server.url)
            .options(stream=env.name, checkpointLocation=str(tmp_path / options["guarantee"]), **options)
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination(60)
        finally:
            query.stop()

    def forget(name: str) -> None:
        commits = tmp_path / name / "commits"
        assert sorted(f.name for f in commits.iterdir() if f.name.isdigit()) == ["0", "1"]
        (commits / "1").unlink()
        (commits / ".1.crc").unlink(missing_ok=True)

    run(**ONCE)
    assert sorted(map(int, env.bodies())) == list(range(200))
    forget("effectively-once")
    run(**ONCE)
    assert sorted(map(int, env.bodies())) == list(range(200))
    forget("effectively-once")
    record = tmp_path / "effectively-once" / "offsets" / "1"
    record.with_name(".1.crc").unlink()
    record.write_text(re.sub(r'("batchTimestampMs":)\d+', r"\g<1>1700000000000", record.read_text()))
    with pytest.raises(Exception, match="is tried again"):  # long after the duplicate window
        run(**ONCE)
    run(**ONCE, failOnForgottenIds="false")
    run(guarantee="at-least-once")
    forget("at-least-once")
    run(guarantee="at-least-once")
    assert len(env.bodies()) == 500
