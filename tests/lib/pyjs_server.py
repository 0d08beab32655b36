"""pyjs with the same interface as the reference: a process with nats-server's command line."""

from __future__ import annotations

from .process import ServerProcess


def start(config: str) -> ServerProcess:
    """Start pyjs with `config` (see lib/process.py) and wait until it is ready."""
    return ServerProcess.start("pyjs", (), config)
