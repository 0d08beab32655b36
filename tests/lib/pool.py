"""Servers that the tests of a module share: one process per implementation and configuration."""

from __future__ import annotations

import logging
from collections.abc import Callable

from . import pyjs_server, reference
from .process import ServerProcess

_log = logging.getLogger(__name__)

START: dict[str, Callable[[str], ServerProcess]] = {"reference": reference.start, "pyjs": pyjs_server.start}


class Pool:
    """Running servers by (implementation, configuration)."""

    def __init__(self) -> None:
        self.running: dict[tuple[str, str], ServerProcess] = {}
        self.failed: dict[tuple[str, str], Exception] = {}

    def get(self, implementation: str, config: str) -> ServerProcess:
        """Return the server, started if there is none; a start that failed once fails again at once.

        nats-server may die in a test of odd requests; it is then started again on its files.
        """
        key = (implementation, config)
        if key in self.failed:
            raise self.failed[key]
        if key not in self.running:
            try:
                self.running[key] = START[implementation](config)
            except Exception as error:
                self.failed[key] = error
                raise
        server = self.running[key]
        if implementation == "reference" and server.process is not None and server.process.poll() is not None:
            _log.warning("nats-server has died, and is started again:\n%s", server.log()[-3000:])
            server.launch()
        return server

    def close(self) -> None:
        """Stop all."""
        for server in self.running.values():
            server.stop()
        self.running.clear()
