"""Ports: what a local stream needs of the cluster it is in, and what its membership needs of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...cluster.member import GroupEnvironment
    from ..consumers.core import Consumer
    from ..meta.assignment import StreamAssignment
    from ..meta.command import DeleteConsumer, GroupStarted, PeersConfirmed, PreferLeader
    from ..meta.node_info import NodeStatus
    from ..meta.responder import LeaderStatus
    from ..meta.state import MetaState
    from ..replication.stream import ReplicatedStream


class LocalStreamHost(Protocol):
    """What a `LocalStream` needs of its `JetStreamCluster`."""

    @property
    def me(self) -> str:
        """This server's id in the meta group."""

    @property
    def state(self) -> MetaState:
        """What the meta group decided."""

    @property
    def node_statuses(self) -> Mapping[str, NodeStatus]:
        """The status of each member."""

    @property
    def leader_status(self) -> LeaderStatus:
        """Who leads the meta group."""

    @property
    def system(self) -> Account:
        """The system account."""

    @property
    def environment(self) -> GroupEnvironment:
        """What the members of groups need."""

    def member(self, node: str) -> str:
        """The meta group's member of a node."""

    def forward_proposal(
        self, command: PeersConfirmed | GroupStarted | DeleteConsumer | PreferLeader
    ) -> None:
        """Let whoever leads the meta group propose this; nothing is promised of it."""

    def announce_served(self, account: str, stream: str, consumer: str, info: dict[str, Any]) -> None:
        """Announce that a stream or consumer is served."""


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
