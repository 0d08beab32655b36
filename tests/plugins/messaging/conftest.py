"""What the tests of messaging share: a raw client, a stream, and waiting for a command to subscribe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from lib.wire import Wire


@pytest.fixture
def wire(server: ServerProcess) -> Iterator[Wire]:
    """A raw client."""
    with server.connect() as connection:
        yield connection


@pytest.fixture
def stream(cli: Cli, unique: str) -> Iterator[str]:
    """An empty stream with the subjects `<name>.>`."""
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>")
    yield unique
    cli.run("stream", "rm", unique, "--force")
