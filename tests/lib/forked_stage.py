"""The stage of a demo with servers that are forked, for tests of what they do: they start ten times as fast.

How the stage starts servers itself is tested in tests/plugins/demo.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyjs.plugins.demo.stage import Stage

from .preforked import process_pool


class ForkedStage(Stage):
    """A stage with servers of lib/preforked.py."""

    def spawn(self, config: Path, log: Path, env: Mapping[str, str]) -> Any:
        """Start the process of a server, whose output is appended to `log`."""
        return process_pool("pyjs-server").start(["-c", config.name], log, self.directory, env=env)
