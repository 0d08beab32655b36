"""A JetStream account for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.streams import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(str(tmp_path))
    yield made
    made.close()
