"""StateMachine, which a group replicates, and GroupListener, which it tells what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..slices import Steps
    from .raft_node import RaftNode


class StateMachine(Protocol):
    """What a group replicates. Its calls are made on the loop and must not block.

    applied: up to which index its state is durable by itself when the group starts; 0 when it relies on
    snapshots alone.
    """

    applied: int

    def apply(self, entries: Sequence[tuple[int, bytes]], upto: int) -> Steps[None] | None:
        """Take (index, data) of what is committed, in order; after it the state is that of `upto`.

        What takes long is done in the steps that it gives, one in each turn of the loop; until they end
        nothing else is called here. Where they rest must make no difference to what comes of them.

        Raises what ends the group here, also in a step: the same entries must have the same effect
        everywhere.
        """

    def take(self) -> tuple[int, bytes] | None:
        """(index, the state after it as bytes), for a snapshot; None: not now.

        The index is at most the last one applied; who is durable by itself gives one that is so.
        """

    def restore(self, data: bytes, index: int) -> None:
        """Replace all state by that of a snapshot after `index`."""


class GroupListener(Protocol):
    """Who is told what becomes of a group."""

    def leading(self, group: RaftNode) -> None:
        """It leads, and has applied all that was committed before."""

    def following(self, group: RaftNode) -> None:
        """It leads no more."""

    def leader_changed(self, group: RaftNode) -> None:
        """Another leader is known, or none."""

    def failed(self, group: RaftNode) -> None:
        """See `RaftNode.failure`."""
