"""LocalStreamView: what is known and shown of one stream of the cluster on this server.

Its leader, its group, its info and those of its consumers, and how all servers and the log are told of it.
Promises: nothing here changes the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ....protocol.api.consumer import ConsumerConfig, ConsumerInfo, SequenceInfo
from ....protocol.api.stream import StreamConfig, StreamInfo, StreamState
from ....protocol.errors import ApiError, api_error
from ...cluster.announce import node_of
from ..consumers.info import describe
from ..meta.health import StreamHealth
from ..meta.report import GroupView, PeerView, cluster_info
from ..meta.responder import LeaderStatus
from ..replication.stream import ReplicatedStream
from ..streams import stream_info

if TYPE_CHECKING:
    from ....protocol.api.cluster import ClusterInfo
    from ...accounts.account import Account
    from ...cluster.member import GroupEnvironment
    from ..account.account import JetStreamAccount
    from ..consumers.core import Consumer
    from ..meta.assignment import ConsumerAssignment, StreamAssignment
    from ..meta.command import DeleteConsumer, GroupStarted, PeersConfirmed, PreferLeader
    from ..meta.node_info import NodeStatus
    from ..meta.state import MetaState
    from ..replication.membership import ReplicaMembership
    from ..streams.core import Stream


class MetaView(Protocol):
    """What local streams ask of the meta group."""

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

    def member(self, node: str) -> str:
        """The meta group's member of a node."""


@dataclass(frozen=True, slots=True)
class LocalStreamContext:
    """What all local streams of a server share.

    environment: that of their groups.
    system: the system account.
    meta: what is known of the meta group.
    forward: has whichever server leads the meta group propose a command; nothing is promised of it.
    announce: tells all servers, by (account, stream, consumer or ""), the info of what this server leads and
        serves from now on; {} for what is gone.
    """

    environment: GroupEnvironment
    system: Account
    meta: MetaView
    forward: Callable[[PeersConfirmed | GroupStarted | DeleteConsumer | PreferLeader], None]
    announce: Callable[[tuple[str, str, str], dict[str, Any]], None]


class LocalStreamView:
    """One stream of the cluster on this server; `LocalStream` keeps it current.

    assignment: what the meta group decided.
    stream: what the API works on; None while it cannot be served at all.
    membership: this server's in the stream's group; None for one copy.
    error: why one copy cannot go on.
    leader: a member of the stream's group; "" while none is known.
    leader_since: the time since when that one leads, or since when nobody does.
    had_leader: whether anybody has led the group.
    closed: whether it is not served any more.
    """

    def __init__(
        self, context: LocalStreamContext, account: JetStreamAccount, assignment: StreamAssignment
    ) -> None:
        self.context = context
        self.environment = context.environment
        self.meta = context.meta
        self.account = account
        self.assignment = assignment
        self.stream: Stream[Consumer] | None = None
        self.membership: ReplicaMembership | None = None
        self.error = ""
        self.leader = ""
        self.leader_since = self.environment.clock.now()
        self.had_leader = False
        self.closed = False

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.assignment.name

    @property
    def me(self) -> str:
        """This server's id in the meta group."""
        return self.meta.me

    # --- what was decided of its consumers

    def consumers(self) -> list[ConsumerAssignment]:
        """The stream's consumers, as decided."""
        return self.meta.state.consumers_of(self.assignment.account, self.name)

    def consumer(self, name: str) -> ConsumerAssignment | None:
        """One of them."""
        return self.meta.state.consumer(self.assignment.account, self.name, name)

    def has_consumer(self, name: str) -> bool:
        """Whether a consumer is here, as a leader's or as all replicas know it."""
        if self.membership is not None:
            replica = self.membership.replica
            return replica is not None and name in replica.stream.states
        return self.stream is not None and name in self.stream.consumers

    # --- its leader and its group

    def leads(self) -> bool:
        """Whether this server leads the stream."""
        if self.membership is not None:
            return self.membership.leads
        return self.stream is not None and not self.closed

    def leader_status(self) -> LeaderStatus | None:
        """Who leads the group, by the ids of the meta group; None for a stream without a group.

        Nobody, while the leader is here and does not serve the stream yet.
        """
        if not self.assignment.replicated and self.membership is None:
            return None
        if not self.leader:
            since = self.environment.clock.now() - self.leader_since
            return LeaderStatus("", since, self.had_leader)
        if node_of(self.leader) == self.environment.node and not self.leads():
            return LeaderStatus("", 0, self.had_leader)
        return LeaderStatus(self.meta.member(node_of(self.leader)), 0, True)

    def group_view(self) -> GroupView | None:
        """The group as its member here sees it, by the ids of the meta group; None without a group."""
        membership, meta, system = self.membership, self.meta, self.context.system.name
        if membership is None:
            return None
        group = membership.group
        if group is None:
            return GroupView(traffic_account=system)
        silence, lags, level = group.silence(), group.lag(), group.level()
        tick = self.environment.ticker.tick
        peers = {}
        for member in group.members.all - {group.member}:
            peers[meta.member(node_of(member))] = PeerView(
                caught_up=member in level if group.is_leader else member == group.leader,
                last_contact=silence[member] * tick if member in silence else -1,
                lag=lags.get(member, 0),
            )
        leader = meta.member(node_of(group.leader)) if group.leader else ""
        return GroupView(leader, self.leader_since, peers, traffic_account=system)

    def health(self) -> StreamHealth:
        """For healthz."""
        membership = self.membership
        if membership is None:
            return StreamHealth(found=self.stream is not None, error=self.error)
        group = membership.group
        return StreamHealth(
            error=self.error,
            replicated=True,
            running=group is not None,
            failure="" if group is None or membership.damage else group.failure,
            store_failure="" if membership.damage else membership.failure,
            damage=membership.damage,
            hopeless=membership.hopeless,
            quorum_diagnosis=membership.quorum_diagnosis(),
            catching_up=membership.catching_up,
            healthy=not membership.health(),
        )

    # --- infos

    def cluster(self) -> ClusterInfo:
        """The `cluster` of the stream's and its consumers' infos."""
        meta = self.meta
        name = self.assignment.cluster or self.account.host.cluster_name
        return cluster_info(meta.state, meta.node_statuses, self.assignment, self.group_view(), meta.me, name)

    def info(self) -> StreamInfo:
        """The stream's info, with what the meta group decided where it is not open."""
        if self.stream is not None:
            found = stream_info.info(self.stream)
        else:
            config = stream_info.shown(StreamConfig.from_json(self.assignment.config))
            now = self.environment.clock.now()
            found = StreamInfo(config=config, created=self.assignment.created, state=StreamState(), ts=now)
        found.cluster = self.cluster()
        return found

    def consumer_info(self, name: str) -> ConsumerInfo:
        """A consumer's info. Raises ApiError 10014."""
        there = None if self.stream is None else self.stream.consumers.get(name)
        if there is not None:
            found = describe(there)
        else:
            if self.stream is not None:
                self.stream.must_be_readable(name)
            assignment = self.consumer(name)
            if assignment is None:
                raise api_error("JSConsumerNotFoundErr")
            config = ConsumerConfig.from_json(assignment.config)
            now = self.environment.clock.now()
            found = ConsumerInfo(self.name, name, assignment.created, config, ts=now)
            if isinstance(self.stream, ReplicatedStream):
                _place(found, self.stream, name)
        found.cluster = self.cluster()
        return found

    # --- what others are told

    def announce_served(self, consumer: str = "") -> None:
        """Announce that the stream, or one of its consumers, is served."""
        if not self.leads():
            return
        try:
            info = self.consumer_info(consumer).to_json() if consumer else self.info().to_json()
        except ApiError:
            return
        self.context.announce((self.assignment.account, self.name, consumer), info)

    def announce_deleted(self, consumer: str = "") -> None:
        """Announce that the stream, or one of its consumers, is served no more."""
        self.context.announce((self.assignment.account, self.name, consumer), {})

    def warn(self, text: str) -> None:
        """Log something that is not as it should be."""
        self.environment.log.warning(f"Stream '{self.account.name} > {self.name}' {text}")


def _place(info: ConsumerInfo, stream: ReplicatedStream, name: str) -> None:
    """Fill in where the consumer stands, as far as the replica here knows."""
    replicated = stream.states.get(name)
    if replicated is None:
        return
    state = replicated.state
    info.delivered = SequenceInfo(*state.delivered, replicated.delivered_at)
    info.ack_floor = SequenceInfo(*state.ack_floor, replicated.acked_at)
    info.num_ack_pending = len(state.pending)
    info.num_redelivered = 0 if replicated.config.max_deliver == 1 else len(state.redelivered)
    rest = max(replicated.passed + 1, replicated.resume)
    info.num_pending = len(replicated.picked) + stream.store.count(replicated.filters, rest)
