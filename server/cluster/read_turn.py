"""ReadTurn: lets the Raft groups of a server finish what a read brought within that read, if nobody waits.

Usually the work of a turn is gathered: a group proposes, sends and writes once for all that came in a turn of
the loop, and writes on a thread. For a client that awaits each of its publishes there is nothing to gather,
and each turn and each thread that its publish goes through makes it wait. So if no client sends anything but
one, and no group writes but one, that group does its work at the end of the read, and the loop itself writes
little things. The servers' own messages do not count as sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..loop_writes import ALONE, ReadState
from ..task_executor import TaskExecutor

AWAITED_BYTES = 4096  # bytes of the entries of one awaited request, at most


class ServerReads(ReadState, Protocol):
    """What connections read, and what is written to them (a `Flusher`)."""

    def excuse(self) -> None:
        """Do not count the read that is served as something that somebody has sent."""

    def flush(self) -> None:
        """Write what is queued for connections."""


class ReadTurn:
    """What the groups of one server share. Without `reads` nothing is done at the end of a read."""

    def __init__(self, executor: TaskExecutor, reads: ServerReads | None = None) -> None:
        self._soon = executor.soon
        self._reads = reads
        self._writer = ""  # the group that wrote last
        self._since = 0  # since when no other group has written

    def alone(self, group: str) -> bool:
        """Return whether a read is being served, and nobody but its sender and `group` has work to do.

        Call this when the group has something to write: it notes that, too.
        """
        reads = self._reads
        if reads is None:
            return False
        now = reads.clock.now()
        if group != self._writer:
            self._writer, self._since = group, now
        return reads.reading and now - self._since >= ALONE and now - reads.since >= ALONE

    def soon(self, callback: Callable[[], None]) -> None:
        """Call back at the end of the read that is being served; if none is, in the next turn."""
        if self._reads is not None and self._reads.reading:
            self._reads.at_end.append(callback)
        else:
            self._soon(callback)

    def received(self) -> None:
        """Note that the read which is being served has brought a message of the groups."""
        if self._reads is not None and self._reads.reading:
            self._reads.excuse()

    def flush(self) -> None:
        """Write what is queued for connections, if a read is being served."""
        if self._reads is not None and self._reads.reading:
            self._reads.flush()
