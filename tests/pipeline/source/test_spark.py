"""Reads by Spark itself, where only Spark can show it. The other tests of the source do without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.spark_settings import LIMITED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GUARDED = ALONE + "authorization { user: ann, password: s3cret }\n"


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(GUARDED)


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    with JetStream.of(server, user="ann", **{"pass": "s3cret"}) as api:
        yield api


def options(server: ServerProcess, stream: str, **more: str) -> dict[str, str]:
    url = server.url.replace("//", "//ann:s3cret@")
    return {"servers": url, "stream": stream, "failOnDataLoss": "true", **more}


def plans(frame: DataFrame) -> str:
    """Everything that Spark shows of how it runs a query."""
    execution: Any = frame._jdf
    return str(execution.queryExecution().toString())


def test_a_batch_read(spark: SparkSession, server: ServerProcess, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    for n in range(40):
        js.publish(f"{unique}.{'eu' if n % 4 else 'us'}.{n}", str(n), headers={"N": str(n)})
    reader = spark.read.format("jetstream")
    frame = reader.options(**options(server, unique, minPartitions="3", includeHeaders="true")).load()
    assert frame.rdd.getNumPartitions() == 3
    rows = frame.orderBy("sequence").collect()
    assert [(row.sequence, bytes(row.data), row.headers) for row in rows] == [
        (n + 1, b"%d" % n, {"N": [str(n)]}) for n in range(40)
    ]
    assert len({row.timestamp for row in rows}) > 1
    assert "s3cret" not in plans(frame)


def test_errors_come_through_with_what_to_do_and_without_secrets(
    spark: SparkSession, server: ServerProcess
) -> None:
    def failing(**changed: str) -> str:
        with pytest.raises(Exception) as caught:
            spark.read.format("jetstream").options(**options(server, "NOPE", **changed)).load().collect()
        assert "s3cret" not in str(caught.value)
        return str(caught.value)

    assert "did you mean startingOffsets?" in failing(startingOfsets="earliest")
    assert "stream NOPE not found" in failing()
    assert "AuthorizationError" in failing(user="ann", password="wrong")


def run(spark: SparkSession, folder: Path, server: ServerProcess, stream: str, **more: str) -> Any:
    """A query that takes what is there into Parquet, ended."""
    if LIMITED:  # else `availableNow` is one batch, and would end with more waiting
        more["maxOffsetsPerTrigger"] = "30"
    made = options(server, stream, startingOffsets="earliest", **more)
    frame = spark.readStream.format("jetstream").options(**made).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "rows"))
    query.awaitTermination()
    return query


def test_a_stream_read_and_a_recreated_stream(
    spark: SparkSession, server: ServerProcess, js: JetStream, unique: str, tmp_path: Path
) -> None:
    def stored() -> list[tuple[int, bytes]]:
        rows = spark.read.parquet(str(tmp_path / "rows")).orderBy("timestamp").collect()
        return [(row.sequence, bytes(row.data)) for row in rows]

    js.create(unique, subjects=[unique])
    js.fill(unique, 70)
    query = run(spark, tmp_path, server, unique)
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    assert [progress["numInputRows"] for progress in batches] == ([30, 30, 10] if LIMITED else [70])
    assert "s3cret" not in str(query.recentProgress)
    first = stored()
    assert first == [(n, b"%d" % n) for n in range(1, 71)]
    js.call(f"STREAM.DELETE.{unique}")
    js.create(unique, subjects=[unique])
    js.fill(unique, 99)
    with pytest.raises(Exception, match=f"stream {unique} was recreated"):
        run(spark, tmp_path, server, unique)
    assert stored() == first
    run(spark, tmp_path, server, unique, failOnDataLoss="false")
    assert stored() == first + [(n, b"%d" % n) for n in range(1, 100)]
    for place in (tmp_path / "checkpoint").rglob("*"):
        assert not place.is_file() or b"s3cret" not in place.read_bytes()


def test_state_by_key_in_python(
    spark: SparkSession, server: ServerProcess, js: JetStream, unique: str, tmp_path: Path
) -> None:
    """transformWithState, for which PySpark needs protobuf: `pyjs[spark]` brings it."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.seen = handle.getValueState("seen", "seen long")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:
            before = self.seen.get()[0] if self.seen.exists() else 0
            self.seen.update((before + sum(1 for _ in rows),))
            yield Row(subject=key[0], seen=self.seen.get()[0])

        def close(self) -> None:
            pass

    js.create(unique, subjects=[f"{unique}.*"])
    js.fill(f"{unique}.a", 3)
    js.fill(f"{unique}.b", 2)
    rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", rocks)
    try:
        made = options(server, unique, startingOffsets="earliest")
        frame = (
            spark.readStream.format("jetstream").options(**made).load().select("subject").groupBy("subject")
        )
        counted = frame.transformWithState(Count(), "subject string, seen long", "Append", "None")
        writer = counted.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "state"))
        writer.trigger(availableNow=True).start(str(tmp_path / "rows")).awaitTermination()
    finally:
        spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
    found = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert {(row.subject, row.seen) for row in found} == {(f"{unique}.a", 3), (f"{unique}.b", 2)}
