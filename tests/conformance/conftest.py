"""What most conformance tests of JetStream start from: one server with JetStream, and its API."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess


@pytest.fixture
def js(serve: Callable[[str], ServerProcess]) -> Iterator[JetStream]:
    """The API on a connection of the test's own; the server is shared."""
    with JetStream.of(serve(ALONE)) as api:
        yield api
