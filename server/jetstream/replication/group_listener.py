"""The `GroupListener` of a stream's group: passes everything on to the replica's membership."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...cluster.raft_node import RaftNode
    from .membership import ReplicaMembership


class MembershipGroupListener:
    """Calls the membership for each event of the group's member."""

    def __init__(self, membership: ReplicaMembership) -> None:
        self._membership = membership

    def leading(self, group: RaftNode) -> None:
        """See `GroupListener`."""
        self._membership.leading(group)

    def following(self, group: RaftNode) -> None:
        """See `GroupListener`."""
        del group
        self._membership.following()

    def leader_changed(self, group: RaftNode) -> None:
        """See `GroupListener`."""
        del group
        self._membership.leader_changed()

    def failed(self, group: RaftNode) -> None:
        """See `GroupListener`."""
        self._membership.ended(group)
