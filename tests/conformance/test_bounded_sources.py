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
