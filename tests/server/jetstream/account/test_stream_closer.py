"""Closing: streams are written side by side, and nothing is answered before it is on the disk."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from lib.streams import JetStreamFixture, Spy
from pyjs.server.jetstream.account.stream_closer import StreamCloser
from pyjs.server.task_executor import LoopTaskExecutor


@pytest.fixture
def fixture(tmp_path: Path) -> JetStreamFixture:
    fixture = JetStreamFixture(str(tmp_path))
    for name in ("A", "B"):
        fixture.stream(name, storage="file", subjects=[name])
        fixture.call(f"CONSUMER.CREATE.{name}.C", {"stream_name": name, "config": {"durable_name": "C"}})
    return fixture


def close(fixture: JetStreamFixture, ends: list[str]) -> None:
    StreamCloser(fixture.runner, fixture.js.leave(), lambda: ends.append("closed"))


def test_what_was_stored_last_is_acknowledged_when_it_is_on_the_disk(fixture: JetStreamFixture) -> None:
    acks, ends = Spy(fixture.account, "ack"), list[str]()
    fixture.runner.paused = True
    fixture.account.publish("A", b"one", reply="ack")  # its commit begins
    fixture.account.publish("A", b"two", reply="ack")  # and this waits for the next one
    close(fixture, ends)
    assert not acks.messages and not ends
    fixture.runner.release()
    assert [b'"seq":%d' % seq in body for seq, body in enumerate(acks.bodies, 1)] == [True, True]
    assert ends == ["closed"]
    assert fixture.js.limits.files.used == fixture.js.limits.files.reserved == 0
    fixture.runner.paused = False
    fixture.storage.close()
    fixture.open()
    assert [one.body for one in fixture.messages(fixture.js.streams["A"])] == [b"one", b"two"]


def test_nothing_is_heard_while_it_is_written_out(fixture: JetStreamFixture) -> None:
    ends: list[str] = []
    fixture.runner.paused = True
    close(fixture, ends)
    assert fixture.publish("A", b"late") == b""
    fixture.runner.release()
    assert ends == ["closed"]


def test_one_that_cannot_be_written_does_not_keep_the_others(
    fixture: JetStreamFixture, monkeypatch: Any
) -> None:
    ends: list[str] = []
    acks = Spy(fixture.account, "ack")
    fixture.runner.paused = True
    fixture.account.publish("B", b"stored", reply="ack")

    def refuse() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fixture.js.streams["A"].store, "close", refuse)
    close(fixture, ends)
    fixture.runner.release()
    assert ends == ["closed"]
    assert b'"seq":1' in acks.bodies[0]


def test_nothing_to_close_is_closed_at_once(tmp_path: Path) -> None:
    ends: list[str] = []
    close(JetStreamFixture(str(tmp_path)), ends)
    assert ends == ["closed"]


def test_streams_are_written_side_by_side(fixture: JetStreamFixture, monkeypatch: Any) -> None:
    """Each waits in its worker until the other is being written, too."""
    together = Barrier(2, timeout=20)
    for stream in fixture.js.streams.values():
        write_out = stream.write_out

        def meet(write_out: Any = write_out) -> None:
            together.wait()
            write_out()

        monkeypatch.setattr(stream, "write_out", meet)

    async def scenario() -> None:
        closed = asyncio.Event()
        with ThreadPoolExecutor(4) as pool:
            runner = LoopTaskExecutor(asyncio.get_running_loop(), pool)
            StreamCloser(runner, fixture.js.leave(), closed.set)
            await closed.wait()

    asyncio.run(asyncio.wait_for(scenario(), 30))
    assert not together.broken
