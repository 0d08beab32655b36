"""GroupLog: the log of a Raft group, as its leader's replica proposes entries.

Promises: the bytes of proposals under way have a bound (`full`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...cluster.proposals import ProposalLostError

if TYPE_CHECKING:
    from ...cluster.raft_node import RaftNode

MOST_UNDER_WAY = 64 << 20  # bytes proposed and not agreed on yet


class GroupLog:
    """The `ReplicaLog` of one replica. group: returns this server's member; None while there is none."""

    def __init__(self, group: Callable[[], RaftNode | None]) -> None:
        self._group = group
        self._under_way = 0

    @property
    def full(self) -> bool:
        """Whether so much is under way that nothing more should be proposed."""
        return self._under_way >= MOST_UNDER_WAY

    def propose(self, data: Sequence[bytes], done: Callable[[int | Exception], None]) -> None:
        """See `ReplicaLog`."""
        group = self._group()
        if group is None:
            done(ProposalLostError("there is no group"))
            return
        size = sum(map(len, data))
        self._under_way += size

        def finished(outcome: int | Exception) -> None:
            self._under_way -= size
            done(outcome)

        group.propose(data, finished)
