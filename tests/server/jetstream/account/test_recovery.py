"""Recovery: what is served while streams are being opened, each step of the reading in the test's hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lib.streams import Spy, World
from pyjs.server.jetstream.account import pending_publishes
from pyjs.server.logging import NullLogger
from pyjs.store.fs import Disk

TEMPORARILY = 10008


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two streams with messages on the disk; `reopen` begins to read them."""
    world = World(str(tmp_path))
    for name in ("A", "B"):
        world.stream(name, storage="file", subjects=[f"{name}.>"])
        world.publish(f"{name}.1", b"stored")
    return world


def reopen(world: World) -> None:
    """Start anew: nothing is read before the test allows it."""
    world.close()
    world.runner.held = True
    world.open()


def step(world: World) -> None:
    """Let a worker do what was asked of it first."""
    world.runner.jobs.pop(0).finish()


def finish(world: World) -> None:
    world.runner.held = False
    world.runner.release()


def error(answer: dict[str, Any]) -> int:
    return int(answer.get("error", {}).get("err_code", 0))


def test_before_the_streams_are_known_everything_is_temporarily_unavailable(world: World) -> None:
    reopen(world)
    for request in ("STREAM.INFO.A", "STREAM.INFO.other", "STREAM.NAMES", "STREAM.LIST", "INFO"):
        assert error(world.call(request)) == TEMPORARILY, request
    assert error(world.call("STREAM.CREATE.C", {"name": "C", "subjects": ["c"]})) == TEMPORARILY
    finish(world)
    assert world.call("STREAM.NAMES")["streams"] == ["A", "B"]
    assert world.call("INFO")["streams"] == 2


def test_a_stream_serves_as_soon_as_it_is_open(world: World) -> None:
    reopen(world)
    step(world)  # the configurations
    step(world)  # A
    assert world.call("STREAM.INFO.A")["state"]["messages"] == 1
    assert error(world.call("CONSUMER.CREATE.A", {"stream_name": "A", "config": {}})) == 0
    for request in ("STREAM.INFO.B", "STREAM.DELETE.B", "STREAM.PURGE.B", "CONSUMER.NAMES.B"):
        assert error(world.call(request)) == TEMPORARILY, request
    finish(world)
    assert world.call("STREAM.INFO.B")["state"]["messages"] == 1


def test_names_are_listed_when_they_are_known_and_what_asks_about_all_waits_for_all(world: World) -> None:
    reopen(world)
    step(world)
    assert world.call("STREAM.NAMES")["streams"] == ["A", "B"]
    assert world.call("STREAM.NAMES", {"subject": "B.x"})["streams"] == ["B"]
    step(world)
    assert error(world.call("STREAM.LIST")) == error(world.call("INFO")) == TEMPORARILY
    finish(world)
    assert [one["config"]["name"] for one in world.call("STREAM.LIST")["streams"]] == ["A", "B"]


def test_no_stream_is_made_beside_one_that_is_not_open_yet(world: World) -> None:
    reopen(world)
    step(world)
    same = {"name": "A", "subjects": ["A.>"], "storage": "file"}
    assert error(world.call("STREAM.CREATE.A", same)) == TEMPORARILY
    assert error(world.call("STREAM.CREATE.C", {"name": "C", "subjects": ["A.*"]})) == TEMPORARILY
    assert error(world.call("STREAM.CREATE.C", {"name": "C", "subjects": ["c"]})) == 0
    assert error(world.call("STREAM.UPDATE.C", {"name": "C", "subjects": ["B.x"]})) == TEMPORARILY
    finish(world)
    assert world.call("STREAM.NAMES")["streams"] == ["A", "B", "C"]


def test_what_is_not_open_counts_against_the_limits(tmp_path: Path) -> None:
    world = World(str(tmp_path))
    world.limits.max_store = 1000
    world.js.limits.change({"": world.limits})
    world.stream("A", storage="file", subjects=["A"], max_bytes=900)
    reopen(world)
    step(world)
    more = {"name": "C", "subjects": ["c"], "storage": "file", "max_bytes": 200}
    assert error(world.call("STREAM.CREATE.C", more)) == 10047
    finish(world)
    assert error(world.call("STREAM.CREATE.C", more)) == 10047
    assert world.js.limits.files.reserved == 900


def test_publishes_wait_in_order_and_are_acknowledged_when_they_are_stored(world: World) -> None:
    reopen(world)
    step(world)
    acks = Spy(world.account, "ack")
    for number in range(3):
        world.account.publish("B.2", b"%d" % number, reply="ack")
    world.account.publish("B.2", b"nobody asks")
    assert not acks.messages
    finish(world)
    stored = [(one.seq, one.body) for one in world.messages(world.js.streams["B"])]
    assert stored == [(1, b"stored"), (2, b"0"), (3, b"1"), (4, b"2"), (5, b"nobody asks")]
    assert acks.bodies == [b'{"stream":"B","seq":%d}' % seq for seq in (2, 3, 4)]
    world.publish("B.3", b"once")
    assert world.js.streams["B"].store.last_seq == 6


def test_what_waits_has_a_bound_and_who_asked_is_answered(world: World, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        pending_publishes.PendingLimit.__init__, "__defaults__", (2 * pending_publishes.OVERHEAD,)
    )
    reopen(world)
    step(world)
    answers = [world.publish("A.2", b"x" * 100) for _ in range(3)]
    assert [b'"err_code":10008' in answer for answer in answers] == [False, True, True]
    finish(world)
    assert world.js.streams["A"].store.last_seq == 2


def test_one_that_cannot_be_opened_does_not_stop_the_others(world: World, tmp_path: Path) -> None:
    world.close()
    for block in tmp_path.glob("**/streams/A/msgs"):
        block.rename(block.with_name("elsewhere"))
        block.write_text("a file where a directory should be")
    world.runner.held = True
    world.open()
    step(world)
    acks = Spy(world.account, "ack")
    world.account.publish("A.2", reply="ack")
    finish(world)
    assert b'"err_code":10194' in acks.bodies[0]
    assert error(world.call("STREAM.INFO.A")) == 10194
    assert world.call("STREAM.INFO.B")["state"]["messages"] == 1
    assert list(world.call("STREAM.LIST")["offline"]) == ["A"]


def test_a_mirror_follows_when_its_origin_is_open(tmp_path: Path) -> None:
    world = World(str(tmp_path))
    world.stream("Z", storage="file", subjects=["z"])
    world.stream("M", storage="file", subjects=[], mirror={"name": "Z"})
    reopen(world)
    step(world)
    step(world)
    assert list(world.js.streams) == ["M"]
    assert world.js.streams["M"].sourcing is None
    finish(world)
    assert world.js.streams["M"].sourcing is not None


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_an_account_that_stops_meanwhile_leaves_everything_as_it_was(world: World, steps: int) -> None:
    reopen(world)
    for _ in range(steps):
        step(world)
    acks = Spy(world.account, "ack")
    world.account.publish("B.2", reply="ack")
    world.recovery.remove("$G")
    jobs, world.runner.jobs = world.runner.jobs, []
    world.runner.held = False
    world.close()
    for job in jobs:  # a worker that had begun
        job.finish()
    assert all(b'"err_code":10008' in body for body in acks.bodies)
    world.open()
    assert world.call("STREAM.INFO.B")["state"]["messages"] == 1
    assert world.js.limits.files.used == sum(stream.store.bytes for stream in world.js.streams.values())


def test_an_account_that_comes_back_is_not_read_by_two_at_once(world: World) -> None:
    reopen(world)
    step(world)
    world.recovery.remove("$G")
    first, world.runner.jobs = world.runner.jobs, []
    world.js.stop()
    world.recovery.add(world.js)
    assert not world.runner.jobs
    for job in first:
        job.finish()
    finish(world)
    assert world.call("STREAM.NAMES")["streams"] == ["A", "B"]


def test_progress_counts_what_is_not_open(world: World) -> None:
    done: list[bool] = []
    reopen(world)
    world.recovery.when_done(lambda: done.append(True))
    assert "reads which streams" in world.recovery.progress()
    step(world)
    assert world.recovery.progress() == "JetStream is recovering 2 of 2 streams"
    step(world)
    assert world.recovery.progress() == "JetStream is recovering 1 of 2 streams"
    assert not done
    finish(world)
    assert world.recovery.progress() == "" and done


def test_files_that_are_in_use_are_not_read(world: World) -> None:
    world.recovery.hold("$G")
    world.recovery.hold("$G")
    world.js.stop()
    world.recovery.add(world.js)
    world.recovery.release("$G")
    assert error(world.call("STREAM.NAMES")) == TEMPORARILY and not world.recovery.done
    world.recovery.release("$G")
    assert world.call("STREAM.NAMES")["streams"] == ["A", "B"] and world.recovery.done


def test_where_the_streams_cannot_be_listed_none_is_taken_for_absent(world: World, tmp_path: Path) -> None:
    world.close()
    streams = tmp_path / "jetstream" / "$G" / "streams"
    streams.rename(tmp_path / "aside")
    streams.write_text("a file in place of the folder")
    world.open()
    assert "cannot list the streams of account '$G'" in world.recovery.progress()
    for request in ("STREAM.INFO.A", "STREAM.NAMES", "INFO"):
        assert error(world.call(request)) == TEMPORARILY, request
    assert error(world.call("STREAM.CREATE.A", {"name": "A", "subjects": ["A.>"]})) == TEMPORARILY
    world.close()
    streams.unlink()
    (tmp_path / "aside").rename(streams)
    world.open()
    assert world.call("STREAM.NAMES")["streams"] == ["A", "B"]


class Closed(Disk):
    """A disk that lets nobody look into the store."""

    def exists(self, path: str) -> bool:
        raise PermissionError(13, "Permission denied", path)

    def names(self, path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)


def test_what_the_disk_does_not_let_see_is_not_new(tmp_path: Path) -> None:
    world = World(str(tmp_path), fs=Closed())
    assert "cannot list the streams of account '$G'" in world.recovery.progress()
    assert error(world.call("STREAM.INFO.A")) == TEMPORARILY


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
    world = World(str(tmp_path), log=log)
    world.stream("S", storage="file", subjects=["s"])
    world.publish("s", b"stored")
    world.close()
    (path,) = tmp_path.rglob(name)
    for harm, logged, other in (
        (lambda: path.write_bytes(b"damaged"), log.warnings, log.infos),
        (path.unlink, log.infos, log.warnings),
    ):
        harm()
        world.open()
        world.close()
        assert any(f"{name} " in line and "written anew" in line for line in logged)
        assert not any("written anew" in line for line in other)
        log.infos.clear()
        log.warnings.clear()
