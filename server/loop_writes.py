"""LoopWrites: whether the event loop may write to the disk by itself, instead of a worker thread.

To wake a thread and to be woken by it costs about as much processor time as a quick sync. So the loop writes
itself where hardly anybody waits for it meanwhile, as long as the disk is quick: after a slow write the next
ones run on a thread until enough of them in a row were quick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .clock import Clock

SLOW = 0.005  # seconds after which a write on the loop would make others wait
QUICK = 16  # writes in a row that must be quick before the loop writes again
SURE = 1024  # the same before it syncs, at most; from 16 on, twice as many after each sync that was slow
ALONE = 20_000_000  # ns in which no other connection has sent anything, so that the loop may wait for a sync


class ReadState(Protocol):
    """What connections read, as those see it who write to the disk (a `Flusher`).

    reading: whether what one read brought is being served.
    at_end: what is then to be done at its end, before its answers are written.
    since: since when no other connection was served, in ns of `clock`.
    """

    clock: Clock
    reading: bool
    at_end: list[Callable[[], None]]
    since: int


class LoopWrites:
    """How quick the last writes of one stream or group were, and so whether the loop may write.

    quick: how many writes in a row took at most SLOW; after a slow one it starts below 0. From 0 on, the loop
        may write what it does not sync.
    needed: how many it must be before the loop may also sync, if nobody else would wait.
    """

    __slots__ = ("needed", "quick")

    def __init__(self) -> None:
        self.quick = 0
        self.needed = QUICK

    def was_slow(self, *, synced_here: bool) -> None:
        """Note that a little write was slow. (A large one may take long on any disk.)

        synced_here: whether the loop itself has waited for its sync.
        """
        self.quick = -QUICK
        if synced_here:
            self.needed = min(2 * self.needed, SURE)
