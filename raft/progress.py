"""What a leader knows of one follower, and how fast it may send to it.

A follower begins in PROBE. An accepted message leads to REPLICATE. A rejected or lost message, or a restart
of the follower, leads back to PROBE. If the log does not reach back to what the follower needs, it enters
SNAPSHOT until it has accepted the snapshot.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum


class ProgressState(IntEnum):
    """How the leader sends to the follower."""

    PROBE = 0  # sends one message at a time, until it is known where the logs agree
    REPLICATE = 1  # sends as many messages as the window allows, without waiting for answers
    SNAPSHOT = 2  # sends the snapshot in parts


@dataclass(slots=True)
class Progress:
    """The progress of one follower.

    next: the index to send next (thesis: nextIndex); match < next. In SNAPSHOT, the index after the snapshot.
    match: the last index up to which the follower's log is durable and the same as the leader's (thesis:
        matchIndex). It falls only when the follower has restarted and may have lost something.
    state: how the leader sends to the follower.
    probe_sent: in PROBE and SNAPSHOT, whether the message that needs an answer has been sent. A heartbeat
        clears it, so that a lost message is sent again.
    recent_active: whether the follower has answered since the leader last checked that it has a quorum.
    boot: the latest boot count that the follower has reported. Answers of earlier boots do not count.
    sent_commit: the commit index that the follower was last sent.
    inflights: (last index, bytes of entries) of each message that is not acknowledged, oldest first; empty
        unless in REPLICATE.
    inflight_bytes: the sum of those bytes.
    unanswered_beats: heartbeats since the last acknowledgement; 0 while nothing is in `inflights`.
    pending_snapshot: in SNAPSHOT, the index of the snapshot that is being sent.
    snapshot_sent: in SNAPSHOT, how many bytes of it were sent.
    snapshot_acked: in SNAPSHOT, how many bytes have arrived without a gap; at most `snapshot_sent`, unless a
        lost part is being sent again.
    """

    next: int
    match: int = 0
    state: ProgressState = ProgressState.PROBE
    probe_sent: bool = False
    recent_active: bool = False
    boot: int = 0
    sent_commit: int = 0
    inflights: deque[tuple[int, int]] = field(default_factory=deque)
    inflight_bytes: int = 0
    unanswered_beats: int = 0
    pending_snapshot: int = 0
    snapshot_sent: int = 0
    snapshot_acked: int = 0

    def heartbeat_sent(self) -> None:
        """Note that a heartbeat is sent: a message that is still unanswered is then sent again."""
        self.probe_sent = False
        self.unanswered_beats = self.unanswered_beats + 1 if self.inflights else 0

    def become_probe(self, next_: int) -> None:
        """Enter PROBE at the index `next_`, to find out where the logs agree."""
        self.state, self.next, self.probe_sent = ProgressState.PROBE, next_, False
        self.inflights.clear()
        self.inflight_bytes = self.unanswered_beats = 0

    def become_replicate(self) -> None:
        """Enter REPLICATE, where nothing waits for answers."""
        self.become_probe(self.match + 1)
        self.state = ProgressState.REPLICATE

    def become_snapshot(self, index: int) -> None:
        """Enter SNAPSHOT, to send the snapshot at `index`."""
        self.become_probe(index + 1)
        self.state = ProgressState.SNAPSHOT
        self.pending_snapshot, self.snapshot_sent, self.snapshot_acked = index, 0, 0

    def restarted(self, boot: int, next_: int) -> None:
        """Forget what is durable at the follower: it has restarted and may have lost something."""
        self.boot, self.match = boot, 0
        self.become_probe(next_)

    def sent_entries(self, last: int, size: int) -> None:
        """Note that a message with entries up to the index `last`, of `size` bytes, was sent."""
        self.inflights.append((last, size))
        self.inflight_bytes += size
        self.next = last + 1

    def maybe_update(self, index: int) -> bool:
        """Note that everything up to `index` is durable at the follower, and return whether that is news."""
        while self.inflights and self.inflights[0][0] <= index:
            self.inflight_bytes -= self.inflights.popleft()[1]
        if index <= self.match:
            return False
        self.match, self.unanswered_beats = index, 0
        self.next = max(self.next, index + 1)
        return True

    def full(self, most_messages: int, most_bytes: int) -> bool:
        """Whether so much is under way that the next message must wait."""
        return len(self.inflights) >= most_messages or self.inflight_bytes >= most_bytes
