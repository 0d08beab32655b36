"""Stream queries without Spark: offsets, limits, restarts, and streams that change under them."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess
from lib.spark_query import Query, plain, sequences
from pyjs.client import NoServers
from pyjs.pipeline.jetstream import DataLoss, StreamStatus, UnknownStream
from pyjs.pipeline.options import OptionError
from pyjs.pipeline.source.backoff import LONGEST
from pyjs.pipeline.source.limits import ReadAllAvailable, ReadMaxRows, ReadMinRows
from pyjs.pipeline.source.loss import Recreated

Serve = Callable[[str], ServerProcess]
Start = Callable[..., Query]


@pytest.fixture
def server(serve: Serve) -> ServerProcess:
    return serve(ALONE)


@pytest.fixture
def js(server: ServerProcess, unique: str) -> Iterator[JetStream]:
    """A connection, and a stream of the test's own."""
    with JetStream.of(server) as api:
        api.create(unique, subjects=[unique, f"{unique}.*"])
        yield api


def recreate(js: JetStream, name: str, messages: int) -> None:
    js.call(f"STREAM.DELETE.{name}")
    js.create(name, subjects=[name])
    js.fill(name, messages)


def test_a_query_takes_what_is_new(server: ServerProcess, js: JetStream, unique: str, start: Start) -> None:
    js.fill(unique, 3)
    query = start(server, stream=unique)
    assert query.step() is None  # a new query starts at the latest
    js.fill(unique, 4)
    assert sequences(query.step() or []) == [4, 5, 6, 7]
    assert query.step() is None
    assert query.start == {unique: {"next": 8, "created": js.info(unique)["created"]}}
    assert query.reader.reportLatestOffset() == query.start


def test_a_new_query_starts_where_it_is_told(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 5)
    for place, wanted in (("earliest", [1, 2, 3, 4, 5]), (f'{{"{unique}": 4}}', [4, 5])):
        assert sequences(start(server, stream=unique, startingOffsets=place).step() or []) == wanted
    time = js.get(unique, seq=3)["time"]
    assert sequences(start(server, stream=unique, startingTimestamp=time).step() or []) == [3, 4, 5]
    with pytest.raises(
        DataLoss, match=r"option startingOffsets: 9 lies beyond stream .*, which ends at sequence 5; name 6"
    ):
        start(server, stream=unique, startingOffsets=f'{{"{unique}": 9}}').step()


def test_a_restart_repeats_the_batch_that_was_not_done_and_no_other(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 10)
    query = start(server, stream=unique, startingOffsets="earliest", maxOffsetsPerTrigger="4")
    assert sequences(query.step() or []) == [1, 2, 3, 4]
    end = query.plan()
    assert end is not None
    first = query.run(end)
    js.fill(unique, 5)
    query.restart()
    again = query.run(end)
    assert again == first
    query.done(end)
    assert [sequences(rows) for rows in query.drain()] == [[9, 10, 11, 12], [13, 14, 15]]


def test_limits_are_sparks_or_the_options(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 10)
    query = start(server, stream=unique, startingOffsets="earliest", maxOffsetsPerTrigger="4")
    assert query.reader.getDefaultReadLimit() == ReadMaxRows(4)
    assert len(query.step(ReadMaxRows(3)) or []) == 3
    assert len(query.step(ReadAllAvailable()) or []) == 7
    assert start(server, stream=unique).reader.getDefaultReadLimit() == ReadAllAvailable()


def test_spark_4_1_shows_neither_start_nor_limit(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 10)
    query = start(server, stream=unique, startingOffsets="earliest", maxOffsetsPerTrigger="4")
    query.start = query.reader.initialOffset()
    taken = []
    for _ in range(3):
        end = query.reader.latestOffset()
        taken.append(len(query.run(end)))
        query.done(end)
    assert taken == [4, 4, 2]
    assert query.reader.latestOffset() == query.start


def test_spark_4_1_is_warned_of_a_first_batch_without_a_limit(
    server: ServerProcess, js: JetStream, unique: str, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    js.fill(unique, 10)
    with caplog.at_level(logging.WARNING):
        start(server, stream=unique, startingOffsets="earliest").reader.latestOffset()
        assert caplog.text == ""
        query = start(server, stream=unique, startingOffsets="earliest", maxOffsetsPerTrigger="4")
        for _ in range(2):
            query.reader.latestOffset()
    assert caplog.text.count("this Spark tells a source no limits") == 1


def test_a_small_batch_waits_until_there_is_more_or_time_is_over(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 3)
    query = start(
        server, stream=unique, startingOffsets="earliest", minOffsetsPerTrigger="5", maxTriggerDelay="60s"
    )
    assert query.reader.getDefaultReadLimit() == ReadMinRows(5)
    assert query.step() is None
    js.fill(unique, 2)
    assert len(query.step() or []) == 5
    js.fill(unique, 1)
    assert query.step() is None
    query.time += 61
    assert len(query.step() or []) == 1
    js.fill(unique, 1)
    assert query.step() is None
    assert len(query.step(ReadAllAvailable()) or []) == 1


def test_what_comes_after_the_start_is_not_for_a_query_that_takes_what_is_there(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 7)
    query = start(
        server, stream=unique, startingOffsets="earliest", maxOffsetsPerTrigger="3", minOffsetsPerTrigger="3"
    )
    query.reader.prepareForTriggerAvailableNow()
    js.fill(unique, 7)
    assert [sequences(rows) for rows in query.drain()] == [[1, 2, 3], [4, 5, 6], [7]]
    query.restart()
    query.reader.prepareForTriggerAvailableNow()
    assert [len(rows) for rows in query.drain()] == [3, 3, 1]


def test_a_query_that_takes_what_is_there_ends_at_its_ending_timestamp(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    for _ in range(7):
        js.publish(unique, b"x")
    first, last = (str(js.get(unique, seq=number)["time"]) for number in (3, 6))
    times = {"startingTimestamp": first, "endingTimestamp": last}
    query = start(server, stream=unique, maxOffsetsPerTrigger="2", **times)
    query.reader.prepareForTriggerAvailableNow()
    assert [sequences(rows) for rows in query.drain()] == [[3, 4], [5]]
    query.restart()
    query.reader.prepareForTriggerAvailableNow()
    assert query.drain() == []  # it is done, whatever comes
    late = start(server, stream=unique, **{**times, "endingTimestamp": "2999-01-01T00:00:00Z"})
    late.reader.prepareForTriggerAvailableNow()
    assert [sequences(rows) for rows in late.drain()] == [[3, 4, 5, 6, 7]]


def test_an_idle_query_looks_less_and_less_often(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    query = start(server, stream=unique)
    for _ in range(12):
        assert query.step() is None
    assert query.slept == sorted(query.slept)
    assert query.slept[-1] == LONGEST
    js.fill(unique, 1)
    assert query.step() is not None
    before = len(query.slept)
    assert query.step() is None
    assert len(query.slept) == before  # right after a batch it looks at once


def test_streams_that_match_later_are_taken_in_from_their_first_message(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 2)
    query = start(server, streamPattern=f"{unique}.*", startingOffsets="earliest")
    assert len(query.step() or []) == 2
    js.create(unique + "b", subjects=[unique + "b"], max_msgs=3)
    js.fill(unique + "b", 5)
    end = query.plan()
    assert end is not None
    first = query.run(end)
    assert [(row["stream"], row["sequence"]) for row in first] == [(unique + "b", n) for n in (3, 4, 5)]
    query.restart()
    assert query.run(end) == first
    query.done(end)
    js.fill(unique, 1)
    assert [(row["stream"], row["sequence"]) for row in query.step() or []] == [(unique, 3)]


def test_a_start_by_sequence_must_name_what_a_pattern_finds(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    with pytest.raises(OptionError, match=f"no position for stream {unique}"):
        start(server, streamPattern=f"{unique}|other", startingOffsets='{"other": 1}').step()


def test_a_purge_under_a_query_is_a_loss_of_what_was_not_read(
    server: ServerProcess, js: JetStream, unique: str, caplog: pytest.LogCaptureFixture, start: Start
) -> None:
    js.fill(unique, 5)
    strict = start(server, stream=unique, startingOffsets="earliest")
    bold = start(server, stream=unique, startingOffsets="earliest", failOnDataLoss="false")
    assert len(strict.step() or []) == len(bold.step() or []) == 5
    js.call(f"STREAM.PURGE.{unique}")
    assert strict.step() is bold.step() is None  # all of it was read
    js.fill(unique, 5)
    js.call(f"STREAM.PURGE.{unique}", {"seq": 9})
    with pytest.raises(DataLoss, match=f"stream {unique}: sequences 6 to 8 are gone"):
        strict.step()
    with caplog.at_level(logging.WARNING):
        assert sequences(bold.step() or []) == [9, 10]
    assert "sequences 6 to 8 are gone" in caplog.text
    assert "failOnDataLoss" not in caplog.text  # it is false already


def test_a_full_stream_is_read_from_whatever_it_begins_with(
    server: ServerProcess, js: JetStream, unique: str, caplog: pytest.LogCaptureFixture, start: Start
) -> None:
    js.call(f"STREAM.UPDATE.{unique}", js.info(unique)["config"] | {"max_msgs": 10})
    js.fill(unique, 12)
    late = start(server, stream=unique, startingOffsets="earliest", maxOffsetsPerTrigger="4")
    exact = start(server, stream=unique, startingOffsets=f'{{"{unique}": 3}}')
    for query in (late, exact):
        query.start = plain(query.reader.initialOffset())  # 3
    js.fill(unique, 8)  # begins at 11 now, further than a trigger reaches
    with pytest.raises(DataLoss, match="sequences 3 to 10 are gone"):
        exact.step()
    end = late.plan()
    assert end is not None
    js.fill(unique, 2)  # and at 13 when the task reads
    with caplog.at_level(logging.WARNING):
        assert sequences(late.run(end)) == [13, 14]
    assert f"stream {unique}: 10 sequences of 3 to 14 left the stream" in caplog.text
    late.done(end)
    assert late.start == {unique: {"next": 15, "created": js.info(unique)["created"]}}
    js.fill(unique, 5)
    late.restart()
    with pytest.raises(DataLoss, match="sequences 15 to 17 are gone"):  # a checkpoint is exact
        late.step()


def test_a_late_start_waits_for_enough_rows_without_an_empty_batch(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 3)
    query = start(server, stream=unique, startingOffsets="earliest", minOffsetsPerTrigger="3")
    query.start = plain(query.reader.initialOffset())
    js.call(f"STREAM.PURGE.{unique}", {"seq": 3})
    assert query.step() is None
    js.fill(unique, 2)
    assert sequences(query.step() or []) == [3, 4, 5]


def test_a_stream_that_is_found_later_is_read_from_whatever_it_begins_with(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    query = start(server, streamPattern=f"{unique}.*")
    assert query.step() is None
    js.create(unique + "B", subjects=[unique + "B"])
    js.fill(unique + "B", 5)
    end = query.plan()
    assert end is not None
    js.call(f"STREAM.PURGE.{unique}B", {"seq": 3})
    assert sequences(query.run(end)) == [3, 4, 5]


def test_messages_deleted_one_by_one_under_a_query_are_no_loss(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 5)
    query = start(server, stream=unique, startingOffsets="earliest", maxOffsetsPerTrigger="2")
    assert sequences(query.step() or []) == [1, 2]
    for n in (4, 5):
        js.call(f"STREAM.MSG.DELETE.{unique}", {"seq": n})
    assert [sequences(rows) for rows in query.drain()] == [[3], []]


def test_a_recreated_stream_is_noticed_though_its_sequences_fit(
    server: ServerProcess, js: JetStream, unique: str, caplog: pytest.LogCaptureFixture, start: Start
) -> None:
    js.fill(unique, 5)
    strict = start(server, stream=unique, startingOffsets="earliest")
    bold = start(server, stream=unique, startingOffsets="earliest", failOnDataLoss="false")
    assert len(strict.step() or []) == len(bold.step() or []) == 5
    recreate(js, unique, 8)
    for query in (strict, bold):
        query.restart()
    with pytest.raises(Recreated, match=f"stream {unique} was recreated.*read up to sequence 5"):
        strict.step()
    with caplog.at_level(logging.WARNING):
        assert sequences(bold.step() or []) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert bold.step() is None
    assert caplog.text.count("was recreated") == 1
    assert "failOnDataLoss" not in caplog.text


def test_a_stream_that_is_gone_ends_a_query_or_is_waited_for(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 5)
    strict = start(server, stream=unique, startingOffsets="earliest")
    bold = start(server, stream=unique, startingOffsets="earliest", failOnDataLoss="false")
    assert len(strict.step() or []) == len(bold.step() or []) == 5
    js.call(f"STREAM.DELETE.{unique}")
    with pytest.raises(UnknownStream, match=unique):
        strict.step()
    assert bold.step() is None
    js.create(unique, subjects=[unique])
    assert bold.step() == []  # the checkpoint must know of the new one
    js.fill(unique, 2)
    assert sequences(bold.step() or []) == [1, 2]


def test_a_stream_that_lost_its_end_is_noticed(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 5)
    strict = start(server, stream=unique, startingOffsets="earliest")
    bold = start(server, stream=unique, startingOffsets="earliest", failOnDataLoss="false")
    made = js.info(unique)["created"]
    strict.start = bold.start = {unique: {"next": 20, "created": made}}
    with pytest.raises(DataLoss, match="the stream ends at sequence 5, before 20"):
        strict.step()
    assert bold.step() == []
    js.fill(unique, 2)
    assert sequences(bold.step() or []) == [6, 7]


def test_offsets_hold_nothing_but_places(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.fill(unique, 1)
    query = start(server, stream=unique, startingOffsets="earliest", user="ann", password="s3cret")
    query.step()
    assert "s3cret" not in json.dumps(query.start)
    assert "s3cret" not in repr(query.reader.reading)


def test_a_query_outlives_its_server(
    launch: Callable[[str], ServerProcess], unique: str, start: Start
) -> None:
    server = launch(ALONE)
    with JetStream.of(server) as js:
        js.create(unique, subjects=[unique], storage="file")
        js.fill(unique, 3)
    query = start(server, stream=unique, startingOffsets="earliest")
    assert len(query.step() or []) == 3
    server.restart()
    with JetStream.of(server) as js:
        eventually(lambda: b'"config"' in js.raw(f"STREAM.INFO.{unique}").body)
        js.fill(unique, 2)
    with pytest.raises(Exception, match=r"lost|closed|reset|nobody|time"):
        query.step()  # fetchRetries is 0 here
    assert len(query.step() or []) == 2
    server.end()
    with pytest.raises(Exception):  # noqa: B017 - the lost connection, or the missing server
        query.step()
    with pytest.raises(NoServers):
        query.step()


def test_a_query_follows_a_bucket_whose_keys_are_overwritten(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    for age in (0, 3600):
        name = f"{unique}{age}"
        js.create(name, subjects=[f"{name}.*"], max_msgs_per_subject=1, max_age=age * SECOND)
        for key in "abcde":
            js.publish(f"{name}.{key}")
        query = start(server, stream=name, startingOffsets="earliest", maxOffsetsPerTrigger="3")
        assert sequences(query.step() or []) == [1, 2, 3]
        for key in "edcba":
            js.publish(f"{name}.{key}")
        query.restart()
        found = [number for rows in query.drain() for number in sequences(rows)]
        assert found == [6, 7, 8, 9, 10]
        js.publish(f"{name}.a")
        js.call(f"STREAM.PURGE.{name}")
        with pytest.raises(DataLoss, match="sequences 11 to 11 are gone"):
            query.step()  # an update was removed, and not by another one


def test_a_batch_of_a_sparse_stream_has_the_same_tasks_when_it_is_planned_again(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    name = f"{unique}b"
    js.create(name, subjects=[f"{name}.*"], max_msgs_per_subject=1, allow_direct=True)
    js.publish(f"{name}.old")
    for _ in range(99):
        js.publish(f"{name}.often")
    for key in range(20):
        js.publish(f"{name}.{key}")
    query = start(server, stream=name, startingOffsets="earliest", minPartitions="3")
    end = query.plan()
    assert end is not None
    assert end[name]["cuts"][-1] == 121
    planned = [task.value for task in query.reader.partitions(plain(query.start), plain(end))]
    assert len(planned) == 3
    for _ in range(50):
        js.publish(f"{name}.0")
    query.restart()
    assert [task.value for task in query.reader.partitions(plain(query.start), plain(end))] == planned
    assert sequences(query.run(end)) == [1, 100, *range(102, 121)]
    query.done(end)
    assert sequences(query.step() or []) == [170]


def test_no_batch_is_spent_on_a_gap(server: ServerProcess, js: JetStream, unique: str, start: Start) -> None:
    name = f"{unique}b"
    js.create(name, subjects=[f"{name}.*"], max_msgs_per_subject=1)
    js.publish(f"{name}.old")
    for _ in range(50):
        js.publish(f"{name}.often")
    query = start(server, stream=name, startingOffsets="earliest", maxOffsetsPerTrigger="2")
    assert [sequences(rows) for rows in query.drain()] == [[1], [51]]
    for _ in range(50):
        js.publish(f"{name}.often")
    js.publish(f"{name}.other")
    assert [sequences(rows) for rows in query.drain()] == [[101, 102]]
    only = start(
        server, stream=name, subjects=f"{name}.other", startingOffsets="earliest", maxOffsetsPerTrigger="2"
    )
    assert [sequences(rows) for rows in only.drain()] == [[102]]


def test_a_bucket_that_was_idle_for_longer_than_its_max_age_is_followed(
    server: ServerProcess, js: JetStream, unique: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{unique}b"
    js.create(name, subjects=[f"{name}.*"], max_msgs_per_subject=1, max_age=3600 * SECOND)
    js.publish(f"{name}.a")
    query = start(server, stream=name, startingOffsets="earliest")
    assert sequences(query.step() or []) == [1]
    hours = [0]
    answered = StreamStatus.of

    def later(stream: str, info: Mapping[str, Any]) -> StreamStatus:
        found = answered(stream, info)
        return dataclasses.replace(found, now=found.now + hours[0] * 3600 * SECOND)

    monkeypatch.setattr(StreamStatus, "of", later)
    hours[0] = 5
    assert query.step() is None  # idle all the time, and looked at
    for _ in range(3):
        js.publish(f"{name}.a")
    end = query.plan()  # 2 and 3 were overwritten by 4
    assert end is not None
    js.publish(f"{name}.a")
    assert query.run(end) == []  # and 4 by 5, before it was read
    query.done(end)
    assert sequences(query.step() or []) == [5]
    hours[0] = 11
    js.publish(f"{name}.a")
    js.publish(f"{name}.a")
    with pytest.raises(DataLoss):  # nobody looked for six hours: 6 may have grown too old
        query.step()
