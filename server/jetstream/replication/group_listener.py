"""The `GroupListener` of a stream's group: passes everything on to the replica's membership."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .membership import ReplicaMembership


class MembershipGroupListener:
    """Calls the membership for each event of the group's member."""

    def __init__(self, membership: ReplicaMembership) -> None:
        self._membership = membership

    def leading(self, applied: int) -> None:
        """See `GroupListener`."""
        del applied
        self._membership.leading()

    def following(self) -> None:
        """See `GroupListener`."""
        self._membership.following()

    def leader_changed(self, leader: str) -> None:
        """See `GroupListener`."""
        del leader
        self._membership.leader_changed()

    def failed(self, why: str, *, restarts: bool) -> None:
        """See `GroupListener`."""
        self._membership.ended(why, restarts=restarts)
