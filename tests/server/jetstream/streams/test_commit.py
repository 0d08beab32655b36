"""Group commit: when each publish is answered, and what an error of the disk means."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from lib.fake_disk import FakeDisk
from lib.streams import HandRunner, JetStreamFixture, Spy
from pyjs.server.jetstream.streams.commit import GroupCommit
from pyjs.store.errors import StoreClosed
from pyjs.store.file.stream import FileStream


def publish(fixture: JetStreamFixture, subject: str, reply: str) -> None:
    fixture.account.publish(subject, b"x", reply=reply, own=True)


def test_an_answer_waits_for_the_sync(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], storage="file")
    spy = Spy(fixture.account, "ack")
    fixture.runner.paused = True
    publish(fixture, "s", "ack")
    assert spy.bodies == []
    fixture.runner.release()
    assert spy.bodies == [b'{"stream":"S","seq":1}']


def test_what_arrives_during_a_sync_is_synced_together_by_the_next(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], storage="file")
    spy = Spy(fixture.account, "ack")
    fixture.runner.paused = True
    for _ in range(5):
        publish(fixture, "s", "ack")
    assert len(fixture.runner.jobs) == 1
    fixture.runner.jobs.pop(0).finish()
    assert (len(spy.bodies), stream.committed_seq) == (1, 1)
    assert len(fixture.runner.jobs) == 1
    fixture.runner.jobs.pop(0).finish()
    assert (len(spy.bodies), stream.committed_seq) == (5, 5)
    assert fixture.runner.jobs == []


def test_a_duplicate_is_answered_no_sooner_than_its_original_is_on_disk(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], storage="file")
    spy = Spy(fixture.account, "ack")
    fixture.runner.paused = True
    header = b"NATS/1.0\r\nNats-Msg-Id: a\r\n\r\n"
    for _ in range(2):
        fixture.account.publish("s", b"x", reply="ack", header=header, own=True)
    assert spy.bodies == []
    fixture.runner.release()
    assert spy.bodies == [b'{"stream":"S","seq":1}', b'{"stream":"S","seq":1,"duplicate": true}']


def test_a_republish_waits_for_the_sync_too(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], storage="file", republish={"dest": "again.>"})
    spy = Spy(fixture.account, "again.>")
    fixture.runner.paused = True
    publish(fixture, "s", "ack")
    assert spy.bodies == []
    fixture.runner.release()
    assert spy.bodies == [b"x"]


def test_a_failed_sync_is_reported_to_its_publishers_and_ends_the_stream(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], storage="file")
    spy = Spy(fixture.account, "ack")
    fixture.runner.paused = True
    publish(fixture, "s", "ack")
    job = fixture.runner.jobs.pop()
    assert job.result() is None
    job._error = OSError(5, "Input/output error")
    job.finish()
    publish(fixture, "s", "ack")
    assert [json.loads(body)["error"]["err_code"] for body in spy.bodies] == [10077, 10077]
    assert stream.committed_seq == 0


def test_a_stop_answers_what_was_stored(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], storage="file")
    spy = Spy(fixture.account, "ack")
    fixture.runner.paused = True
    publish(fixture, "s", "ack")
    publish(fixture, "s", "ack")
    fixture.js.stop()
    assert len(spy.bodies) == 2


def test_publishers_hear_at_the_end_that_the_store_takes_no_commit(tmp_path: Path) -> None:
    runner = HandRunner()
    runner.soon = lambda callback: None  # type: ignore[method-assign] # the end comes first
    store = FileStream(str(tmp_path))
    reported: list[BaseException | None] = []
    answers: list[tuple[bytes, bytes]] = []
    queue = GroupCommit(
        store, runner, lambda *message: None, answers.extend, lambda seq: None, lambda error: b"refused"
    )
    queue.answers.append((b"reply", b"stored"))
    queue.after(reported.append)
    store.close()
    queue.close()
    assert answers == [(b"reply", b"refused")]
    assert [type(error) for error in reported] == [StoreClosed]
    assert isinstance(queue.error, StoreClosed)


def test_a_stop_answers_what_was_stored_also_if_the_files_are_not_closed_well(tmp_path: Path) -> None:
    disk = FakeDisk()
    fixture = JetStreamFixture(str(tmp_path), fs=disk)
    fixture.stream(subjects=["s"], storage="file")
    spy = Spy(fixture.account, "ack")
    fixture.runner.paused = True
    publish(fixture, "s", "ack")
    assert fixture.runner.jobs[0].result() is None
    disk.fail("write", path="manifest")
    fixture.close()
    assert spy.bodies == [b'{"stream":"S","seq":1}']


def test_a_purge_is_answered_when_it_is_on_disk(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], storage="file")
    publish(fixture, "s", "ack")
    spy = Spy(fixture.account, "answer")
    fixture.runner.paused = True
    fixture.account.publish("$JS.API.STREAM.PURGE.S", b"", reply="answer", own=True)
    assert spy.bodies == []
    fixture.runner.release()
    assert json.loads(spy.bodies[0])["purged"] == 1


def test_a_store_that_takes_no_commit_is_reported_to_its_publishers(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], storage="file")
    spy = Spy(fixture.account, "ack")
    stream.store.close()
    publish(fixture, "s", "ack")
    publish(fixture, "s", "ack")
    assert [json.loads(body)["error"]["err_code"] for body in spy.bodies] == [10077, 10077]


def test_a_waiter_that_fails_does_not_stop_the_commits(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], storage="file")
    spy = Spy(fixture.account, "ack")
    fixture.runner.paused = True
    publish(fixture, "s", "ack")

    def broken(_: BaseException | None) -> None:
        raise RuntimeError("bug")

    stream.ack_queue.after(broken)
    publish(fixture, "s", "ack")
    fixture.runner.jobs.pop(0).finish()
    with contextlib.suppress(RuntimeError):
        fixture.runner.jobs.pop(0).finish()
    publish(fixture, "s", "ack")
    fixture.runner.release()
    assert len(spy.bodies) == 3
