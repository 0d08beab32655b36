"""Exactly-once writes: rows in atomic batches with marks, tried again in every way, on both servers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from lib.frames import batch, schema
from lib.jetstream import ALONE
from lib.process import ServerProcess
from lib.sink_fixture import SinkEnv
from pyjs.client import ConnectionLost
from pyjs.pipeline.sink import BadRow, SinkError, atomic
from pyjs.pipeline.sink.task import WriteTask
from pyjs.pipeline.sink.write_options import WriteOptions
from pyjs.pipeline.sink.writer import BatchWriter, WritePlan

MANY = 2500


class KilledError(Exception):
    """What ends an attempt in its middle."""


def options(env: SinkEnv, **more: str) -> dict[str, str]:
    return {"guarantee": "exactly-once", "markSubject": f"{env.name}.marks", "deliveryTimeout": "30s"} | more


def plan(env: SinkEnv, **more: str) -> WritePlan:
    made = WriteOptions.of(env.settings(**options(env, **more)))
    return WritePlan.make(made, schema("subject", "data"))


def rows(env: SinkEnv, first: int, end: int) -> pa.RecordBatch:
    bodies = [b"%d" % number for number in range(first, end)]
    return batch(subject=[f"{env.name}.rows"] * len(bodies), data=bodies)


def parts(env: SinkEnv, count: int, *, killed_at: int | None = None) -> Iterator[pa.RecordBatch]:
    for first in range(0, count, 100):
        if killed_at is not None and first >= killed_at:
            raise KilledError
        yield rows(env, first, min(first + 100, count))


def stored(env: SinkEnv) -> list[int]:
    return [int(body) for body in env.bodies() if not body.startswith("{")]


def attempt(number: int, batch_number: int = 7) -> WriteTask:
    return WriteTask(f"q:{batch_number}", 0, number, name="q", batch=batch_number)


def test_a_task_that_is_killed_and_tried_again_stores_each_row_once(env: SinkEnv) -> None:
    env.create(allow_atomic=True)
    for number, killed_at in enumerate((500, 1000, 1900)):
        with pytest.raises(KilledError):
            plan(env).run(attempt(number), parts(env, MANY, killed_at=killed_at))
    assert stored(env) == list(range(1800))  # whole batches, without what was on its way
    assert plan(env).run(attempt(3), parts(env, MANY)).duplicates == 1800
    assert plan(env).run(attempt(0), parts(env, MANY)).duplicates == MANY  # a restart, after any time
    assert stored(env) == list(range(MANY))


def test_batches_of_a_query_follow_each_other_and_none_goes_back(env: SinkEnv) -> None:
    env.create(allow_atomic=True)
    for number in (7, 8):
        for _ in range(2):
            plan(env).run(attempt(0, number), iter([rows(env, number * 10, number * 10 + 5)]))
    assert stored(env) == [70, 71, 72, 73, 74, 80, 81, 82, 83, 84]
    with pytest.raises(SinkError, match="has batch 8 of this query already, and batch 7"):
        plan(env).run(attempt(0), iter([rows(env, 70, 75)]))
    other = WriteTask("q:7", 1, 0, name="q", batch=7)
    assert plan(env).run(other, iter([rows(env, 90, 92)])).duplicates == 0


def test_other_rows_than_before_are_refused(env: SinkEnv) -> None:
    env.create(allow_atomic=True)
    plan(env).run(attempt(0), iter([rows(env, 0, 10)]))
    for again in (rows(env, 1, 12), rows(env, 0, 9), rows(env, 0, 0)):
        with pytest.raises(SinkError, match="10 rows of this task are stored, and now they are others"):
            plan(env).run(attempt(1), iter([again]))
    assert plan(env).run(attempt(1), iter([rows(env, 0, 12)])).duplicates == 10
    assert stored(env) == list(range(12))


def test_attempts_at_the_same_time_store_each_row_once(env: SinkEnv) -> None:
    env.create(allow_atomic=True)
    failures: list[BaseException] = []
    gate = threading.Barrier(3)

    def run(number: int) -> None:
        try:
            made = plan(env)
            gate.wait()
            made.run(attempt(number), parts(env, MANY))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert stored(env) == list(range(MANY))


def test_a_server_that_is_killed_while_rows_are_written(
    launch: Callable[[str], ServerProcess], unique: str
) -> None:
    server = launch(ALONE)
    env = SinkEnv(server, unique)
    env.create(allow_atomic=True, storage="file")

    def killing() -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(parts(env, 5000)):
            if number in {12, 30}:
                server.crash()
                server.launch()
            yield part

    assert plan(env).run(attempt(0), killing()).rows == 5000
    env.js.wire.close()
    again = SinkEnv(server, unique)
    assert stored(again) == list(range(5000))
    again.js.wire.close()


def test_an_acknowledgement_that_is_lost_is_looked_up(env: SinkEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    env.create(allow_atomic=True)
    send = atomic.AtomicPublisher._send
    lost: list[int] = []

    def losing(self: atomic.AtomicPublisher, mark: atomic.Mark) -> int:
        sequence = send(self, mark)
        if len(lost) < 2:
            lost.append(sequence)
            self.connection.close()
            raise ConnectionLost("cut")
        return sequence

    monkeypatch.setattr(atomic.AtomicPublisher, "_send", losing)
    assert plan(env).run(attempt(0), parts(env, MANY)).rows == MANY
    assert len(lost) == 2
    assert stored(env) == list(range(MANY))


def test_a_batch_write_by_its_name(env: SinkEnv) -> None:
    env.create(allow_atomic=True)
    for name, duplicates in (("a.b c", 0), ("a.b c", 3), ("other", 0)):
        writer = env.writer(**options(env, writeId=name))
        assert writer.write(iter([rows(env, 0, 3)])).duplicates == duplicates
    assert stored(env) == [0, 1, 2] * 2


@pytest.mark.parametrize(
    ("config", "given", "text"),
    [
        ({}, {}, "takes no atomic batches.*--allow-batch"),
        ({"allow_atomic": True}, {"markSubject": "else.where"}, "does not store the marks"),
        ({"allow_atomic": True}, {"guarantee": "at-least-once"}, "need each other"),
    ],
)
def test_what_cannot_be_exactly_once_is_refused(
    env: SinkEnv, config: dict[str, Any], given: dict[str, str], text: str
) -> None:
    env.create(**config)
    with pytest.raises(SinkError, match=text):
        BatchWriter(env.settings(**options(env, **given)), schema("subject", "data"))


def test_a_row_that_the_stream_does_not_store_or_that_is_too_large_leaves_nothing_behind(
    env: SinkEnv,
) -> None:
    env.create(allow_atomic=True, max_msg_size=1000)
    for bad, text in (
        (batch(subject=[f"{env.name}.a", "else.where"], data=[b"1", b"2"]), "row 1.*else.where, which the"),
        (batch(subject=[f"{env.name}.a"] * 2, data=[b"1", b"x" * 900]), "row 1.*less what exactly-once adds"),
    ):
        with pytest.raises(BadRow, match=text):
            plan(env).run(attempt(0), iter([bad]))
    assert env.bodies() == []
