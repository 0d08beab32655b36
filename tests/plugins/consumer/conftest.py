"""A stream of three messages for each test of consumers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lib.cli import Cli


@pytest.fixture
def stream(cli: Cli, unique: str) -> Iterator[str]:
    """A stream with the subjects `<name>.>` that holds `one`, `two` and `three` on `<name>.a`."""
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>")
    for body in ("one", "two", "three"):
        cli.ok("pub", f"{unique}.a", body, "-J", "-q")
    yield unique
    cli.run("stream", "rm", unique, "--force")
