"""Work in slices is done at once here, so that no test depends on how busy the machine is."""

from __future__ import annotations

import pytest
from pyjs.server import slices


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a slice take as long as it needs."""
    monkeypatch.setattr(slices, "SECONDS", 1000.0)
