"""A JetStream account for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.streams import JetStreamFixture


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[JetStreamFixture]:
    made = JetStreamFixture(str(tmp_path))
    yield made
    made.close()
