"""Closing: streams are written out side by side, and nothing is answered before it is on the disk."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from lib.streams import Spy, World
from pyjs.server.jetstream.account.stream_closer import StreamCloser
from pyjs.server.task_executor import LoopTaskExecutor


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(str(tmp_path))
    for name in ("A", "B"):
        world.stream(name, storage="file", subjects=[name])
        world.call(f"CONSUMER.CREATE.{name}.C", {"stream_name": name, "config": {"durable_name": "C"}})
    return world


def close(world: World, ends: list[str]) -> None:
    StreamCloser(world.runner, world.js.leave(), lambda: ends.append("closed"))


def test_what_was_stored_last_is_acknowledged_when_it_is_on_the_disk(world: World) -> None:
    acks, ends = Spy(world.account, "ack"), list[str]()
    world.runner.held = True
    world.account.publish("A", b"one", reply="ack")  # its commit begins
    world.account.publish("A", b"two", reply="ack")  # and this waits for the next one
    close(world, ends)
    assert not acks.messages and not ends
    world.runner.release()
    assert [b'"seq":%d' % seq in body for seq, body in enumerate(acks.bodies, 1)] == [True, True]
    assert ends == ["closed"]
    assert world.js.limits.files.used == world.js.limits.files.reserved == 0
    world.runner.held = False
    world.storage.close()
    world.open()
    assert [one.body for one in world.messages(world.js.streams["A"])] == [b"one", b"two"]


def test_nothing_is_heard_while_it_is_written_out(world: World) -> None:
    ends: list[str] = []
    world.runner.held = True
    close(world, ends)
    assert world.publish("A", b"late") == b""
    world.runner.release()
    assert ends == ["closed"]


def test_one_that_cannot_be_written_does_not_keep_the_others(world: World, monkeypatch: Any) -> None:
    ends: list[str] = []
    acks = Spy(world.account, "ack")
    world.runner.held = True
    world.account.publish("B", b"stored", reply="ack")

    def refuse() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(world.js.streams["A"].store, "close", refuse)
    close(world, ends)
    world.runner.release()
    assert ends == ["closed"]
    assert b'"seq":1' in acks.bodies[0]


def test_nothing_to_close_is_closed_at_once(tmp_path: Path) -> None:
    ends: list[str] = []
    close(World(str(tmp_path)), ends)
    assert ends == ["closed"]


def test_streams_are_written_side_by_side(world: World, monkeypatch: Any) -> None:
    """Each waits in its worker until the other is being written, too."""
    together = Barrier(2, timeout=20)
    for stream in world.js.streams.values():
        write_out = stream.write_out

        def meet(write_out: Any = write_out) -> None:
            together.wait()
            write_out()

        monkeypatch.setattr(stream, "write_out", meet)

    async def story() -> None:
        closed = asyncio.Event()
        with ThreadPoolExecutor(4) as pool:
            runner = LoopTaskExecutor(asyncio.get_running_loop(), pool)
            StreamCloser(runner, world.js.leave(), closed.set)
            await closed.wait()

    asyncio.run(asyncio.wait_for(story(), 30))
    assert not together.broken
