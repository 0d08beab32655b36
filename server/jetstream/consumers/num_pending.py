"""NumPending: how many messages a consumer has yet to be given: counted once, then kept up to date.

Promises never to walk the stream: additions are asked of the store's index for the new sequences only,
deliveries and removals are counted as they happen.
"""

from collections.abc import Sequence

from ....protocol.subject import matches
from ....store.stream import StreamStore


class NumPending:
    """The number of matching messages at or after the consumer's position."""

    __slots__ = ("_filters", "_store", "_through", "count")

    def __init__(self, store: StreamStore, filters: Sequence[str]) -> None:
        self._store = store
        self._filters = tuple(filters)
        self.count = 0
        self._through = 0  # the last sequence that was counted

    def recount(self, next_seq: int, picked: int = 0, filters: Sequence[str] | None = None) -> None:
        """Count anew from `next_seq`, plus `picked` messages before it that are still to come."""
        if filters is not None:
            self._filters = tuple(filters)
        self.count = picked + self._store.count(self._filters, next_seq)
        self._through = max(self._store.last_seq, next_seq - 1)

    def grow(self) -> None:
        """Count what was stored since."""
        last = self._store.last_seq
        if last > self._through:
            self.count += self._store.count(self._filters, self._through + 1)
            self._through = last

    def removed(self, seq: int, subject: str, next_seq: int) -> None:
        """Take note that the message `seq` left the stream before it was delivered."""
        if next_seq <= seq <= self._through and self.selects(subject):
            self.count -= 1

    def selects(self, subject: str) -> bool:
        """Whether the consumer's filters match `subject`."""
        filters = self._filters
        return not filters or subject in filters or any(matches(one, subject) for one in filters)
