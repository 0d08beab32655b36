"""Work-queue and interest streams: read by sequence, acknowledged when a batch is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.spark_query import Query, sequences
from pyjs.pipeline.options import OptionError

Start = Callable[..., Query]
KEEPING = pytest.mark.parametrize("retention", ["workqueue", "interest"])


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(ALONE)


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    with JetStream.of(server) as api:
        yield api


@KEEPING
def test_such_a_stream_is_refused_without_a_durable(
    server: ServerProcess, js: JetStream, unique: str, start: Start, retention: str
) -> None:
    js.create(unique, subjects=[unique], retention=retention)
    with pytest.raises(
        OptionError, match=rf"consumerDurable: is missing: stream {unique} has {retention}.*at least once"
    ):
        start(server, stream=unique).step()


def test_a_stream_that_keeps_its_messages_needs_none(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.create(unique, subjects=[unique])
    with pytest.raises(OptionError, match="leave it out"):
        start(server, stream=unique, consumerDurable="spark").step()


@KEEPING
@pytest.mark.parametrize("direct", [True, False])
def test_messages_leave_the_stream_when_their_batch_is_done(
    server: ServerProcess, js: JetStream, unique: str, start: Start, retention: str, direct: bool
) -> None:
    js.create(unique, subjects=[unique], retention=retention, allow_direct=direct)
    query = start(
        server, stream=unique, consumerDurable="spark", startingOffsets="earliest", maxOffsetsPerTrigger="4"
    )
    assert query.step() is None  # which makes the durable: interest begins here
    js.fill(unique, 10)
    end = query.plan()
    assert end is not None
    first = query.run(end)
    assert sequences(first) == [1, 2, 3, 4]
    assert js.state(unique)["messages"] == 10
    query.restart()
    assert query.run(end) == first
    query.done(end)
    js.left(unique, 6)
    query.restart()
    assert [sequences(rows) for rows in query.drain()] == [[5, 6, 7, 8], [9, 10]]
    js.left(unique, 0)


@KEEPING
def test_the_last_batch_is_acknowledged_when_what_follows_is_asked_for(
    server: ServerProcess, js: JetStream, unique: str, start: Start, retention: str
) -> None:
    """As Spark does: it commits a batch only when there is another one."""
    js.create(unique, subjects=[unique], retention=retention)
    query = start(server, stream=unique, consumerDurable="spark", startingOffsets="earliest")
    assert query.step() is None
    js.fill(unique, 5)
    end = query.plan()
    assert end is not None and query.plan() == end
    assert sequences(query.run(end)) == [1, 2, 3, 4, 5]
    assert js.state(unique)["messages"] == 5
    query.start = end  # the batch is in the checkpoint
    assert query.plan() is None
    js.left(unique, 0)


def test_many_more_messages_than_one_pull_asks_for(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.create(unique, subjects=[unique], retention="workqueue")
    js.fill(unique, 1203)
    query = start(
        server,
        stream=unique,
        consumerDurable="spark",
        startingOffsets="earliest",
        maxOffsetsPerTrigger="1100",
    )
    assert len(query.step() or []) == 1100
    js.left(unique, 103)
    assert js.state(unique)["first_seq"] == 1101


@pytest.mark.parametrize("starting", [{}, {"startingOffsets": '{"STREAM": 3}'}])
def test_a_work_queue_loses_nothing_unread(
    server: ServerProcess, js: JetStream, unique: str, start: Start, starting: dict[str, str]
) -> None:
    js.create(unique, subjects=[unique], retention="workqueue")
    js.fill(unique, 5)
    own = {key: value.replace("STREAM", unique) for key, value in starting.items()}
    query = start(server, stream=unique, consumerDurable="spark", **own)
    with pytest.raises(OptionError, match=r"startingOffsets: .* messages 1 to \d would be acknowledged"):
        query.step()
    assert js.state(unique)["messages"] == 5


def test_only_the_subjects_that_are_read_are_acknowledged(
    server: ServerProcess, js: JetStream, unique: str, start: Start
) -> None:
    js.create(unique, subjects=[f"{unique}.*"], retention="workqueue", allow_direct=True)
    for name in "abc":
        js.fill(f"{unique}.{name}", 2)
    query = start(
        server,
        stream=unique,
        subjects=f"{unique}.a,{unique}.b",
        consumerDurable="spark",
        startingOffsets="earliest",
    )
    assert sequences(query.step() or []) == [1, 2, 3, 4]
    js.left(unique, 2)
    assert sorted(js.stored(unique)) == [5, 6]


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"deliver_subject": "push"}, "pushes its messages"),
        ({"ack_policy": "all"}, "has the ack policy all"),
        ({"filter_subject": "{}.a"}, "filters {}.a, this query nothing"),
    ],
)
def test_a_durable_that_would_not_do_is_refused(
    server: ServerProcess, js: JetStream, unique: str, start: Start, config: dict[str, str], why: str
) -> None:
    js.create(unique, subjects=[f"{unique}.*"], retention="interest")
    own = {key: value.format(unique) for key, value in config.items()}
    js.consumer(unique, "spark", **{"durable_name": "spark", "ack_policy": "explicit", **own})
    with pytest.raises(OptionError, match=f'"spark" of stream {unique} {why.format(unique)}'):
        start(server, stream=unique, consumerDurable="spark").step()
