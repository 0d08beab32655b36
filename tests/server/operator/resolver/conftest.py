"""An operator, and the folder of the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.token_issuer import Operated
from pyjs.server.operator.resolver.directory import TokenDirectory


@pytest.fixture
def operated() -> Operated:
    return Operated()


@pytest.fixture
def make(operated: Operated, tmp_path: Path) -> Callable[..., TokenDirectory]:
    """Opens the test's folder, as often as wanted."""
    return lambda **options: operated.directory(tmp_path / "jwt", **options)
