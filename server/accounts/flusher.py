"""When outbound slices are written: once per destination at the end of a batch.

A batch is one read of a producer, or, for messages the server itself makes, one round of the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..clock import Clock
    from .plan import Outbox


class Flusher:
    """dirty: connections that have something to write. behind: those that, after a write, have too much
    unread; the
    producer of the batch is held back for them.
    """

    __slots__ = ("_scheduled", "behind", "clock", "dirty")

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.dirty: list[Outbox] = []
        self.behind: list[Outbox] = []
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

    def take_behind(self) -> list[Outbox]:
        """Those behind since this was last asked."""
        behind, self.behind = self.behind, []
        return behind

    def _run(self) -> None:
        self._scheduled = False
        self.flush()
        # Nobody can be held back here: the producer is the server itself.
        self.behind.clear()
