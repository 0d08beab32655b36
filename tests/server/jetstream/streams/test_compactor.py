"""The space of removed messages is freed while the stream is in use."""

from __future__ import annotations

from pathlib import Path

from lib.streams import JetStreamFixture

SECOND = 1_000_000_000


def on_disk(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("msgs/*") if file.is_file())


def test_removed_messages_give_their_space_back(fixture: JetStreamFixture, tmp_path: Path) -> None:
    stream = fixture.stream(subjects=["s.*"], storage="file", max_msgs_per_subject=1)
    body = bytes(200_000)
    fixture.publish("s.first", b"stays")
    for number in range(300):
        fixture.publish(f"s.{number % 2}", body)
    before = on_disk(tmp_path)
    fixture.clock.advance(20 * SECOND)
    assert before > 50_000_000
    assert on_disk(tmp_path) < before // 2
    assert fixture.messages(stream)[0].body == b"stays"
    assert fixture.publish("s.first", b"new") == b'{"stream":"S","seq":302}'


def test_a_stop_waits_for_what_is_being_done(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], storage="file", max_msgs_per_subject=1)
    body = bytes(200_000)
    fixture.publish("s.first", b"stays")
    for number in range(200):
        fixture.publish(f"s.{number % 2}", body)
    fixture.runner.paused = True
    fixture.clock.advance(2 * SECOND)
    assert len(fixture.runner.jobs) == 1
    fixture.js.stop()
    fixture.runner.release()
    assert stream.stopped
