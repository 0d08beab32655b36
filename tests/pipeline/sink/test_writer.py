"""Writes as Spark makes them, without Spark: a writer on the driver, its pickled copy run as a task."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lib.eventually import eventually
from lib.frames import batch, schema
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess
from lib.sink_fixture import SinkEnv
from pyjs.client import AuthorizationError, NoServers, NotPermitted
from pyjs.pipeline.options import QuerySettings
from pyjs.pipeline.sink import BadRow, RowRejected, SinkError, Unacknowledged, columns
from pyjs.pipeline.sink.task import WriteTask
from pyjs.pipeline.sink.write_options import WriteOptions
from pyjs.pipeline.sink.writer import BatchWriter, StreamWriter, TaskCommit, WritePlan, outcome

ONCE = {"guarantee": "effectively-once", "retryWindow": "2m", "deliveryTimeout": "1m"}


# -- what is stored


def test_rows_are_stored_in_their_order_with_what_their_columns_say(env: SinkEnv) -> None:
    env.create(allow_msg_ttl=True)
    first, second = f"{env.name}.a", f"{env.name}.b.c"
    rows = batch(
        subject=[first, second, first],
        data=[b"one", "zwei é".encode(), None],
        headers=[[("K", ["1", "2"])], None, []],
        msg_id=["id-1", None, None],
        ttl=[None, 3600, None],
    )
    assert env.write(rows) == TaskCommit(0, 3, 0)
    assert env.bodies() == ["one", "zwei é", ""]
    heard = []
    for sequence in (1, 2, 3):
        env.js.wire.pub(f"$JS.API.DIRECT.GET.{env.name}", f'{{"seq":{sequence}}}', env.js.wire.inbox())
        message = env.js.wire.msg()
        kept = [line for line in message.header.decode().split("\r\n")[1:] if line]
        given = [line for line in kept if line.split(":")[0] in {"K", "Nats-Msg-Id", "Nats-TTL"}]
        heard.append((message.headers["Nats-Subject"], given))
    assert heard == [
        (first, ["K: 1", "K: 2", "Nats-Msg-Id: id-1"]),
        (second, ["Nats-TTL: 3600"]),
        (first, []),
    ]


def test_the_subject_of_all_rows_may_be_an_option_and_find_the_stream(env: SinkEnv) -> None:
    env.create()
    options = QuerySettings.of({"servers": env.server.url, "subject": f"{env.name}.x"}, "write")
    assert BatchWriter(options, schema("data")).write(iter([batch(data=[b"1", b"2"])])).rows == 2
    assert env.bodies() == ["1", "2"]


def test_a_task_writes_all_of_its_batches_and_an_empty_one_connects_to_nobody(env: SinkEnv) -> None:
    env.create()
    assert env.write(env.rows("1", "2"), env.rows(), env.rows("3")).rows == 3
    assert env.bodies() == ["1", "2", "3"]
    writer = env.writer()
    writer._plan = replace(
        writer._plan,
        options=replace(writer._plan.options, address=replace(writer._plan.options.address, servers=())),
    )
    assert writer.write(iter([])) == TaskCommit(0, 0, 0)


def test_a_row_with_a_known_id_is_stored_once_and_counted(env: SinkEnv) -> None:
    env.create()
    rows = batch(subject=[f"{env.name}.a"] * 3, data=[b"1", b"2", b"3"], msg_id=["x", "y", "x"])
    assert env.write(rows) == TaskCommit(0, 3, 1)
    assert env.bodies() == ["1", "2"]


# -- tiers


def test_a_task_that_runs_again_stores_twice_at_least_once_and_once_effectively(env: SinkEnv) -> None:
    env.create()
    rows = env.rows("a", "a", "b")
    once = env.writer(**ONCE)
    assert [once.write(iter([rows])).duplicates for _ in range(2)] == [0, 3]
    assert env.bodies() == ["a", "a", "b"]
    least = env.writer()
    assert [least.write(iter([rows])).duplicates for _ in range(2)] == [0, 0]
    assert env.bodies() == ["a", "a", "b"] * 3


def test_a_write_has_ids_of_its_own_unless_it_is_named(env: SinkEnv) -> None:
    env.create()
    assert [env.write(env.rows("a"), **ONCE).duplicates for _ in range(2)] == [0, 0]
    named = ONCE | {"writeId": "q1:7"}
    assert [env.write(env.rows("a"), **named).duplicates for _ in range(2)] == [0, 1]
    other = ONCE | {"writeId": "q1:8"}
    assert env.write(env.rows("a"), **other).duplicates == 0


def test_rows_that_come_in_another_order_again_are_stored_again_and_none_is_lost(env: SinkEnv) -> None:
    env.create()
    writer = env.writer(**ONCE)
    writer.write(iter([env.rows("a", "b", "c")]))
    writer.write(iter([env.rows("a", "c", "d")]))
    assert env.bodies() == ["a", "b", "c", "c", "d"]


def test_another_attempt_after_the_window_is_refused(env: SinkEnv) -> None:
    env.create()
    options = WriteOptions.of(env.settings(**ONCE))
    plan = WritePlan.make(options, schema("subject", "data"))
    old = replace(plan, begun=plan.begun - 121)
    assert plan.run(WriteTask("w", 0, 1), iter([env.rows("a")])).rows == 1
    assert old.run(WriteTask("w", 0, 0), iter([env.rows("a")])).duplicates == 1
    with pytest.raises(SinkError, match=r"partition 0 is tried again 12\d s after the write began.*120 s"):
        old.run(WriteTask("w", 0, 1), iter([env.rows("a")]))
    least = WritePlan.make(WriteOptions.of(env.settings()), schema("subject", "data"))
    replace(least, begun=0.0).run(WriteTask("w", 0, 1), iter([env.rows("a")]))


def test_a_batch_of_a_query_that_was_down_longer_than_the_window_is_refused(
    env: SinkEnv, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env.create()
    (tmp_path / "offsets").mkdir()

    def run(seconds: float, *, place: str = str(tmp_path), **options: str) -> int:
        recorded = (
            f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":{(time.time() - seconds) * 1000:.0f}}}\n{{}}'
        )
        (tmp_path / "offsets" / "12").write_text(recorded)
        (tmp_path / "offsets" / "9").write_text(recorded.replace("v1", ""))
        made = env.settings(**ONCE, **options)
        writer = StreamWriter(made, schema("subject", "data"), checkpoint=place)
        return writer._plan.run(WriteTask("q:12", 0, 0), iter([env.rows("a")])).duplicates

    assert [run(1), run(60), run(60, place=f"file:{tmp_path}")] == [0, 1, 1]
    with pytest.raises(SinkError, match=r"tried again 12\d s after.*failOnForgottenIds"):
        run(121)
    assert run(121, failOnForgottenIds="false") == 1
    assert not caplog.records
    assert run(121, place="nowhere:/at/all") == 1
    assert "the checkpoint cannot be read here" in caplog.text


def test_a_stream_query_that_does_not_say_its_batch_gets_no_ids(env: SinkEnv) -> None:
    env.create()
    writer = StreamWriter(env.settings(**ONCE), schema("subject", "data"))
    with pytest.raises(SinkError, match="does not say which query and batch"):
        writer.write(iter([env.rows("a")]))
    assert StreamWriter(env.settings(), schema("subject", "data")).write(iter([env.rows("a")])).rows == 1


# -- what is refused


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            BatchWriter,
            'mode("overwrite") is refused: a stream is never purged by a write; use mode("append")',
        ),
        (StreamWriter, 'outputMode("complete") is refused'),
    ],
)
def test_overwrite_is_refused_and_nothing_is_purged(env: SinkEnv, kind: Any, text: str) -> None:
    env.create()
    env.write(env.rows("kept"))
    with pytest.raises(SinkError) as raised:
        kind(env.settings(), schema("subject", "data"), True)
    assert str(raised.value).startswith(text)
    assert env.bodies() == ["kept"]


def test_a_name_for_a_stream_query_is_refused(env: SinkEnv) -> None:
    with pytest.raises(SinkError, match="option writeId names batch writes"):
        StreamWriter(env.settings(writeId="x"), schema("subject", "data"))


def test_a_row_without_subject_fails_the_task_before_any_of_its_batch(env: SinkEnv) -> None:
    env.create()
    bad = batch(subject=[f"{env.name}.a", None], data=[b"2", b"3"])
    with pytest.raises(BadRow, match="row 2 of partition 0 has no subject"):
        env.write(env.rows("1"), bad)
    assert env.bodies() == ["1"]


def test_a_payload_larger_than_the_server_takes_names_the_row(
    serve: Callable[[str], ServerProcess], unique: str
) -> None:
    found = SinkEnv(serve(ALONE + "max_payload: 4KB\n"), unique)
    found.create()
    with pytest.raises(
        BadRow, match=r"row 1 of partition 0 is a message of 4097 bytes; the server's max_pay"
    ):
        found.write(found.rows("x" * 4096, "x" * 4097))
    found.write(found.rows("x" * 4096))
    assert found.bodies() == ["x" * 4096]
    found.js.wire.close()


def test_a_message_larger_than_the_stream_takes_names_the_row(env: SinkEnv) -> None:
    env.create(max_msg_size=10)
    with pytest.raises(BadRow, match=rf"a message of 11 bytes; the max_msg_size of stream {env.name} is 10"):
        env.write(env.rows("x" * 10, "x" * 11))


@pytest.mark.parametrize("limit", [{"max_msgs": 5}, {"max_bytes": 400}])
def test_a_full_stream_that_discards_new_messages_fails_the_task(env: SinkEnv, limit: dict[str, int]) -> None:
    env.create(discard="new", **limit)
    with pytest.raises(RowRejected) as raised:
        env.write(env.rows(*map(str, range(100))))
    assert "exceeded: the stream is full and discards new messages" in str(raised.value)
    assert "of partition 0, subject " + env.name in str(raised.value)
    assert env.bodies() == [str(number) for number in range(len(env.bodies()))]


def test_a_row_for_another_stream_is_an_error(env: SinkEnv, unique: str) -> None:
    env.create()
    env.js.create(f"{env.name}_other", subjects=[f"{unique}other.>"])
    rows = batch(subject=[f"{env.name}.a", f"{unique}other.b"], data=[b"1", b"2"])
    with pytest.raises(RowRejected, match=f"stored by stream {env.name}_other, not by {env.name}"):
        env.write(rows)


def test_a_row_for_no_stream_is_an_error(env: SinkEnv) -> None:
    env.create()
    with pytest.raises(RowRejected, match=r"row 0 of partition 0, subject nowhere\.to: no stream stores"):
        env.write(batch(subject=["nowhere.to"], data=[b""]))


def test_a_connection_that_the_rows_end_again_and_again_says_why(env: SinkEnv) -> None:
    env.create()
    rows = batch(subject=[f"{env.name}.{'x' * 6000}"], data=[b"1"])
    with pytest.raises(Unacknowledged, match=r"no acknowledgement within 0\.5 s.*(?i:maximum control line)"):
        env.write(rows, deliveryTimeout="500ms")


def test_a_subject_that_this_user_may_not_publish_to_is_an_error(
    serve: Callable[[str], ServerProcess], unique: str
) -> None:
    rights = 'users: [{ user: ada, password: pw, permissions: { publish: { deny: "*.denied" } } }]'
    server = serve(ALONE + f"authorization {{ {rights} }}\n")
    with JetStream.of(server, user="ada", **{"pass": "pw"}) as js:
        js.create(unique, subjects=[f"{unique}.>"])
    given = {"servers": server.url, "user": "ada", "password": "pw", "stream": unique}
    writer = BatchWriter(QuerySettings.of(given, "write"), schema("subject", "data"))
    with pytest.raises(NotPermitted, match=f"{unique}.denied"):
        writer.write(iter([batch(subject=[f"{unique}.denied"], data=[b"1"])]))


# -- servers that are not there


@pytest.mark.parametrize("kind", [BatchWriter, StreamWriter])
def test_wrong_credentials_are_an_error_on_the_driver_and_no_text_holds_them(
    serve: Callable[[str], ServerProcess], kind: Any
) -> None:
    server = serve(ALONE + "authorization { user: ada, password: right }\n")
    given = {"servers": server.url, "user": "ada", "password": "wr0ng-word", "stream": "S"}
    settings = QuerySettings.of(given, "write")
    with pytest.raises(AuthorizationError) as raised:
        kind(settings, schema("subject", "data"))
    plan = WritePlan(WriteOptions.of(settings), columns.check(schema("subject", "data"), ""), 0.0)
    for text in (str(raised.value), repr(plan)):
        assert "wr0ng-word" not in text


def test_no_server_is_an_error_on_the_driver_for_a_batch_and_in_the_task_for_a_stream() -> None:
    given = {"servers": "nats://127.0.0.1:1", "stream": "S", "deliveryTimeout": "300ms"}
    settings = QuerySettings.of(given, "write")
    with pytest.raises(NoServers, match=r"127\.0\.0\.1:1"):
        BatchWriter(settings, schema("subject", "data"))
    with pytest.raises(Unacknowledged, match=r"nowhere to write to within 0\.3 s: .*127\.0\.0\.1:1"):
        StreamWriter(settings, schema("subject", "data")).write(iter([batch(subject=["a"], data=[b""])]))


def test_a_stream_query_waits_for_its_server_and_checks_the_stream_in_the_task(
    launch: Callable[[str], ServerProcess], unique: str
) -> None:
    server = launch(ALONE)
    found = SinkEnv(server, unique)
    found.create(storage="file")
    found.js.wire.close()
    server.end()
    first = StreamWriter(found.settings(), schema("subject", "data"))
    second = StreamWriter(found.settings(subject="x.y"), schema("data"))
    server.launch()
    assert pickle.loads(pickle.dumps(first)).write(iter([found.rows("1")])).rows == 1
    with pytest.raises(SinkError, match=rf"stream {unique} stores {unique}\.>: not subject x\.y"):
        second.write(iter([batch(data=[b"2"])]))


@pytest.mark.parametrize("options", [{}, ONCE], ids=["at-least-once", "effectively-once"])
def test_a_server_that_dies_in_mid_write_and_comes_back_has_every_row(
    launch: Callable[[str], ServerProcess], unique: str, options: dict[str, str]
) -> None:
    server = launch(ALONE)
    found = SinkEnv(server, unique)
    found.create(storage="file", duplicate_window=120 * SECOND)
    count = 20_000
    rows = found.rows(*map(str, range(count)))
    writer = found.writer(**options | {"window": "200"})
    done: list[TaskCommit] = []
    died_in_time = []

    def die() -> None:
        eventually(lambda: found.js.state(unique)["messages"] > 500)
        found.js.wire.close()
        server.crash()
        died_in_time.append(not done)
        server.launch()

    thread = threading.Thread(target=die)
    thread.start()
    try:
        done.append(writer.write(iter([rows])))
    finally:
        thread.join()
    assert died_in_time == [True]
    found.js = JetStream.of(server)
    stored = found.bodies()
    found.js.wire.close()
    assert done[0].rows == count
    assert set(map(int, stored)) == set(range(count))
    if options:
        assert stored == [str(number) for number in range(count)]


def test_the_driver_says_what_was_written() -> None:
    assert outcome([TaskCommit(0, 5, 0), None, TaskCommit(1, 7, 0)]) == "12 rows acknowledged"
    assert outcome([TaskCommit(0, 5, 2)]) == "5 rows acknowledged, 2 of them stored before"
