"""Quota: how many bytes of one storage an account uses, and may use.

Promises:
- `used` is the sum of what the streams reported; a quota's usage counts in its parent's (the server's) as
  well.
- In a cluster an account's limits are for all servers together: what the others use is what they reported,
  and what came here since the last report is counted once for each server that stores it.
- Where the configuration names no limit, the server's limit is a share of what the machine has.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...protocol.errors import ApiError, api_error

SHARE = 0.75
# When less than this is left of the server's limit, each message counts at once. It is more than one commit
# can bring.
MARGIN = 256 * 1024 * 1024


class Quota:
    """Bytes used against a limit.

    limit: bytes, -1 for none.
    parent: the server's quota; None if this is it.
    used: bytes stored on this server.
    reserved: the sum of the max_bytes of streams.
    absent: whether the account has no limits for such streams, and so may store nothing (the limit is then
        0).

    While `guarded` is true, `refusal` may refuse, and usage has to be exact for each message; otherwise a
    stream's usage may be counted once per commit.
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
        """Whether the next message may exceed a limit: the account's, or the server's if little is left."""
        if self.limit >= 0:
            return True
        parent = self.parent
        return parent is not None and 0 <= parent.limit < parent.used + MARGIN

    def grant(self, limit: int | None) -> None:
        """Set the account's limit; None if no limits apply to it, so that it may store nothing."""
        self.absent = limit is None
        self.limit = 0 if limit is None else limit

    def add(self, size: int) -> None:
        """Count `size` bytes more, or fewer if it is negative."""
        self.used += size
        if self.parent is not None:
            self.parent.used += size

    def set_reported(self, elsewhere: int, reported: int) -> None:
        """Note that the other servers use `elsewhere` bytes, and that this one reported `reported`."""
        self._elsewhere = elsewhere
        self._reported = reported

    def reserve(self, size: int) -> None:
        """Count a reservation of `size` bytes, or return one if it is negative."""
        self.reserved += size
        if self.parent is not None:
            self.parent.reserved += size

    def refusal(self, size: int, copies: int = 1) -> ApiError | None:
        """Return why `size` bytes more, on `copies` servers each, may not be stored; None if they may."""
        parent = self.parent
        if parent is not None and 0 <= parent.limit < parent.used:
            return api_error("JSInsufficientResourcesErr")
        if 0 <= self.limit < self._elsewhere + self._reported + (self.used - self._reported + size) * copies:
            return api_error("JSNoLimitsErr" if self.absent else "JSAccountResourcesExceededErr")
        return None

    def can_reserve(self, size: int) -> bool:
        """Return whether a stream may reserve `size` bytes; -1 is none, but one byte must be possible."""
        size = 1 if size < 0 else size
        if 0 <= self.limit < self.reserved + size:
            return False
        parent = self.parent
        return parent is None or not 0 <= parent.limit < parent.reserved + size


def memory_share() -> int:
    """Return SHARE of the machine's memory, in bytes; -1 if that is not known."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemTotal:"):
                return int(int(line.split()[1]) * 1024 * SHARE)
    except (OSError, ValueError, IndexError):
        return -1
    return -1


def disk_share(directory: str) -> int:
    """Return SHARE of what is free on a directory's disk, in bytes; -1 if that is not known."""
    try:
        disk = os.statvfs(directory)
    except OSError:
        return -1
    return int(disk.f_bavail * disk.f_frsize * SHARE)
