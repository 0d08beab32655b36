"""PeerStatus: what this server's member of a Raft group knows of the other members, by their ids.

Promises: nothing here changes the group. Before the member has started, nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...raft import RawNode

_ALIVE = 8  # ticks of silence after which a member does not count as alive
_NEAR = 256  # entries that a learner may lack when it becomes a voter


class PeerStatus:
    """The other members of one group.

    node: this server's member; None until it has started.
    now: the tick that it is.
    """

    __slots__ = ("_last_seen", "node", "now")

    def __init__(self, now: int) -> None:
        self.node: RawNode | None = None
        self.now = now
        self._last_seen: dict[str, int] = {}

    def heard(self, member: str) -> None:
        """Note that a message came from the member."""
        self._last_seen[member] = self.now

    def alive(self) -> frozenset[str]:
        """Return the members that sent something recently."""
        return frozenset(m for m, tick in self._last_seen.items() if self.now - tick <= _ALIVE)

    def silence(self) -> dict[str, int]:
        """Return for how many ticks each member that ever sent something has been silent."""
        return {member: self.now - tick for member, tick in self._last_seen.items()}

    def lag(self) -> dict[str, int]:
        """Return how many entries each other member lacks, as the leader knows; {} on other members."""
        node = self.node
        if node is None:
            return {}
        return {m: node.log.last - match for m, match in node.match_indexes().items()}

    def caught_up(self) -> frozenset[str]:
        """Return the members that have nearly everything, as the leader knows."""
        node = self.node
        if node is None or not node.is_leader:
            return frozenset()
        enough = node.log.last - _NEAR
        return frozenset(m for m, match in node.match_indexes().items() if match and match >= enough)

    def level(self, applied: int) -> frozenset[str]:
        """Return the voters that have everything up to the index `applied`, as the leader knows."""
        node = self.node
        if node is None:
            return frozenset()
        matches = node.match_indexes()
        return frozenset(m for m in node.members.voters if matches.get(m, -1) >= applied)
