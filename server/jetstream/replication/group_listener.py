"""The owner of a stream's group, as `cluster.Owner` has it: the membership of a replica here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...cluster.raft_node import RaftNode
    from .membership import ReplicaMembership


class MembershipGroupListener:
    """What the member of a group tells is told to the membership."""

    def __init__(self, membership: ReplicaMembership) -> None:
        self._membership = membership

    def leading(self, group: RaftNode) -> None:
        """See cluster.Owner."""
        self._membership.leading(group)

    def following(self, group: RaftNode) -> None:
        """See cluster.Owner."""
        del group
        self._membership.following()

    def leader_changed(self, group: RaftNode) -> None:
        """See cluster.Owner."""
        del group
        self._membership.leader_changed()

    def failed(self, group: RaftNode) -> None:
        """See cluster.Owner."""
        self._membership.ended(group)
