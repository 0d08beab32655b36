"""The interfaces of a Raft group to its application: the state machine it replicates, and who it informs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..slices import Steps


class StateMachine(Protocol):
    """What a group replicates. Its methods are called on the loop and must not block.

    durable_index: the index up to which its state is durable by itself; read when the group starts. 0 if the
        state machine relies on snapshots alone.
    """

    durable_index: int

    def apply(self, entries: Sequence[tuple[int, bytes]], upto: int) -> Steps[None] | None:
        """Apply committed entries, as (index, data) in order. Then the state is that of index `upto`.

        Long work returns steps, of which one is done in each turn of the loop. Nothing else is called here
        until they end. Where they pause must make no difference to their effect.

        The same entries must have the same effect on every member. If this or a step raises, the group ends
        here.
        """

    def snapshot(self) -> tuple[int, bytes] | None:
        """Return (index, state after that index as bytes); None if that is not possible now.

        The index is at most the last one applied. A state machine that is durable by itself returns an index
        up to which it is durable.
        """

    def restore(self, data: bytes, index: int) -> None:
        """Replace all state by that of a snapshot taken after `index`."""


class GroupListener(Protocol):
    """Is informed of what happens to this server's member of a group."""

    def leading(self, applied: int) -> None:
        """The member leads and has applied all that was committed before, up to the index `applied`."""

    def following(self) -> None:
        """The member no longer leads."""

    def leader_changed(self, leader: str) -> None:
        """The member with the id `leader` leads; "" if no leader is known."""

    def failed(self, why: str, *, restarts: bool) -> None:
        """The member has ended; see `RaftNode.failure`.

        restarts: whether `RaftMember` starts it again by itself.
        """
