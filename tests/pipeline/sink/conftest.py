"""A stream of the test's own for what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.jetstream import ALONE
from lib.process import ServerProcess
from lib.sink_fixture import SinkEnv


@pytest.fixture
def env(serve: Callable[[str], ServerProcess], unique: str) -> Iterator[SinkEnv]:
    """On a server that other tests use too."""
    found = SinkEnv(serve(ALONE), unique)
    yield found
    found.js.wire.close()
