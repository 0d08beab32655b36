"""LeadershipTransfer: hands over the leadership of a Raft group, and calls an election if there is none.

Promises: `resign` chooses a voter that answers and that has what this one has committed. `transfer` goes to
the voter that it is given, whatever is known of that.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING
from zlib import crc32

from ...raft import NotLeaderError

if TYPE_CHECKING:
    from .peer_status import PeerStatus

_STAGGER = 2  # ticks between the elections that voters call after their leader is gone


class LeadershipTransfer:
    """Moves the leadership of one group away from this server's member, or towards it."""

    def __init__(
        self,
        group: str,
        member: str,
        random: Random,
        peers: PeerStatus,
        pump: Callable[[], None],
        handing_over: Callable[[], None],
    ) -> None:
        """See the class.

        group: its name.
        member: this member's id.
        pump: sends what the member has ready, soon.
        handing_over: is called before the leadership is handed over.
        """
        self._group = group
        self._member = member
        self._random = random
        self._peers = peers
        self._pump = pump
        self._handing_over = handing_over

    def resign(self) -> None:
        """Hand over the leadership, if this member leads and another one can take over."""
        node = self._peers.node
        if node is None or not node.accepts_proposals:
            return
        matches = node.match_indexes()
        others = [m for m in sorted(node.members.voters & self._peers.alive()) if m in matches]
        if others:
            most = min(max(matches[member] for member in others), node.log.commit)
            self._handing_over()
            # A random choice among equals: the chosen one may have to hand it over as well.
            node.transfer(self._random.choice([m for m in others if matches[m] >= most]))
            self._pump()

    def transfer(self, to: str) -> None:
        """Hand over the leadership to another voter. Raises NotLeaderError or MembersError."""
        node = self._peers.node
        if node is None:
            raise NotLeaderError("")
        self._handing_over()
        node.transfer(to)
        self._pump()

    def campaign_soon(self) -> None:
        """Call an election soon, one voter after the other: there is no leader, or it is known to be gone."""
        node = self._peers.node
        if node is None or node.is_leader:
            return
        # In a pseudo-random order that is the same on every member: not all groups get the same leader.
        voters = sorted(node.members.voters - {node.leader}, key=self._rank)
        if self._member in voters:
            node.campaign_soon(_STAGGER * voters.index(self._member))
            self._pump()

    def _rank(self, member: str) -> int:
        return crc32(f"{self._group} {member}".encode())
