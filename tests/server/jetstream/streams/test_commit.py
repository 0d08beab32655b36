"""Group commit: when each publish is answered, and what an error of the disk means."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.fake_clock import FakeClock
from lib.fake_disk import FakeDisk
from lib.streams import HandRunner, JetStreamFixture, Spy
from pyjs.server import loop_writes
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.jetstream.streams import commit
from pyjs.server.jetstream.streams.commit import GroupCommit
from pyjs.store.errors import StoreClosed
from pyjs.store.file.stream import FileStream


def publish(fixture: JetStreamFixture, subject: str, reply: str) -> None:
    fixture.account.publish(subject, b"x", reply=reply, own=True)


def takes(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let every commit take so long."""
    times = itertools.count(0.0, seconds)
    monkeypatch.setattr(commit, "perf_counter", lambda: next(times))


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


@pytest.fixture
def lazy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[JetStreamFixture, FakeDisk]]:
    """A stream with one message on a quick disk that delays syncs. Commits on threads wait."""
    takes(monkeypatch, 0.0)
    disk = FakeDisk()
    disk.delays_sync = True
    fixture = JetStreamFixture(str(tmp_path), fs=disk)
    fixture.stream(subjects=["s"], storage="file")
    publish(fixture, "s", "")
    fixture.runner.paused = True
    yield fixture, disk
    fixture.runner.release()
    fixture.close()


def test_a_write_without_a_sync_needs_no_thread(lazy: tuple[JetStreamFixture, FakeDisk]) -> None:
    fixture, disk = lazy
    spy = Spy(fixture.account, "ack")
    writes = disk.writes
    publish(fixture, "s", "ack")
    assert spy.bodies == [b'{"stream":"S","seq":2}']
    assert disk.writes > writes


def test_a_large_write_and_a_new_block_run_on_a_thread(lazy: tuple[JetStreamFixture, FakeDisk]) -> None:
    fixture, _ = lazy
    spy = Spy(fixture.account, "ack")
    fixture.account.publish("s", bytes(1 << 20), reply="ack", own=True)
    assert (len(fixture.runner.jobs), spy.bodies) == (1, [])
    fixture.stream("T", subjects=["t"], storage="file")
    publish(fixture, "t", "ack")
    assert (len(fixture.runner.jobs), spy.bodies) == (2, [])


def test_a_disk_that_makes_the_loop_wait_gets_its_writes_from_a_thread(
    lazy: tuple[JetStreamFixture, FakeDisk], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture, _ = lazy
    spy = Spy(fixture.account, "ack")
    fixture.runner.paused = False
    takes(monkeypatch, 2 * loop_writes.SLOW)
    publish(fixture, "s", "ack")
    takes(monkeypatch, 0.0)
    for _ in range(loop_writes.QUICK):
        publish(fixture, "s", "ack")
    fixture.runner.paused = True
    publish(fixture, "s", "ack")
    assert (fixture.runner.jobs, len(spy.bodies)) == ([], loop_writes.QUICK + 2)
    takes(monkeypatch, 2 * loop_writes.SLOW)
    publish(fixture, "s", "ack")
    for _ in range(2):
        publish(fixture, "s", "ack")
    assert (len(fixture.runner.jobs), len(spy.bodies)) == (1, loop_writes.QUICK + 3)


def read(fixture: JetStreamFixture, *replies: str) -> None:
    """Publish to `s` for each reply, as if one read of a connection had brought it."""
    flusher = fixture.account.flusher
    flusher.reading = True
    for reply in replies:
        publish(fixture, "s", reply)
    flusher.end_read()
    flusher.reading = False


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JetStreamFixture]:
    """A stream whose disk has synced quickly, often enough. Commits on threads wait."""
    takes(monkeypatch, 0.0)
    fixture = JetStreamFixture(str(tmp_path), fs=FakeDisk())
    fixture.stream(subjects=["s"], storage="file")
    for _ in range(loop_writes.QUICK):
        publish(fixture, "s", "")
    fixture.runner.paused = True
    yield fixture
    fixture.runner.release()
    fixture.close()


def test_a_publish_of_the_only_connection_is_synced_and_answered_at_the_end_of_its_read(
    quick: JetStreamFixture,
) -> None:
    disk = quick.fs
    assert isinstance(disk, FakeDisk)
    before = disk.syncs
    syncs: list[int] = []
    quick.account.subscribe("ack", lambda _: syncs.append(disk.syncs))
    read(quick, "ack")
    assert (quick.runner.jobs, syncs) == ([], [before + 1])


def test_a_sync_runs_on_a_thread_while_another_connection_sends(quick: JetStreamFixture) -> None:
    spy = Spy(quick.account, "ack")
    quick.account.flusher.since = quick.clock.now()
    quick.clock.advance(loop_writes.ALONE - 1)
    read(quick, "ack")
    assert (len(quick.runner.jobs), spy.bodies) == (1, [])
    quick.runner.release()
    quick.clock.advance(1)
    read(quick, "ack")
    assert (quick.runner.jobs, len(spy.bodies)) == ([], 2)


@pytest.mark.parametrize("replies", [["ack", "ack"], [""]], ids=["two", "not awaited"])
def test_a_sync_that_is_for_several_or_for_nobody_runs_on_a_thread(
    quick: JetStreamFixture, replies: list[str]
) -> None:
    read(quick, *replies)
    assert len(quick.runner.jobs) == 1


def test_a_slow_sync_sends_the_next_ones_to_a_thread(
    quick: JetStreamFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = Spy(quick.account, "ack")
    takes(monkeypatch, 2 * loop_writes.SLOW)
    read(quick, "ack")
    assert (quick.runner.jobs, len(spy.bodies)) == ([], 1)
    takes(monkeypatch, 0.0)
    for _ in range(3 * loop_writes.QUICK):
        read(quick, "ack")
        assert len(quick.runner.jobs) == 1
        quick.runner.release()
    read(quick, "ack")
    assert quick.runner.jobs == []


def test_a_new_stream_syncs_on_a_thread_until_it_knows_the_disk(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], storage="file")
    fixture.runner.paused = True
    publish(fixture, "s", "")
    fixture.runner.release()
    read(fixture, "ack")
    assert len(fixture.runner.jobs) == 1
    fixture.runner.release()


def test_a_failed_sync_at_the_end_of_a_read_ends_the_stream(quick: JetStreamFixture) -> None:
    spy = Spy(quick.account, "ack")
    assert isinstance(quick.fs, FakeDisk)
    quick.fs.fail("sync", path="msgs")
    for _ in range(2):
        read(quick, "ack")
    assert [json.loads(body)["error"]["err_code"] for body in spy.bodies] == [10077, 10077]
    assert quick.runner.jobs == []


def test_a_failed_write_on_the_loop_ends_the_stream(lazy: tuple[JetStreamFixture, FakeDisk]) -> None:
    fixture, disk = lazy
    spy = Spy(fixture.account, "ack")
    disk.fail("write", path="msgs")
    for _ in range(2):
        publish(fixture, "s", "ack")
    assert [json.loads(body)["error"]["err_code"] for body in spy.bodies] == [10077, 10077]


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
        store,
        runner,
        Flusher(FakeClock()),
        lambda *message: None,
        answers.extend,
        lambda seq: None,
        lambda error: b"refused",
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


@pytest.mark.parametrize(("code", "count"), [(errno.ENOSPC, 1), (errno.EDQUOT, 1), (errno.EIO, 0)])
def test_the_system_account_hears_of_a_full_disk(tmp_path: Path, code: int, count: int) -> None:
    disk = FakeDisk()
    disk.make_directory(str(tmp_path))
    fixture = JetStreamFixture(str(tmp_path), fs=disk)
    fixture.host.system = Account("SYS", fixture.account.flusher)
    heard = Spy(fixture.host.system, "$JS.EVENT.ADVISORY.SERVER.OUT_OF_STORAGE")
    fixture.stream(subjects=["s"], storage="file")
    disk.fail("write", code, path="msgs")
    publish(fixture, "s", "ack")
    assert len(heard.bodies) == count
    for event in map(json.loads, heard.bodies):
        assert event["type"] == "io.nats.jetstream.advisory.v1.server_out_of_space"
        assert (event["stream"], event["server"]) == ("S", fixture.host.server_name)
