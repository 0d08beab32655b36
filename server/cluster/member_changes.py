"""MemberChanges: makes the changes of a group's members that `membership_policy` finds due.

Promises: one change at a time, and only by the leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...raft import MembersError, NotLeaderError
from .membership_policy import MembershipView, next_members, surplus

if TYPE_CHECKING:
    from ..logging import Logger
    from .announce import Announce
    from .membership_policy import MembershipPolicy
    from .raft_node import RaftNode


class MemberChanges:
    """Makes the membership changes of one group. policy: who belongs to it."""

    def __init__(self, name: str, policy: MembershipPolicy, log: Logger) -> None:
        self._name = name
        self._policy = policy
        self._log = log

    def make_next(self, group: RaftNode, present: tuple[Announce, ...], founders: tuple[str, ...]) -> None:
        """Make the next change, if one is due. group: this server's member, which leads.

        present: announcements of the servers that are there. founders: those of the group. A server may be
        added if it is fresh, or takes part in the same bootstrap.
        """
        node, policy = group.node, self._policy
        assert node is not None
        fitting = tuple(one for one in present if one.fresh or one.founders == founders)
        caught_up = frozenset(m for m in group.peers.caught_up() & group.members.learners if policy.holds(m))
        view = MembershipView(
            group.member,
            group.members,
            group.peers.alive(),
            caught_up,
            fitting,
            policy.wanted(),
            group.rescue.quorum if group.rescue.active else 0,
        )
        try:
            change = next_members(view)
            if change is not None:
                group.change_members(change)
                self._log.info(
                    f"Group {self._name}: members {sorted(change.voters)}"
                    + (f", learning {sorted(change.learners)}" if change.learners else "")
                )
            elif surplus(view) and node.accepts_proposals:
                group.leadership.resign()
        except (MembersError, NotLeaderError):
            return  # a change is already under way
