"""Quota: how many bytes of one storage an account uses, and may use.

Promises: `used` is the sum of what the streams reported; a quota's usage counts in its parent's (the
server's) too.
"""

from __future__ import annotations

from ...protocol.errors import ApiError, api_error


class Quota:
    """Bytes used against a limit (-1: none). `reserved` is the sum of the max_bytes of streams."""

    __slots__ = ("limit", "parent", "reserved", "used")

    def __init__(self, limit: int = -1, parent: Quota | None = None) -> None:
        self.limit = limit
        self.parent = parent
        self.used = 0
        self.reserved = 0

    def add(self, size: int) -> None:
        """Count `size` bytes more (or fewer)."""
        self.used += size
        if self.parent is not None:
            self.parent.used += size

    def reserve(self, size: int) -> None:
        """Count a reservation (or give one back)."""
        self.reserved += size
        if self.parent is not None:
            self.parent.reserved += size

    def refusal(self, size: int) -> ApiError | None:
        """Say why `size` bytes more may not be stored, or None."""
        parent = self.parent
        if parent is not None and 0 <= parent.limit < parent.used:
            return api_error("JSInsufficientResourcesErr")
        if 0 <= self.limit < self.used + size:
            return api_error("JSAccountResourcesExceededErr")
        return None

    def can_reserve(self, size: int) -> bool:
        """Say whether a stream may be promised `size` bytes (-1:

        no promise, but one byte must be possible).
        """
        size = 1 if size < 0 else size
        if 0 <= self.limit < self.reserved + size:
            return False
        parent = self.parent
        return parent is None or not 0 <= parent.limit < parent.reserved + size
