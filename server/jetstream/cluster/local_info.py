"""The state of a local stream: who leads it, how its group is, its info and those of its consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig, ConsumerInfo, SequenceInfo
from ....protocol.api.stream import StreamConfig, StreamInfo, StreamState
from ....protocol.errors import api_error
from ...cluster.announce import node_of
from ..consumers.info import describe
from ..meta.health import StreamHealth
from ..meta.report import GroupView, PeerView, cluster_info
from ..meta.responder import LeaderStatus
from ..replication.stream import ReplicatedStream
from ..streams import stream_info

if TYPE_CHECKING:
    from ....protocol.api.cluster import ClusterInfo
    from .local_stream import LocalStream


def leader_status(local: LocalStream) -> LeaderStatus:
    """Who leads the group; nobody, while the leader is here and does not serve the stream yet."""
    if not local.leader:
        return LeaderStatus("", local.account.host.clock.now() - local.leader_since, local.had_leader)
    if node_of(local.leader) == local.host.environment.node and not local.leads():
        return LeaderStatus("", 0, local.had_leader)
    return LeaderStatus(local.host.member(node_of(local.leader)), 0, True)


def group_view(local: LocalStream) -> GroupView | None:
    """The group as its member here sees it; None for a stream without a group."""
    membership = local.membership
    if membership is None:
        return None
    group = membership.group
    if group is None:
        return GroupView(traffic_account=local.host.system.name)
    silence, lags, level = group.silence(), group.lag(), group.level()
    tick = local.host.environment.ticker.tick
    peers = {}
    for member in group.members.all - {group.member}:
        peers[local.host.member(node_of(member))] = PeerView(
            caught_up=member in level if group.is_leader else member == group.leader,
            last_contact=silence[member] * tick if member in silence else -1,
            lag=lags.get(member, 0),
        )
    leader = local.host.member(node_of(group.leader)) if group.leader else ""
    return GroupView(leader, local.leader_since, peers, traffic_account=local.host.system.name)


def health(local: LocalStream) -> StreamHealth:
    """For healthz."""
    membership = local.membership
    if membership is None:
        return StreamHealth(found=local.stream is not None, error=local.error)
    group = membership.group
    return StreamHealth(
        error=local.error,
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


def cluster(local: LocalStream) -> ClusterInfo:
    """The `cluster` of the stream's and its consumers' infos."""
    host = local.host
    name = local.assignment.cluster or local.account.host.cluster_name
    return cluster_info(host.state, host.node_statuses, local.assignment, group_view(local), host.me, name)


def info(local: LocalStream) -> StreamInfo:
    """The stream's info, with what the meta group decided where it is not open."""
    if local.stream is not None:
        found = stream_info.info(local.stream)
    else:
        config = stream_info.shown(StreamConfig.from_json(local.assignment.config))
        now = local.account.host.clock.now()
        found = StreamInfo(config=config, created=local.assignment.created, state=StreamState(), ts=now)
    found.cluster = cluster(local)
    return found


def consumer_info(local: LocalStream, name: str) -> ConsumerInfo:
    """A consumer's info. Raises ApiError 10014."""
    there = None if local.stream is None else local.stream.consumers.get(name)
    if there is not None:
        found = describe(there)
    else:
        if local.stream is not None:
            local.stream.must_be_readable(name)
        assignment = local.consumer(name)
        if assignment is None:
            raise api_error("JSConsumerNotFoundErr")
        config = ConsumerConfig.from_json(assignment.config)
        now = local.account.host.clock.now()
        found = ConsumerInfo(local.name, name, assignment.created, config, ts=now)
        if isinstance(local.stream, ReplicatedStream):
            _place(found, local.stream, name)
    found.cluster = cluster(local)
    return found


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
