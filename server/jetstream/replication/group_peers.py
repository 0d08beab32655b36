"""GroupPeers: who bootstraps a stream's group, who belongs to it, and which servers to ask for messages.

Everything follows from the newest assignment, so that a change of it needs no call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...cluster.announce import node_of
from ...cluster.bootstrap import BootstrapExpect

if TYPE_CHECKING:
    from ...cluster.raft_node import RaftNode


class GroupAssignment(Protocol):
    """What the meta group decided about the stream: a `StreamAssignment`."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The stream's configuration, as JSON."""

    @property
    def created(self) -> int:
        """When the stream was created, ns."""

    @property
    def group(self) -> str:
        """The name of the group that holds the stream now."""

    @property
    def seeds(self) -> Sequence[str]:
        """The servers that may bootstrap the group, with what they have."""

    @property
    def peers(self) -> Sequence[str]:
        """The servers that should hold the stream."""

    @property
    def members(self) -> Sequence[str]:
        """The servers that may be in the group: `peers`, and those that are leaving."""


class AssignmentView(Protocol):
    """Knows what was decided about the stream."""

    @property
    def assignment(self) -> GroupAssignment:
        """The newest decision."""

    @property
    def me(self) -> str:
        """This server, as assignments name it."""


class GroupPeers:
    """The servers of one group, as nodes. group: its name. node: this server."""

    def __init__(self, view: AssignmentView, group: str, node: str) -> None:
        self._view = view
        self._group = group
        self._node = node

    @property
    def may_bootstrap(self) -> bool:
        """Whether this server may bootstrap a group, with what it has."""
        return self._view.me in self._view.assignment.seeds

    def expected(self) -> BootstrapExpect:
        """Return who bootstraps the group: only the seeds, and only with what they have."""
        assignment = self._view.assignment
        if not self.may_bootstrap or assignment.group != self._group:
            return BootstrapExpect()
        nodes = frozenset(map(node_of, assignment.seeds))
        return BootstrapExpect(nodes=nodes, alone=len(nodes) == 1, chosen=True)

    def wanted(self) -> frozenset[str]:
        """Return the nodes that should be members. Once another group follows, that is only this one."""
        assignment = self._view.assignment
        if assignment.group != self._group:
            return frozenset({self._node})
        return frozenset(map(node_of, assignment.peers))

    def to_ask(self, group: RaftNode | None) -> list[str]:
        """Return the nodes to ask for messages, the leader first. group: this server's member of it."""
        nodes = set(map(node_of, self._view.assignment.members))
        leader = ""
        if group is not None:
            nodes |= set(map(node_of, group.members.all))
            leader = node_of(group.leader)
        return sorted(nodes - {self._node}, key=lambda node: (node != leader, node))
