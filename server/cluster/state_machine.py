"""The ports of a Raft group: what it replicates, and what it tells of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..slices import Steps


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
    """Is told what happens to this server's member of a group."""

    def leading(self, applied: int) -> None:
        """The member leads, and has applied all that was committed before, up to the index `applied`."""

    def following(self) -> None:
        """The member does not lead any more."""

    def leader_changed(self, leader: str) -> None:
        """The member with the id `leader` leads; "": no leader is known."""

    def failed(self, why: str, *, restarts: bool) -> None:
        """The member has ended; see `RaftNode.failure`. restarts: `RaftMember` starts it again by itself."""
