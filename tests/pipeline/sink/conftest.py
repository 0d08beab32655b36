"""A stream of the test's own for what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.jetstream import ALONE
from lib.process import ServerProcess
from lib.sink_fixture import Site


@pytest.fixture
def site(serve: Callable[[str], ServerProcess], unique: str) -> Iterator[Site]:
    """On a server that other tests use too."""
    found = Site(serve(ALONE), unique)
    yield found
    found.js.wire.close()
