"""LocalStreamView: what is known and shown of one stream of the cluster on this server.

It covers the stream's leader, its group, its info and those of its consumers, and how all servers and the log
get to know of them. Promises: nothing here changes the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ....protocol.api.consumer import ConsumerConfig, ConsumerInfo, SequenceInfo
from ....protocol.api.stream import StreamConfig, StreamInfo, StreamState
from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
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
    from ...cluster.environment import GroupEnvironment
    from ..account.account import JetStreamAccount
    from ..consumers.core import Consumer
    from ..meta.assignment import ConsumerAssignment, StreamAssignment
    from ..meta.command import DeleteConsumer, GroupStarted, PeersConfirmed, PreferLeader
    from ..meta.node_info import NodeStatus
    from ..meta.state import MetaState
    from ..replication.membership import ReplicaMembership
    from ..streams.core import Stream


class MetaView(Protocol):
    """What local streams read of the meta group."""

    @property
    def me(self) -> str:
        """This server's id in the meta group."""

    @property
    def state(self) -> MetaState:
        """Everything the meta group has decided."""

    @property
    def node_statuses(self) -> Mapping[str, NodeStatus]:
        """The status of each member."""

    @property
    def leader_status(self) -> LeaderStatus:
        """The leader of the meta group, as known here."""

    def member(self, node: str) -> str:
        """Return the meta group's member of a node."""


@dataclass(frozen=True, slots=True)
class LocalStreamContext:
    """What all local streams of a server share.

    environment: of their Raft groups.
    system: the system account.
    meta: what is known of the meta group.
    forward: has the meta leader propose a command, on whichever server it is; delivery is not guaranteed.
    announce: sends all servers, by (account, stream, consumer or ""), the info of what is led and served here
        from now on; {} for what is gone.
    migrates: returns whether the streams of an account should not be led here now.
    """

    environment: GroupEnvironment
    system: Account
    meta: MetaView
    forward: Callable[[PeersConfirmed | GroupStarted | DeleteConsumer | PreferLeader], None]
    announce: Callable[[tuple[str, str, str], dict[str, Any]], None]
    migrates: Callable[[str], bool] = lambda _: False


class LocalStreamView:
    """One stream of the cluster on this server; `LocalStream` keeps it current.

    assignment: what the meta group decided.
    stream: what the API works on; None while it cannot be served at all.
    membership: this server's, in the stream's group; None for a stream with one copy.
    error: why a stream with one copy cannot go on.
    leader: a member of the stream's group; "" while none is known.
    leader_since: the time since which that one leads, or nobody does, ns.
    had_leader: whether the group has ever had a leader.
    closed: whether the stream is not served any more.
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
        """Return the stream's consumers, as decided."""
        return self.meta.state.consumers_of(self.assignment.account, self.name)

    def consumer(self, name: str) -> ConsumerAssignment | None:
        """Return one of the stream's consumers, as decided, or None."""
        return self.meta.state.consumer(self.assignment.account, self.name, name)

    def has_consumer(self, name: str) -> bool:
        """Return whether a consumer is here: in the replica's state, or in the stream if it has one copy."""
        if self.membership is not None:
            replica = self.membership.replica
            return replica is not None and name in replica.stream.states
        return self.stream is not None and name in self.stream.consumers

    # --- its leader and its group

    def leads(self) -> bool:
        """Return whether this server leads the stream."""
        if self.membership is not None:
            return self.membership.leads
        return self.stream is not None and not self.closed

    def gives_up_lead(self) -> bool:
        """Return whether another server should lead, as the account's leaf connection is away."""
        return self.context.migrates(self.assignment.account)

    def leader_status(self) -> LeaderStatus | None:
        """Return who leads the group, by the ids of the meta group; None for a stream without a group.

        While the leader is here and does not serve the stream yet, there is none.
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
        """Return the group as its member here sees it, by the ids of the meta group; None without a group."""
        membership, meta, system = self.membership, self.meta, self.context.system.name
        if membership is None:
            return None
        group = membership.group
        if group is None:
            return GroupView(traffic_account=system)
        silence, lags, level = group.peers.silence(), group.peers.lag(), group.peers.level(group.applied)
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
        """Return the state of the stream here for `/healthz`."""
        membership = self.membership
        if membership is None:
            return StreamHealth(found=self.stream is not None, error=self.error)
        group = membership.group
        return StreamHealth(
            error=self.error,
            replicated=True,
            running=group is not None,
            failure="" if group is None or membership.local.damage else group.failure,
            store_failure="" if membership.local.damage else membership.local.failure,
            damage=membership.local.damage,
            hopeless=membership.local.hopeless,
            quorum_diagnosis=membership.member.quorum_diagnosis(),
            catching_up=membership.local.catching_up,
            healthy=not membership.member.health(),
        )

    # --- infos

    def cluster(self) -> ClusterInfo:
        """Return the `cluster` of the stream's and its consumers' infos."""
        meta = self.meta
        name = self.assignment.cluster or self.account.host.cluster_name
        return cluster_info(meta.state, meta.node_statuses, self.assignment, self.group_view(), meta.me, name)

    def info(self) -> StreamInfo:
        """Return the stream's info; if it is not open, the configuration as the meta group decided it."""
        if self.stream is not None:
            found = stream_info.info(self.stream)
        else:
            config = stream_info.shown(StreamConfig.from_json(self.assignment.config))
            now = self.environment.clock.now()
            found = StreamInfo(config=config, created=self.assignment.created, state=StreamState(), ts=now)
        found.cluster = self.cluster()
        return found

    def consumer_info(self, name: str) -> ConsumerInfo:
        """Return a consumer's info. Raises ApiError 10014 if there is none of this name."""
        there = None if self.stream is None else self.stream.consumers.get(name)
        if there is not None:
            found = describe(there)
        else:
            if self.stream is not None:
                self.stream.consumers.must_be_readable(name)
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
        """Announce that the stream, or one of its consumers, is served, if it is led here."""
        if not self.leads():
            return
        try:
            info = self.consumer_info(consumer).to_json() if consumer else self.info().to_json()
        except ApiError:
            return
        self.context.announce((self.assignment.account, self.name, consumer), info)

    def announce_deleted(self, consumer: str = "") -> None:
        """Announce that the stream, or one of its consumers, is no longer served."""
        self.context.announce((self.assignment.account, self.name, consumer), {})

    def warn(self, text: str) -> None:
        """Log a warning about the stream."""
        self.environment.log.warning(f"Stream '{self.account.name} > {self.name}' {text}")


def _place(info: ConsumerInfo, stream: ReplicatedStream, name: str) -> None:
    """Fill in the consumer's position, as far as the replica here knows it."""
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
