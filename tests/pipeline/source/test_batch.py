"""Batch reads without Spark: the partitions, the rows of the tasks, and refusals."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess, free_port
from lib.spark_query import QUICK, batch, read, sequences, settings
from pyjs.client import AuthorizationError, ClientError, NoResponders, NoServers, TimedOut
from pyjs.pipeline.jetstream import DataLoss, ShortRead, UnknownStream, retries
from pyjs.pipeline.options import OptionError, QuerySettings
from pyjs.pipeline.source import columns, partitions
from pyjs.pipeline.source.batch import BatchReader
from pyjs.pipeline.source.datasource import JetStreamSource
from pyjs.pipeline.source.directory import StreamDirectory
from pyjs.pipeline.source.loss import Recreated
from pyjs.protocol.errors import ApiError
from pyjs.protocol.timestamp import parse_rfc3339
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import LongType, StringType, StructType

Serve = Callable[[str], ServerProcess]


@pytest.fixture
def server(serve: Serve) -> ServerProcess:
    return serve(ALONE)


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    with JetStream.of(server) as api:
        yield api


def test_every_column_of_every_message(server: ServerProcess, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    js.publish(f"{unique}.a", b"\x00\xff")
    js.publish(f"{unique}.b", b"", headers={"X": "1"})
    first, second = batch(server, stream=unique, includeHeaders="true")
    assert (first["subject"], first["data"], first["stream"]) == (f"{unique}.a", b"\x00\xff", unique)
    assert (first["sequence"], first["headers"], first["domain"]) == (1, [], "")
    assert (second["data"], second["headers"]) == (b"", [("X", ["1"])])
    stored = parse_rfc3339(js.get(unique, seq=1)["time"])
    assert first["timestamp"] == datetime.fromtimestamp(0, UTC) + timedelta(microseconds=stored // 1000)
    assert "headers" not in batch(server, stream=unique)[0]


def test_streams_by_list_pattern_subject_and_position(
    server: ServerProcess, js: JetStream, unique: str
) -> None:
    for name in ("A", "B", "C"):
        js.create(unique + name, subjects=[f"{unique}.{name}.*"])
        for _ in range(3):
            js.fill(f"{unique}.{name}.x", 2)
            js.fill(f"{unique}.{name}.y", 1)
    several = batch(server, streams=f"{unique}A,{unique}B")
    assert [(row["stream"], row["sequence"]) for row in several] == [
        (unique + name, n) for name in ("A", "B") for n in range(1, 10)
    ]
    assert {row["stream"] for row in batch(server, streamPattern=f"{unique}[BC]")} == {
        unique + "B",
        unique + "C",
    }
    assert sequences(batch(server, stream=unique + "A", subjects=f"{unique}.*.y")) == [3, 6, 9]
    middle = {"startingOffsets": f'{{"{unique}A": 4}}', "endingOffsets": f'{{"{unique}A": 7}}'}
    assert sequences(batch(server, stream=unique + "A", minPartitions="2", **middle)) == [4, 5, 6]
    one = batch(server, stream=unique + "A", maxRecordsPerPartition="1", **middle)
    assert sequences(one) == [4, 5, 6]
    ends = f'{{"{unique}A": -1, "{unique}B": 3}}'
    assert len(batch(server, streams=f"{unique}A,{unique}B", endingOffsets=ends)) == 9 + 2


def test_deleted_messages_are_no_loss(server: ServerProcess, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[unique], allow_direct=True)
    js.fill(unique, 9)
    for n in (2, 5, 6, 9):
        js.call(f"STREAM.MSG.DELETE.{unique}", {"seq": n})
    assert sequences(batch(server, stream=unique, minPartitions="4")) == [1, 3, 4, 7, 8]


def test_an_empty_stream_gives_no_task(server: ServerProcess, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[unique])
    assert batch(server, stream=unique) == []
    js.fill(unique, 3)
    js.call(f"STREAM.PURGE.{unique}")
    assert batch(server, stream=unique) == []


def test_what_spark_gives_when_there_is_no_task_reads_nothing(server: ServerProcess) -> None:
    made = settings("read", server, stream="S")
    assert list(BatchReader(made, columns.schema(made)).read(InputPartition(None))) == []


def test_times_say_where_to_start_and_end(server: ServerProcess, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[unique])
    js.fill(unique, 5)
    times = [js.get(unique, seq=n)["time"] for n in range(1, 6)]
    assert sequences(batch(server, stream=unique, startingTimestamp=times[2])) == [3, 4, 5]
    named = {"startingOffsetsByTimestamp": f'{{"{unique}": "{times[1]}"}}', "endingTimestamp": times[3]}
    assert sequences(batch(server, stream=unique, **named)) == [2, 3]
    late = "2099-01-01T00:00:00Z"
    assert len(batch(server, stream=unique, endingTimestamp=late)) == 5
    with pytest.raises(OptionError, match=f"stream {unique} has no message of {late} or later"):
        batch(server, stream=unique, startingTimestamp=late)
    assert (
        batch(server, stream=unique, startingTimestamp=late, startingOffsetsByTimestampStrategy="latest")
        == []
    )


def test_a_start_that_is_gone_or_not_yet_there(
    server: ServerProcess, js: JetStream, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    js.create(unique, subjects=[unique])
    js.fill(unique, 9)
    js.call(f"STREAM.PURGE.{unique}", {"seq": 5})
    early, late = {"startingOffsets": f'{{"{unique}": 2}}'}, {"startingOffsets": f'{{"{unique}": 20}}'}
    with pytest.raises(DataLoss, match=rf"stream {unique}: sequences 2 to 4 are gone.*begins at 5"):
        batch(server, stream=unique, **early)
    with pytest.raises(
        DataLoss, match=r"startingOffsets: 20 lies beyond stream .*, which ends at sequence 9"
    ):
        batch(server, stream=unique, **late)
    with pytest.raises(DataLoss, match="option endingOffsets: 50 lies beyond stream"):
        batch(server, stream=unique, endingOffsets=f'{{"{unique}": 50}}')
    with caplog.at_level(logging.WARNING):
        assert sequences(batch(server, stream=unique, failOnDataLoss="false", **early)) == [5, 6, 7, 8, 9]
        assert batch(server, stream=unique, failOnDataLoss="false", **late) == []
    assert "sequences 2 to 4 are gone" in caplog.text
    assert "ends at sequence 9" in caplog.text
    assert "failOnDataLoss" not in caplog.text


def test_what_goes_between_planning_and_reading(
    server: ServerProcess, js: JetStream, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    js.create(unique, subjects=[unique])
    js.fill(unique, 9)
    first = {"stream": unique, "startingOffsets": f'{{"{unique}": 1}}'}
    made = settings("read", server, **first)
    bold = settings("read", server, **first, failOnDataLoss="false")
    strict, tolerant = (BatchReader(one, columns.schema(one)) for one in (made, bold))
    (task,) = strict.partitions()
    js.call(f"STREAM.PURGE.{unique}", {"seq": 4})
    with pytest.raises(DataLoss, match="sequences 1 to 3 are gone"):
        list(strict.read(task))
    assert sequences(row for part in tolerant.read(task) for row in part.to_pylist()) == [4, 5, 6, 7, 8, 9]
    js.call(f"STREAM.DELETE.{unique}")
    with pytest.raises(UnknownStream):
        list(strict.read(task))
    js.create(unique, subjects=[unique])
    js.fill(unique, 20)
    with pytest.raises(Recreated, match=f"stream {unique} was recreated"):
        list(strict.read(task))
    with caplog.at_level(logging.WARNING):
        assert list(tolerant.read(task)) == []
    assert "sequences 1 to 9 are not read" in caplog.text
    assert "failOnDataLoss" not in caplog.text


def test_what_leaves_a_full_stream_before_earliest_is_read_is_a_warning(
    server: ServerProcess, js: JetStream, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    js.create(unique, subjects=[unique], max_msgs=10)
    js.fill(unique, 12)
    late, strict = (
        settings("read", server, stream=unique, minPartitions="2", **start)
        for start in ({}, {"startingOffsets": f'{{"{unique}": 3}}'})
    )
    lasting, exact = (BatchReader(one, columns.schema(one)) for one in (late, strict))
    planned, refused = lasting.partitions(), exact.partitions()
    js.fill(unique, 7)  # 3 to 9 roll off; the tasks are 3 to 7 and 8 to 12
    with caplog.at_level(logging.WARNING):
        assert sequences(read(lasting, planned)) == [10, 11, 12]
    assert f"stream {unique}: 5 sequences of 3 to 7 left the stream" in caplog.text
    assert f"stream {unique}: 2 sequences of 8 to 12 left the stream" in caplog.text
    with pytest.raises(DataLoss, match="sequences 3 to 7 are gone"):
        read(exact, refused)
    js.call(f"STREAM.DELETE.{unique}")
    js.create(unique, subjects=[unique])
    js.fill(unique, 20)
    with pytest.raises(Recreated):  # earliest forgives the front, not another stream
        read(lasting, planned)


def test_what_newer_values_of_a_bucket_replace_is_no_loss_unless_a_limit_may_have_removed_it(
    server: ServerProcess, js: JetStream, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    limits: list[tuple[dict[str, Any], bool]] = [
        ({}, True),
        ({"discard": "new", "max_bytes": 1 << 20}, True),  # as buckets are made
        ({"max_age": 3600 * SECOND}, True),  # younger than that
        ({"max_bytes": 1 << 20}, False),
        ({"max_msgs_per_subject": -1}, False),
    ]
    for at, (config, compacted) in enumerate(limits):
        name = f"{unique}{at}"
        js.create(name, subjects=[f"{name}.*"], **({"max_msgs_per_subject": 1} | config))
        for key in "abc":
            js.publish(f"{name}.{key}")
        made = settings("read", server, stream=name, startingOffsets=f'{{"{name}": 1}}')
        reader = BatchReader(made, columns.schema(made))
        tasks = reader.partitions()
        js.publish(f"{name}.a")
        js.call(f"STREAM.PURGE.{name}", {"filter": f"{name}.a", "keep": 1})
        with caplog.at_level(logging.WARNING):
            if compacted:
                assert sequences(read(reader, tasks)) == [2, 3]
                assert sequences(read(reader, reader.partitions())) == [2, 3, 4]
            else:
                with pytest.raises(DataLoss, match="sequences 1 to 1 are gone"):
                    read(reader, tasks)
                with pytest.raises(DataLoss, match="sequences 1 to 1 are gone"):
                    reader.partitions()
        js.call(f"STREAM.PURGE.{name}")
        with pytest.raises(DataLoss):  # nothing that replaced them is left
            read(reader, tasks)
    assert not caplog.records


def test_a_sparse_stream_is_cut_by_its_messages(server: ServerProcess, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"], max_msgs_per_subject=1, allow_direct=True)
    for key in range(10):
        js.publish(f"{unique}.{key}")
    js.call(f"STREAM.PURGE.{unique}", {"seq": 10})
    for _ in range(200):
        js.publish(f"{unique}.often")
    for key in range(10, 30):
        js.publish(f"{unique}.{key}")
    made = settings("read", server, stream=unique, minPartitions="4")
    reader = BatchReader(made, columns.schema(made))
    tasks = reader.partitions()
    counts = [len(read(reader, [task])) for task in tasks]
    assert len(counts) == 4
    assert max(counts) <= 7
    assert sequences(read(reader, tasks)) == [10, *range(210, 231)]


def test_a_stream_of_large_messages_is_cut_by_bytes(
    server: ServerProcess, js: JetStream, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    js.create(unique, subjects=[unique])
    for _ in range(8):
        js.publish(unique, b"x" * 100_000)
    made = settings("read", server, stream=unique)
    assert len(BatchReader(made, columns.schema(made)).partitions()) == 1
    monkeypatch.setattr(partitions, "BYTES", 200_000)
    assert len(BatchReader(made, columns.schema(made)).partitions()) in {4, 5}


def test_a_work_queue_may_be_looked_at(server: ServerProcess, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[unique], retention="workqueue")
    js.fill(unique, 3)
    assert sequences(batch(server, stream=unique)) == [1, 2, 3]
    assert js.state(unique)["messages"] == 3


def test_an_unknown_stream_is_named(server: ServerProcess) -> None:
    with pytest.raises(UnknownStream, match="stream NOPE not found"):
        batch(server, stream="NOPE")


def test_no_server_is_reported_with_the_addresses_tried() -> None:
    port = free_port()
    made = QuerySettings.of({**QUICK, "servers": f"nats://u:s3cret@127.0.0.1:{port}", "stream": "S"}, "read")
    with pytest.raises(NoServers, match=rf"127\.0\.0\.1:{port}") as caught:
        BatchReader(made, columns.schema(made)).partitions()
    assert "s3cret" not in str(caught.value)


GUARDED = ALONE + "authorization { user: ann, password: right }\n"


def test_wrong_credentials_are_reported_without_them(serve: Serve) -> None:
    server = serve(GUARDED)
    with pytest.raises(AuthorizationError) as caught:
        batch(server, stream="S", user="ann", password="wr0ng")
    assert "wr0ng" not in str(caught.value)


def test_a_secret_is_looked_up_where_it_connects(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(GUARDED)
    with JetStream.of(server, user="ann", **{"pass": "right"}) as js:
        js.create("GUARDED", subjects=["g"])
        js.fill("g", 2)
    options = {"stream": "GUARDED", "user": "ann", "password": "env://PYJS_TEST_PW"}
    with pytest.raises(AuthorizationError, match="PYJS_TEST_PW is not set"):
        batch(server, **options)
    monkeypatch.setenv("PYJS_TEST_PW", "right")
    assert len(batch(server, **options)) == 2


def test_a_server_that_is_killed_in_mid_read_and_comes_back(
    launch: Callable[[str], ServerProcess], unique: str
) -> None:
    server = launch(ALONE)
    with JetStream.of(server) as js:
        js.create(unique, subjects=[unique], storage="file")
        js.fill(unique, 2000)
    patient = {"stream": unique, "batchRows": "100", "timeout": "30s"}
    made = settings("read", server, **patient, fetchRetries="100", fetchRetryInterval="100ms")
    lasting, brief = (BatchReader(m, columns.schema(m)) for m in (made, settings("read", server, **patient)))
    (task,) = lasting.partitions()
    parts, cut_short = lasting.read(task), brief.read(task)
    found = sequences(next(parts).to_pylist())
    next(cut_short)
    server.crash()
    with pytest.raises((ShortRead, ClientError), match=r"lost|could not be read"):
        list(cut_short)
    server.launch()
    for part in parts:
        found += sequences(part.to_pylist())
    assert found == list(range(1, 2001))


@pytest.mark.parametrize("moment", ["planning", "opening"])
def test_a_server_that_is_away_when_a_read_is_planned_or_a_task_opens(
    launch: Callable[[str], ServerProcess], unique: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = launch(ALONE)
    with JetStream.of(server) as js:
        js.create(unique, subjects=[unique], storage="file")
        js.fill(unique, 20)
    made = settings("read", server, stream=unique, fetchRetries="20", fetchRetryInterval="7s")
    reader = BatchReader(made, columns.schema(made))
    tasks = reader.partitions() if moment == "opening" else None
    waits: list[float] = []

    def wait(seconds: float) -> None:
        if not waits:
            server.launch()
        waits.append(seconds)

    monkeypatch.setattr(retries, "time", SimpleNamespace(sleep=wait))
    server.crash()
    rows = read(reader, tasks if tasks is not None else reader.partitions())
    assert sequences(rows) == list(range(1, 21))
    assert waits[0] == 7.0


def test_planning_tries_again_what_may_pass_and_nothing_else(server: ServerProcess) -> None:
    made = settings("read", server, stream="S", fetchRetries="2", fetchRetryInterval="1ms")
    passing = [NoResponders("x"), ApiError(503, 10008, "JetStream system temporarily unavailable")]
    directory = StreamDirectory(made)
    asked: list[Exception] = []

    def question(_api: object) -> str:
        if passing:
            asked.append(passing.pop())
            raise asked[-1]
        return "answer"

    assert directory.ask(question) == "answer"
    assert len(asked) == 2
    passing = [TimedOut("x")] * 3
    with pytest.raises(TimedOut):
        directory.ask(question)
    assert passing == []
    passing = [ApiError(400, 10003, "bad request"), TimedOut("y")]
    passing.reverse()
    with pytest.raises(ApiError, match="bad request"):
        directory.ask(question)
    directory.close()


def test_columns_can_be_chosen_by_a_schema(server: ServerProcess, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[unique])
    js.fill(unique, 1)
    made = settings("read", server, stream=unique)
    wanted = StructType().add("sequence", LongType()).add("subject", StringType())
    chosen = BatchReader(made, wanted)
    (task,) = chosen.partitions()
    assert next(iter(chosen.read(task))).to_pylist() == [{"sequence": 1, "subject": unique}]
    with pytest.raises(ValueError, match='no column "nope"'):
        BatchReader(made, StructType().add("nope", StringType()))
    with pytest.raises(ValueError, match=r"sequence.* is bigint, not string"):
        BatchReader(made, StructType().add("sequence", StringType()))


def test_the_source_validates_options_at_once_and_those_of_a_use_when_it_is_known() -> None:
    with pytest.raises(OptionError, match="did you mean stream"):
        JetStreamSource({"servers": "x", "strem": "S"})
    source = JetStreamSource({"servers": "x", "stream": "S", "maxOffsetsPerTrigger": "5"})
    assert source.schema().fieldNames() == [
        "subject",
        "data",
        "stream",
        "sequence",
        "timestamp",
        "size",
        "domain",
    ]
    with pytest.raises(OptionError, match="has no place in a batch read"):
        source.reader(source.schema())
    for table in ({"servers": "x", "stream": "S", "provider": "jetstream", "option.stream": "S"}, {}):
        with pytest.raises(OptionError, match="CREATE TEMPORARY VIEW"):
            JetStreamSource(table)
