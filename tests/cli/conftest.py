"""A command line with a home of its own, and a server with a user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess

WITH_USER = """
listen: "127.0.0.1:<client>"
jetstream { store_dir: "<store>" }
authorization { user: ada, password: "s3cret" }
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """`pyjs` without any server."""
    return Cli(tmp_path)


@pytest.fixture
def guarded(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    """A server that knows one user, ada with s3cret."""
    return serve(WITH_USER)
