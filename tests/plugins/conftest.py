"""A command line connected to a JetStream server, by pyjs and by the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
jetstream { store_dir: "<store>" }
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    """The server that the tests of a module share."""
    return serve(CONFIG)


@pytest.fixture
def cli(server: ServerProcess, tmp_path: Path) -> Cli:
    """`pyjs --server …`."""
    return Cli(tmp_path, "--server", server.url)
