"""A stream with many sources delays nobody while it catches up; see test_bounded_work."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess

SOURCES = 30
EACH = 600


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(ALONE)


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    """Its API; streams o<n>, all with `EACH` messages."""
    with JetStream.of(server) as api:
        for number in range(SOURCES):
            api.create(f"o{number}", subjects=[f"o{number}.*"])
            api.wire.send("".join(f"PUB o{number}.{at % 10} 1\r\nx\r\n" for at in range(EACH)))
            api.wire.sync()
        yield api


def test_many_sources_are_copied(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    with callbacks.bounded(server):
        js.create("all", sources=[{"name": f"o{number}"} for number in range(SOURCES)])
        eventually(lambda: js.state("all")["messages"] == SOURCES * EACH, seconds=60)
    state = js.info("all", subjects_filter=">")["state"]
    assert state["subjects"] == {
        f"o{number}.{at}": EACH // 10 for number in range(SOURCES) for at in range(10)
    }


def test_a_long_stream_is_copied_and_pushed(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    """Runs of messages are copied at once, and limits remove as many; a client hears them, too."""
    count = 20_000
    js.create("long", subjects=["long.*"])
    for start in range(0, count, 1000):
        body = "x" * 500
        js.wire.send("".join(f"PUB long.{at % 700} 500\r\n{body}\r\n" for at in range(start, start + 1000)))
        js.wire.sync()
    js.wire.sub("to", "push")
    with callbacks.bounded(server):
        js.create("mirror", mirror={"name": "long"})
        js.create("short", sources=[{"name": "long"}], max_msgs=100, max_msgs_per_subject=3)
        js.consumer("long", "C", deliver_subject="to", ack_policy="none")
        eventually(lambda: js.state("mirror")["messages"] == count, seconds=60)
        eventually(lambda: js.state("short")["last_seq"] == count, seconds=60)
        assert len(js.wire.msgs(count)) == count
    assert js.state("short")["messages"] == 100
