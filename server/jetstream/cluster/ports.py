"""What the membership of a local stream needs of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..consumers.core import Consumer
    from ..meta.assignment import StreamAssignment
    from ..replication.stream import ReplicatedStream


class MembershipListener(Protocol):
    """Whose membership it is."""

    assignment: StreamAssignment

    @property
    def me(self) -> str:
        """This server's id in the meta group."""

    def opened(self, stream: ReplicatedStream) -> None:
        """The stream here is this object now."""

    def leading(self) -> None:
        """The replica here leads, and serves the stream."""

    def following(self) -> None:
        """It does so no more."""

    def leader_changed(self) -> None:
        """The group has another leader, or none."""

    def unused(self, consumer: Consumer) -> None:
        """Nobody uses a consumer any more."""
