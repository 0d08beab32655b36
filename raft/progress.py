"""What a leader knows of one follower, and how fast it may send to it.

Probe: one message at a time, until it is known where the logs agree. Replicate: a window of messages under
way, sent without waiting. Snapshot: the follower is behind the log's beginning and gets the snapshot in
parts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum


class ProgressState(IntEnum):
    """How the follower is sent to."""

    PROBE = 0
    REPLICATE = 1
    SNAPSHOT = 2


@dataclass(slots=True)
class Progress:
    """match: durable there, as far as known. next: sent next. boot: the follower's latest start known.

    probe_sent: a probe is under way. recent_active: it answered since the last check of the quorum.
    """

    next: int
    match: int = 0
    state: ProgressState = ProgressState.PROBE
    probe_sent: bool = False
    recent_active: bool = False
    boot: int = 0
    sent_commit: int = 0  # the commit index last sent
    inflights: deque[tuple[int, int]] = field(default_factory=deque)  # (last index, bytes) of each message
    inflight_bytes: int = 0
    unanswered_beats: int = 0  # beats since the last acknowledgement while something is under way
    pending_snapshot: int = 0  # the index that is being installed
    snapshot_sent: int = 0  # of the snapshot, bytes sent
    snapshot_acked: int = 0  # of the snapshot, bytes arrived

    def heartbeat_sent(self) -> None:
        """A heartbeat goes out: what was waited for may be asked again."""
        self.probe_sent = False
        self.unanswered_beats = self.unanswered_beats + 1 if self.inflights else 0

    def become_probe(self, next_: int) -> None:
        """Find out where the logs agree."""
        self.state, self.next, self.probe_sent = ProgressState.PROBE, next_, False
        self.inflights.clear()
        self.inflight_bytes = self.unanswered_beats = 0

    def become_replicate(self) -> None:
        """Send without waiting."""
        self.become_probe(self.match + 1)
        self.state = ProgressState.REPLICATE

    def become_snapshot(self, index: int) -> None:
        """Send the snapshot of `index`."""
        self.become_probe(index + 1)
        self.state = ProgressState.SNAPSHOT
        self.pending_snapshot, self.snapshot_sent, self.snapshot_acked = index, 0, 0

    def restarted(self, boot: int, next_: int) -> None:
        """It started anew and may have lost something: what was known is no longer."""
        self.boot, self.match = boot, 0
        self.become_probe(next_)

    def sent_entries(self, last: int, size: int) -> None:
        """Entries up to `last` are under way."""
        self.inflights.append((last, size))
        self.inflight_bytes += size
        self.next = last + 1

    def maybe_update(self, index: int) -> bool:
        """All up to `index` is durable there; whether that is news."""
        while self.inflights and self.inflights[0][0] <= index:
            self.inflight_bytes -= self.inflights.popleft()[1]
        if index <= self.match:
            return False
        self.match, self.unanswered_beats = index, 0
        self.next = max(self.next, index + 1)
        return True

    def full(self, most_messages: int, most_bytes: int) -> bool:
        """Whether enough is under way."""
        return len(self.inflights) >= most_messages or self.inflight_bytes >= most_bytes
