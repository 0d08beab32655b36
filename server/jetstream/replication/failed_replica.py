"""FailedReplica: what stands in a group for a replica whose files cannot be read just now."""

from __future__ import annotations

from collections.abc import Sequence

from ....store.errors import StoreError


class FailedReplica:
    """In the place of a replica that could not be opened: its group ends with the first entry."""

    applied = 0

    def __init__(self, why: str) -> None:
        self._why = why

    def apply(self, entries: Sequence[tuple[int, bytes]], upto: int) -> None:
        """Refuse."""
        raise StoreError(self._why)

    def take(self) -> tuple[int, bytes] | None:
        """Nothing."""
        return None

    def restore(self, data: bytes, index: int) -> None:
        """Refuse."""
        raise StoreError(self._why)
