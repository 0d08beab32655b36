"""QuorumRescue: lets fewer members than a majority decide for a group, for a while, if an operator says so.

It is for a group whose other members are lost for good: those that are left elect a leader again, which
can then remove the lost ones. It is unsafe: two parts of a group that do not hear each other could decide
different things.

Promises: the quorum is only lowered while no leader is known, on a voter that has a log. It is the
majority again after RESCUE_TICKS, and as soon as the group has shrunk so far that the majority is no more
than that.

Source: nats-server's server/raft.go: RescueQuorum (the conditions, and the texts of refusals).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...raft import RawNode
    from ..logging import Logger
    from .leadership_transfer import LeadershipTransfer
    from .peer_status import PeerStatus

RESCUE_TICKS = 1200  # five minutes


class QuorumRescue:
    """The rescue of one group, as one member sees it. name: the group's."""

    def __init__(self, name: str, log: Logger, peers: PeerStatus, leadership: LeadershipTransfer) -> None:
        self._name = name
        self._log = log
        self._peers = peers
        self._leadership = leadership
        self._left = 0  # ticks

    @property
    def active(self) -> bool:
        """Whether the quorum is lowered."""
        return self._left > 0

    @property
    def quorum(self) -> int:
        """How many voters suffice for decisions, as this member sees it; 0 before it has started."""
        node = self._peers.node
        return 0 if node is None else node.shared.quorum

    def lower(self, voters: int) -> str:
        """Let so many voters suffice from now on; return "", or why that is refused."""
        node = self._peers.node
        if node is None or node.failure:
            return "raft: node is closed"
        if not 1 <= voters <= self.quorum:
            return "raft: rescue quorum must be between 1 and current quorum"
        if node.leader:
            return "raft: leader is known"
        if not node.shared.may_campaign:
            return "raft: not a voting member"
        if not node.log.last:
            return "raft: log is empty"
        before, self._left = self.quorum, RESCUE_TICKS
        node.shared.lowered = voters
        minutes = RESCUE_TICKS // 240
        self._warn(
            f"unsafe quorum rescue applied: {voters} in place of {before} decide for {minutes} minutes"
        )
        self._leadership.campaign_soon()
        return ""

    def tick(self) -> None:
        """Count a tick, and end the rescue when it is over."""
        node = self._peers.node
        if not self._left or node is None:
            return
        self._left -= 1
        majority = node.members.quorum
        if majority <= node.shared.lowered:
            self._end(node, f"unsafe quorum rescue stopped: {majority} are a majority now")
        elif not self._left:
            self._end(node, f"unsafe quorum rescue expired: {majority} decide again")

    def _end(self, node: RawNode, text: str) -> None:
        self._left = 0
        node.shared.lowered = 0
        self._warn(text)

    def _warn(self, text: str) -> None:
        self._log.warning(f"Group {self._name}: {text}")
