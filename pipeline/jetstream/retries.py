"""The one rule of trying again, for planning, opening and reading: which errors may pass, and how often."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ...client import ConnectionLost, NoResponders, NoServers, TimedOut
from ...protocol.errors import ApiError
from .errors import Interrupted

UNAVAILABLE = 503  # no leader, or JetStream has not started yet
_PASSING = (Interrupted, ConnectionLost, NoResponders, NoServers, TimedOut)


def may_pass(error: Exception) -> bool:
    """Return whether the same request may succeed a moment later, at this server or another one."""
    return isinstance(error, _PASSING) or (isinstance(error, ApiError) and error.code == UNAVAILABLE)


@dataclass
class Retries:
    """Counts failures in a row.

    most: how many of them are tried again
    interval: seconds before each new attempt
    """

    most: int
    interval: float
    failures: int = 0

    def succeeded(self) -> None:
        """Note that there was progress: the next failure is the first one in a row."""
        self.failures = 0

    def again(self) -> bool:
        """Note a failure that may pass; wait and return True if it is to be tried again."""
        self.failures += 1
        if self.failures > self.most:
            return False
        time.sleep(self.interval)
        return True
