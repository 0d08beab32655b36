"""Recovery: what is served while streams are being opened, where the test decides each step of reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lib.streams import JetStreamFixture, Spy
from pyjs.server.jetstream.account import pending_publishes
from pyjs.server.logging import NullLogger
from pyjs.store.fs import Disk

TEMPORARILY = 10008


@pytest.fixture
def fixture(tmp_path: Path) -> JetStreamFixture:
    """Two streams with messages on the disk; `reopen` begins to read them."""
    fixture = JetStreamFixture(str(tmp_path))
    for name in ("A", "B"):
        fixture.stream(name, storage="file", subjects=[f"{name}.>"])
        fixture.publish(f"{name}.1", b"stored")
    return fixture


def reopen(fixture: JetStreamFixture) -> None:
    """Start again: nothing is read before the test allows it."""
    fixture.close()
    fixture.runner.paused = True
    fixture.open()


def step(fixture: JetStreamFixture) -> None:
    """Let a worker do what was asked of it first."""
    fixture.runner.jobs.pop(0).finish()


def finish(fixture: JetStreamFixture) -> None:
    fixture.runner.paused = False
    fixture.runner.release()


def error(answer: dict[str, Any]) -> int:
    return int(answer.get("error", {}).get("err_code", 0))


def test_before_the_streams_are_known_everything_is_temporarily_unavailable(
    fixture: JetStreamFixture,
) -> None:
    reopen(fixture)
    for request in ("STREAM.INFO.A", "STREAM.INFO.other", "STREAM.NAMES", "STREAM.LIST", "INFO"):
        assert error(fixture.call(request)) == TEMPORARILY, request
    assert error(fixture.call("STREAM.CREATE.C", {"name": "C", "subjects": ["c"]})) == TEMPORARILY
    finish(fixture)
    assert fixture.call("STREAM.NAMES")["streams"] == ["A", "B"]
    assert fixture.call("INFO")["streams"] == 2


def test_a_stream_serves_as_soon_as_it_is_open(fixture: JetStreamFixture) -> None:
    reopen(fixture)
    step(fixture)  # the configurations
    step(fixture)  # A
    assert fixture.call("STREAM.INFO.A")["state"]["messages"] == 1
    assert error(fixture.call("CONSUMER.CREATE.A", {"stream_name": "A", "config": {}})) == 0
    for request in ("STREAM.INFO.B", "STREAM.DELETE.B", "STREAM.PURGE.B", "CONSUMER.NAMES.B"):
        assert error(fixture.call(request)) == TEMPORARILY, request
    finish(fixture)
    assert fixture.call("STREAM.INFO.B")["state"]["messages"] == 1


def test_names_are_listed_when_they_are_known_and_what_asks_about_all_waits_for_all(
    fixture: JetStreamFixture,
) -> None:
    reopen(fixture)
    step(fixture)
    assert fixture.call("STREAM.NAMES")["streams"] == ["A", "B"]
    assert fixture.call("STREAM.NAMES", {"subject": "B.x"})["streams"] == ["B"]
    step(fixture)
    assert error(fixture.call("STREAM.LIST")) == error(fixture.call("INFO")) == TEMPORARILY
    finish(fixture)
    assert [one["config"]["name"] for one in fixture.call("STREAM.LIST")["streams"]] == ["A", "B"]


def test_no_stream_is_made_beside_one_that_is_not_open_yet(fixture: JetStreamFixture) -> None:
    reopen(fixture)
    step(fixture)
    same = {"name": "A", "subjects": ["A.>"], "storage": "file"}
    assert error(fixture.call("STREAM.CREATE.A", same)) == TEMPORARILY
    assert error(fixture.call("STREAM.CREATE.C", {"name": "C", "subjects": ["A.*"]})) == TEMPORARILY
    assert error(fixture.call("STREAM.CREATE.C", {"name": "C", "subjects": ["c"]})) == 0
    assert error(fixture.call("STREAM.UPDATE.C", {"name": "C", "subjects": ["B.x"]})) == TEMPORARILY
    finish(fixture)
    assert fixture.call("STREAM.NAMES")["streams"] == ["A", "B", "C"]


def test_what_is_not_open_counts_against_the_limits(tmp_path: Path) -> None:
    fixture = JetStreamFixture(str(tmp_path))
    fixture.limits.max_store = 1000
    fixture.js.limits.change({"": fixture.limits})
    fixture.stream("A", storage="file", subjects=["A"], max_bytes=900)
    reopen(fixture)
    step(fixture)
    more = {"name": "C", "subjects": ["c"], "storage": "file", "max_bytes": 200}
    assert error(fixture.call("STREAM.CREATE.C", more)) == 10047
    finish(fixture)
    assert error(fixture.call("STREAM.CREATE.C", more)) == 10047
    assert fixture.js.limits.files.reserved == 900


def test_publishes_wait_in_order_and_are_acknowledged_when_they_are_stored(fixture: JetStreamFixture) -> None:
    reopen(fixture)
    step(fixture)
    acks = Spy(fixture.account, "ack")
    for number in range(3):
        fixture.account.publish("B.2", b"%d" % number, reply="ack")
    fixture.account.publish("B.2", b"nobody asks")
    assert not acks.messages
    finish(fixture)
    stored = [(one.seq, one.body) for one in fixture.messages(fixture.js.streams["B"])]
    assert stored == [(1, b"stored"), (2, b"0"), (3, b"1"), (4, b"2"), (5, b"nobody asks")]
    assert acks.bodies == [b'{"stream":"B","seq":%d}' % seq for seq in (2, 3, 4)]
    fixture.publish("B.3", b"once")
    assert fixture.js.streams["B"].store.last_seq == 6


def test_what_waits_has_a_bound_and_who_asked_is_answered(
    fixture: JetStreamFixture, monkeypatch: Any
) -> None:
    monkeypatch.setattr(
        pending_publishes.PendingLimit.__init__, "__defaults__", (2 * pending_publishes.OVERHEAD,)
    )
    reopen(fixture)
    step(fixture)
    answers = [fixture.publish("A.2", b"x" * 100) for _ in range(3)]
    assert [b'"err_code":10008' in answer for answer in answers] == [False, True, True]
    finish(fixture)
    assert fixture.js.streams["A"].store.last_seq == 2


def test_one_that_cannot_be_opened_does_not_stop_the_others(
    fixture: JetStreamFixture, tmp_path: Path
) -> None:
    fixture.close()
    for block in tmp_path.glob("**/streams/A/msgs"):
        block.rename(block.with_name("elsewhere"))
        block.write_text("a file where a directory should be")
    fixture.runner.paused = True
    fixture.open()
    step(fixture)
    acks = Spy(fixture.account, "ack")
    fixture.account.publish("A.2", reply="ack")
    finish(fixture)
    assert b'"err_code":10194' in acks.bodies[0]
    assert error(fixture.call("STREAM.INFO.A")) == 10194
    assert fixture.call("STREAM.INFO.B")["state"]["messages"] == 1
    assert list(fixture.call("STREAM.LIST")["offline"]) == ["A"]


def test_a_mirror_follows_when_its_origin_is_open(tmp_path: Path) -> None:
    fixture = JetStreamFixture(str(tmp_path))
    fixture.stream("Z", storage="file", subjects=["z"])
    fixture.stream("M", storage="file", subjects=[], mirror={"name": "Z"})
    reopen(fixture)
    step(fixture)
    step(fixture)
    assert list(fixture.js.streams) == ["M"]
    assert fixture.js.streams["M"].sourcing is None
    finish(fixture)
    assert fixture.js.streams["M"].sourcing is not None


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_an_account_that_stops_meanwhile_leaves_everything_as_it_was(
    fixture: JetStreamFixture, steps: int
) -> None:
    reopen(fixture)
    for _ in range(steps):
        step(fixture)
    acks = Spy(fixture.account, "ack")
    fixture.account.publish("B.2", reply="ack")
    fixture.recovery.remove("$G")
    jobs, fixture.runner.jobs = fixture.runner.jobs, []
    fixture.runner.paused = False
    fixture.close()
    for job in jobs:  # a worker that had begun
        job.finish()
    assert all(b'"err_code":10008' in body for body in acks.bodies)
    fixture.open()
    assert fixture.call("STREAM.INFO.B")["state"]["messages"] == 1
    assert fixture.js.limits.files.used == sum(stream.store.bytes for stream in fixture.js.streams.values())


def test_an_account_that_comes_back_is_not_read_by_two_at_once(fixture: JetStreamFixture) -> None:
    reopen(fixture)
    step(fixture)
    fixture.recovery.remove("$G")
    first, fixture.runner.jobs = fixture.runner.jobs, []
    fixture.js.stop()
    fixture.recovery.add(fixture.js)
    assert not fixture.runner.jobs
    for job in first:
        job.finish()
    finish(fixture)
    assert fixture.call("STREAM.NAMES")["streams"] == ["A", "B"]


def test_progress_counts_what_is_not_open(fixture: JetStreamFixture) -> None:
    done: list[bool] = []
    reopen(fixture)
    fixture.recovery.when_done(lambda: done.append(True))
    assert "reads which streams" in fixture.recovery.progress()
    step(fixture)
    assert fixture.recovery.progress() == "JetStream is recovering 2 of 2 streams"
    step(fixture)
    assert fixture.recovery.progress() == "JetStream is recovering 1 of 2 streams"
    assert not done
    finish(fixture)
    assert fixture.recovery.progress() == "" and done


def test_files_that_are_in_use_are_not_read(fixture: JetStreamFixture) -> None:
    fixture.recovery.hold("$G")
    fixture.recovery.hold("$G")
    fixture.js.stop()
    fixture.recovery.add(fixture.js)
    fixture.recovery.release("$G")
    assert error(fixture.call("STREAM.NAMES")) == TEMPORARILY and not fixture.recovery.done
    fixture.recovery.release("$G")
    assert fixture.call("STREAM.NAMES")["streams"] == ["A", "B"] and fixture.recovery.done


def test_where_the_streams_cannot_be_listed_none_is_taken_for_absent(
    fixture: JetStreamFixture, tmp_path: Path
) -> None:
    fixture.close()
    streams = tmp_path / "jetstream" / "$G" / "streams"
    streams.rename(tmp_path / "aside")
    streams.write_text("a file in place of the folder")
    fixture.open()
    assert "cannot list the streams of account '$G'" in fixture.recovery.progress()
    for request in ("STREAM.INFO.A", "STREAM.NAMES", "INFO"):
        assert error(fixture.call(request)) == TEMPORARILY, request
    assert error(fixture.call("STREAM.CREATE.A", {"name": "A", "subjects": ["A.>"]})) == TEMPORARILY
    fixture.close()
    streams.unlink()
    (tmp_path / "aside").rename(streams)
    fixture.open()
    assert fixture.call("STREAM.NAMES")["streams"] == ["A", "B"]


class Closed(Disk):
    """A disk that lets nobody look into the store."""

    def exists(self, path: str) -> bool:
        raise PermissionError(13, "Permission denied", path)

    def names(self, path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)


def test_what_the_disk_does_not_let_see_is_not_new(tmp_path: Path) -> None:
    fixture = JetStreamFixture(str(tmp_path), fs=Closed())
    assert "cannot list the streams of account '$G'" in fixture.recovery.progress()
    assert error(fixture.call("STREAM.INFO.A")) == TEMPORARILY


class Levels(NullLogger):
    """A log that keeps what is logged at two levels."""

    def __init__(self) -> None:
        self.infos: list[str] = []
        self.warnings: list[str] = []

    def info(self, text: str) -> None:
        """Keep it."""
        self.infos.append(text)

    def warning(self, text: str) -> None:
        """Keep it."""
        self.warnings.append(text)


@pytest.mark.parametrize("name", ["manifest", "0000000001-0.idx"])
def test_a_damaged_second_file_is_a_warning_and_a_missing_one_is_not(tmp_path: Path, name: str) -> None:
    log = Levels()
    fixture = JetStreamFixture(str(tmp_path), log=log)
    fixture.stream("S", storage="file", subjects=["s"])
    fixture.publish("s", b"stored")
    fixture.close()
    (path,) = tmp_path.rglob(name)
    for harm, logged, other in (
        (lambda: path.write_bytes(b"damaged"), log.warnings, log.infos),
        (path.unlink, log.infos, log.warnings),
    ):
        harm()
        fixture.open()
        fixture.close()
        assert any(f"{name} " in line and "rewritten" in line for line in logged)
        assert not any("rewritten" in line for line in other)
        log.infos.clear()
        log.warnings.clear()
