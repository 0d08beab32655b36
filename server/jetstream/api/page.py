"""Page: the part of a list that one response contains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

NAMES_LIMIT = 1024  # names on a page of NAMES
LIST_LIMIT = 256  # infos on a page of LIST
T = TypeVar("T")


class Page(Generic[T]):
    """At most `limit` items of what was found, from `offset` on.

    total: how many were found.
    items: those on this page.
    """

    def __init__(self, found: Sequence[T], offset: int, limit: int) -> None:
        self.total = len(found)
        self.offset = min(max(offset, 0), self.total)
        self.limit = limit
        self.items = list(found[self.offset : self.offset + limit])

    def numbers(self) -> dict[str, Any]:
        """Return total, offset and limit, as responses have them."""
        return {"total": self.total, "offset": self.offset, "limit": self.limit}
