"""FollowerReads: whether a replica that does not lead is current, so that it may answer direct gets.

Promises: a follower begins to answer when it has applied all that its leader had a tick ago. It stops when it
has not applied what the leader had LATEST ticks ago, when the leader was not heard for so long, and when it
catches up, recovers or has failed. So what it answers is older than the leader's state by no more than about
twice LATEST ticks, and under usual load by no more than the way between the two servers takes.

nats-server's replicas begin to answer when they are current, or have applied 90% of the log, and never stop.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...cluster.raft_node import RaftNode
    from .replica import Replica

LATEST = 8  # ticks: shorter than any election timeout, so that no other leader has been elected meanwhile


class FollowerReads:
    """Judges the replica of one member, at each tick."""

    def __init__(self) -> None:
        self._lasts: deque[int] = deque(maxlen=LATEST)  # of the leader's log, at the last ticks
        self._current = False

    def tick(self, group: RaftNode, replica: Replica) -> bool:
        """Return whether the replica is current. To be called at each tick while it does not lead."""
        last = 0 if group.node is None or group.node.recovering else group.node.leader_last(LATEST)
        if not last or not replica.current:
            self._lasts.clear()
            self._current = False
            return False
        lasts = self._lasts
        if lasts:
            self._current = group.applied >= (lasts[0] if self._current else lasts[-1])
        lasts.append(last)
        return self._current
