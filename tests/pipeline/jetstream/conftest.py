"""A shared server with JetStream of each implementation, a link to it and its API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from lib.jetstream import ALONE
from lib.process import ServerProcess
from pyjs.client import BlockingConnection, ConnectionOptions
from pyjs.pipeline.jetstream import JetStreamRequests, UnknownStream


@pytest.fixture
def server(serve: Callable[[str], ServerProcess], unique: str) -> Iterator[ServerProcess]:
    """The shared server, without the test's stream when the test is over."""
    server = serve(ALONE)
    yield server
    with BlockingConnection.open(ConnectionOptions((server.url,))) as connection, suppress(UnknownStream):
        JetStreamRequests(connection).stream(unique)
        JetStreamRequests(connection).call(f"STREAM.DELETE.{unique}")


@pytest.fixture
def api(server: ServerProcess) -> Iterator[JetStreamRequests]:
    """The API on a link of the test's own."""
    with BlockingConnection.open(ConnectionOptions((server.url,))) as connection:
        yield JetStreamRequests(connection)
