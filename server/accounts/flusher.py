"""When outbound slices are written: once per destination at the end of a batch.

A batch is one read of a producer, or, for messages the server itself makes, one round of the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..clock import Clock
    from .plan import Outbox


class Flusher:
    """The connections that have something to write."""

    __slots__ = ("_scheduled", "clock", "dirty")

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.dirty: list[Outbox] = []
        self._scheduled = False

    def schedule(self) -> None:
        """Flush in the loop's next round, for what was not sent within a read."""
        if self.dirty and not self._scheduled:
            self._scheduled = True
            self.clock.call_later(0, self._run)

    def flush(self) -> None:
        """Write everything now."""
        while self.dirty:
            batch = self.dirty[:]
            self.dirty.clear()
            for outbox in batch:
                outbox.dirty = False
                outbox.flush()

    def _run(self) -> None:
        self._scheduled = False
        self.flush()
