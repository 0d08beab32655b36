"""GroupLog: the log of a Raft group, as its leader's replica proposes entries.

Promises: the bytes and the publishes under way have bounds (`full`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...cluster.proposals import ProposalLostError

if TYPE_CHECKING:
    from ...cluster.raft_node import RaftNode
    from ..overload import StreamQueue


class GroupLog:
    """The `ReplicaLog` of one replica.

    group: returns this server's member; None while there is none.
    limits: what may be under way, which is what was proposed and not agreed on yet.
    """

    def __init__(self, group: Callable[[], RaftNode | None], limits: StreamQueue) -> None:
        self._group = group
        self._limits = limits
        self._bytes = self._publishes = 0

    @property
    def full(self) -> bool:
        """Whether so much is under way that nothing more should be proposed."""
        return self._bytes >= self._limits.most_bytes or self._publishes >= self._limits.most_msgs

    def propose(
        self, data: Sequence[bytes], done: Callable[[int | Exception], None], *, publishes: int = 0
    ) -> None:
        """See `ReplicaLog`."""
        group = self._group()
        if group is None:
            done(ProposalLostError("there is no group"))
            return
        size = sum(map(len, data))
        self._bytes += size
        self._publishes += publishes

        def finished(outcome: int | Exception) -> None:
            self._bytes -= size
            self._publishes -= publishes
            done(outcome)

        group.propose(data, finished)
