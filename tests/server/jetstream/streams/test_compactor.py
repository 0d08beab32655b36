"""The space of removed messages is given back while the stream goes on."""

from __future__ import annotations

from pathlib import Path

from lib.streams import World

SECOND = 1_000_000_000


def on_disk(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("msgs/*") if file.is_file())


def test_removed_messages_give_their_space_back(world: World, tmp_path: Path) -> None:
    stream = world.stream(subjects=["s.*"], storage="file", max_msgs_per_subject=1)
    body = bytes(200_000)
    world.publish("s.first", b"stays")
    for number in range(300):
        world.publish(f"s.{number % 2}", body)
    before = on_disk(tmp_path)
    world.clock.advance(20 * SECOND)
    assert before > 50_000_000
    assert on_disk(tmp_path) < before // 2
    assert world.messages(stream)[0].body == b"stays"
    assert world.publish("s.first", b"new") == b'{"stream":"S","seq":302}'


def test_a_stop_waits_for_what_is_being_done(world: World) -> None:
    stream = world.stream(subjects=["s.*"], storage="file", max_msgs_per_subject=1)
    body = bytes(200_000)
    world.publish("s.first", b"stays")
    for number in range(200):
        world.publish(f"s.{number % 2}", body)
    world.runner.held = True
    world.clock.advance(2 * SECOND)
    assert len(world.runner.jobs) == 1
    world.js.stop()
    world.runner.release()
    assert stream.stopped
