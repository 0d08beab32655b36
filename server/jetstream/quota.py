"""Quota: how many bytes of one storage an account uses, and may use.

Promises: `used` is the sum of what the streams reported; a quota's usage counts in its parent's (the
server's) too. In a cluster an account's limits are for all servers together: what the others use is as they
reported it, and what has come since then is counted for them, too. Where the configuration names no limit,
the server's is a share of what the machine has.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ...protocol.errors import ApiError, api_error

SHARE = 0.75
# Nearer than this to the server's limit, each message counts at once: more than one commit can bring.
MARGIN = 256 * 1024 * 1024


class Quota:
    """Bytes used against a limit (-1: none). `reserved` is the sum of the max_bytes of streams.

    guarded: `refusal` may refuse, so that usage has to be exact for each message; without, a stream's usage
    may be counted once per commit. absent: the account has no limits for such streams, and so may store
    nothing (the limit is then 0).
    """

    __slots__ = ("_elsewhere", "_reported", "absent", "limit", "parent", "reserved", "used")

    def __init__(self, limit: int = -1, parent: Quota | None = None) -> None:
        self.limit = limit
        self.parent = parent
        self.used = 0
        self.reserved = 0
        self.absent = False
        self._elsewhere = 0
        self._reported = 0

    @property
    def guarded(self) -> bool:
        """Whether the limits matter for the next message: the account's, or the server's nearly used up."""
        if self.limit >= 0:
            return True
        parent = self.parent
        return parent is not None and 0 <= parent.limit < parent.used + MARGIN

    def grant(self, limit: int | None) -> None:
        """Set the account's limit; None: it has none that applies, and may store nothing."""
        self.absent = limit is None
        self.limit = 0 if limit is None else limit

    def add(self, size: int) -> None:
        """Count `size` bytes more (or fewer)."""
        self.used += size
        if self.parent is not None:
            self.parent.add(size)

    def set_reported(self, elsewhere: int, reported: int) -> None:
        """The other servers use `elsewhere` bytes; this one had reported that it uses `reported`."""
        self._elsewhere = elsewhere
        self._reported = reported

    def reserve(self, size: int) -> None:
        """Count a reservation (or give one back)."""
        self.reserved += size
        if self.parent is not None:
            self.parent.reserved += size

    def refusal(self, size: int, copies: int = 1) -> ApiError | None:
        """Why `size` bytes more may not be stored, on so many servers each, or None."""
        parent = self.parent
        if parent is not None and 0 <= parent.limit < parent.used:
            return api_error("JSInsufficientResourcesErr")
        if 0 <= self.limit < self._elsewhere + self._reported + (self.used - self._reported + size) * copies:
            return api_error("JSNoLimitsErr" if self.absent else "JSAccountResourcesExceededErr")
        return None

    def can_reserve(self, size: int) -> bool:
        """Whether a stream may reserve `size` bytes (-1: no reservation, but one byte must be possible)."""
        size = 1 if size < 0 else size
        if 0 <= self.limit < self.reserved + size:
            return False
        parent = self.parent
        return parent is None or not 0 <= parent.limit < parent.reserved + size


def memory_share() -> int:
    """The share of the machine's memory, in bytes; -1 where that is not known."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemTotal:"):
                return int(int(line.split()[1]) * 1024 * SHARE)
    except (OSError, ValueError, IndexError):
        return -1
    return -1


def disk_share(directory: str) -> int:
    """The share of what is free on a directory's disk, in bytes; -1 where that is not known."""
    try:
        return int(shutil.disk_usage(directory).free * SHARE)
    except OSError:
        return -1
