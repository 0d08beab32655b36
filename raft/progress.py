"""What a leader knows of one follower, and how fast it may send to it.

Probe: one message at a time, until it is known where the logs agree. Replicate: a window of messages under
way, sent without waiting. Install: the follower is behind the log's beginning and gets the snapshot in parts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum


class ProgressState(IntEnum):
    """How the follower is sent to."""

    PROBE = 0
    REPLICATE = 1
    INSTALL = 2


@dataclass(slots=True)
class Progress:
    """match: durable there, as far as known. next: sent next. boot: the follower's latest start known.

    waiting: a probe is under way. heard: it answered since the last check of the quorum.
    """

    next: int
    match: int = 0
    pace: ProgressState = ProgressState.PROBE
    waiting: bool = False
    heard: bool = False
    boot: int = 0
    told: int = 0  # the commit index last sent
    under_way: deque[tuple[int, int]] = field(default_factory=deque)  # (last index, bytes) of each message
    bytes: int = 0
    silent: int = 0  # beats since the last acknowledgement while something is under way
    snapshot: int = 0  # the index that is being installed
    sent: int = 0  # of the snapshot, bytes sent
    taken: int = 0  # of the snapshot, bytes arrived

    def beat(self) -> None:
        """A heartbeat goes out: what was waited for may be asked again."""
        self.waiting = False
        self.silent = self.silent + 1 if self.under_way else 0

    def probe(self, next_: int) -> None:
        """Find out where the logs agree."""
        self.pace, self.next, self.waiting = ProgressState.PROBE, next_, False
        self.under_way.clear()
        self.bytes = self.silent = 0

    def replicate(self) -> None:
        """Send without waiting."""
        self.probe(self.match + 1)
        self.pace = ProgressState.REPLICATE

    def install(self, index: int) -> None:
        """Send the snapshot of `index`."""
        self.probe(index + 1)
        self.pace = ProgressState.INSTALL
        self.snapshot, self.sent, self.taken = index, 0, 0

    def restarted(self, boot: int, next_: int) -> None:
        """It started anew and may have lost something: what was known is no longer."""
        self.boot, self.match = boot, 0
        self.probe(next_)

    def send(self, last: int, size: int) -> None:
        """Entries up to `last` are under way."""
        self.under_way.append((last, size))
        self.bytes += size
        self.next = last + 1

    def acknowledge(self, index: int) -> bool:
        """All up to `index` is durable there; whether that is news."""
        while self.under_way and self.under_way[0][0] <= index:
            self.bytes -= self.under_way.popleft()[1]
        if index <= self.match:
            return False
        self.match, self.silent = index, 0
        self.next = max(self.next, index + 1)
        return True

    def full(self, most_messages: int, most_bytes: int) -> bool:
        """Whether enough is under way."""
        return len(self.under_way) >= most_messages or self.bytes >= most_bytes
