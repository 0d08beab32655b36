"""Key-value buckets read without Spark: entries as rows, and the present value of each key."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.spark_query import Query, batch, read, settings
from pyjs.pipeline.options import OptionError
from pyjs.pipeline.source import columns
from pyjs.pipeline.source.batch import BatchReader
from pyjs.pipeline.source.loss import Recreated

Serve = Callable[[str], ServerProcess]


@pytest.fixture
def server(serve: Serve) -> ServerProcess:
    return serve(ALONE)


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    with JetStream.of(server) as api:
        yield api


def make(js: JetStream, name: str, history: int = 1, storage: str = "memory") -> None:
    js.create(
        f"KV_{name}",
        subjects=[f"$KV.{name}.>"],
        storage=storage,
        max_msgs_per_subject=history,
        discard="new",
        allow_direct=True,
        allow_rollup_hdrs=True,
        deny_delete=True,
    )


def put(js: JetStream, name: str, key: str, value: str = "", operation: str = "") -> None:
    headers = {"KV-Operation": operation} if operation else None
    if operation == "PURGE":
        headers = {"KV-Operation": operation, "Nats-Rollup": "sub"}
    js.publish(f"$KV.{name}.{key}", value, headers)


def test_entries_have_their_key_and_operation(server: ServerProcess, js: JetStream, unique: str) -> None:
    make(js, unique, history=5)
    put(js, unique, "a.b", "1")
    put(js, unique, "a.b", operation="DEL")
    put(js, unique, "c", "2")
    put(js, unique, "c", operation="PURGE")
    js.publish(f"$KV.{unique}.d", "", {"Nats-Marker-Reason": "MaxAge"})
    rows = batch(server, bucket=unique)
    found = [(row["key"], row["operation"], row["data"], row["sequence"]) for row in rows]
    assert found == [
        ("a.b", "PUT", b"1", 1),
        ("a.b", "DEL", b"", 2),
        ("c", "PURGE", b"", 4),
        ("d", "PURGE", b"", 5),
    ]
    assert {row["stream"] for row in rows} == {f"KV_{unique}"}


def test_changes_of_a_bucket_are_a_stream(
    server: ServerProcess, js: JetStream, unique: str, start: Callable[..., Query]
) -> None:
    make(js, unique)
    for key in "abc":
        put(js, unique, key, "1")
    query = start(server, bucket=unique, startingOffsets="earliest")
    assert [row["key"] for row in query.step() or []] == ["a", "b", "c"]
    put(js, unique, "a", "2")
    put(js, unique, "a", "3")
    put(js, unique, "b", operation="DEL")
    query.restart()
    changes = [(row["key"], row["data"], row["operation"]) for row in query.step() or []]
    assert changes == [("a", b"3", "PUT"), ("b", b"", "DEL")]


def test_the_present_value_of_each_key(server: ServerProcess, js: JetStream, unique: str) -> None:
    make(js, unique, history=5)
    for value in range(3):
        for key in ("a.x", "a.y", "b"):
            put(js, unique, key, str(value))
    put(js, unique, "b", operation="DEL")

    def now(**more: str) -> list[tuple[str, str]]:
        rows = batch(server, bucket=unique, lastPerSubject="true", **more)
        return [(row["key"], row["operation"]) for row in rows]

    assert now() == [("a.x", "PUT"), ("a.y", "PUT"), ("b", "DEL")]
    assert now(batchRows="1", subjects=f"$KV.{unique}.a.*") == [("a.x", "PUT"), ("a.y", "PUT")]
    with pytest.raises(OptionError, match="startingOffsets: is given besides lastPerSubject"):
        now(startingOffsets="earliest")
    js.create(unique, subjects=[unique], retention="workqueue")
    with pytest.raises(OptionError, match="workqueue retention"):
        batch(server, stream=unique, lastPerSubject="true")


def test_a_key_that_changes_while_the_bucket_is_read_is_there_once(
    server: ServerProcess, js: JetStream, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(js, unique)
    for key in range(300):
        put(js, unique, str(key), "old")
    made = settings("read", server, bucket=unique, lastPerSubject="true", batchRows="10")
    reader = BatchReader(made, columns.schema(made))
    (task,) = reader.partitions()
    parts = reader.read(task)
    rows = next(parts).to_pylist()
    for key in (0, 250, 299):
        put(js, unique, str(key), "new")
    put(js, unique, "another", "new")
    for part in parts:
        rows += part.to_pylist()
    keys = [row["key"] for row in rows]
    assert len(keys) == len(set(keys))
    assert {str(key) for key in range(300)} <= set(keys)
    js.call(f"STREAM.DELETE.KV_{unique}")
    make(js, unique)
    with pytest.raises(Recreated):
        read(reader, [task])


def test_a_bucket_is_read_on_when_its_server_comes_back(
    launch: Callable[[str], ServerProcess], unique: str
) -> None:
    server = launch(ALONE)
    with JetStream.of(server) as js:
        make(js, unique, storage="file")
        for key in range(2000):
            put(js, unique, str(key), "old")
    again = {"fetchRetries": "100", "fetchRetryInterval": "100ms", "timeout": "30s"}
    made = settings("read", server, bucket=unique, lastPerSubject="true", batchRows="50", **again)
    reader = BatchReader(made, columns.schema(made))
    (task,) = reader.partitions()
    parts = reader.read(task)
    rows = next(parts).to_pylist()
    server.crash()
    server.launch()
    with JetStream.of(server) as js:
        put(js, unique, "1999", "new")
    for part in parts:
        rows += part.to_pylist()
    assert sorted(int(row["key"]) for row in rows) == list(range(2000))


def test_the_columns_of_buckets_are_for_buckets(server: ServerProcess) -> None:
    made = settings("read", server, stream="S")
    with pytest.raises(ValueError, match=r'no column "key".*name it with option bucket'):
        BatchReader(made, columns.schema(settings("read", server, bucket="S")))
    assert "key" not in columns.schema(made).fieldNames()
    with pytest.raises(OptionError, match="bucket: is given besides stream"):
        settings("read", server, stream="S", bucket="S")
