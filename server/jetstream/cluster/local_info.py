"""What an asset says of itself: who leads it, how its group is, its info and those of its consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig, ConsumerInfo, SequenceInfo
from ....protocol.api.stream import StreamConfig, StreamInfo, StreamState
from ....protocol.errors import api_error
from ...cluster.announce import node_of
from ..meta.health import StreamHealth
from ..meta.report import GroupView, PeerView, cluster_info
from ..meta.responder import LeaderStatus
from ..replication.stream import ReplicatedStream
from ..streams import stream_info

if TYPE_CHECKING:
    from ....protocol.api.cluster import ClusterInfo
    from .local_stream import LocalStream


def leader_status(asset: LocalStream) -> LeaderStatus:
    """Who leads the group; nobody, while the leader is here and cannot speak for the stream yet."""
    if not asset.leader:
        return LeaderStatus("", asset.held.host.clock.now() - asset.since, asset.ever)
    if node_of(asset.leader) == asset.domain.surroundings.node and not asset.leads():
        return LeaderStatus("", 0, asset.ever)
    return LeaderStatus(asset.domain.member(node_of(asset.leader)), 0, True)


def group_view(asset: LocalStream) -> GroupView | None:
    """The group as its member here sees it; None for a plain stream."""
    membership = asset.membership
    if membership is None:
        return None
    group = membership.group
    if group is None:
        return GroupView(traffic_account=asset.domain.system.name)
    silence, lags, level = group.silence(), group.lag(), group.level()
    tick = asset.domain.surroundings.pacemaker.tick
    peers = {}
    for member in group.members.all - {group.member}:
        peers[asset.domain.member(node_of(member))] = PeerView(
            level=member in level if group.is_leader else member == group.leader,
            heard=silence[member] * tick if member in silence else -1,
            lag=lags.get(member, 0),
        )
    leader = asset.domain.member(node_of(group.leader)) if group.leader else ""
    return GroupView(leader, asset.since, peers, traffic_account=asset.domain.system.name)


def health(asset: LocalStream) -> StreamHealth:
    """For healthz."""
    membership = asset.membership
    if membership is None:
        return StreamHealth(found=asset.stream is not None, error=asset.error)
    group = membership.group
    return StreamHealth(
        error=asset.error,
        replicated=True,
        running=group is not None,
        failure="" if group is None or membership.damage else group.failure,
        store_failure="" if membership.damage else membership.failure,
        damage=membership.damage,
        hopeless=membership.hopeless,
        stalemate=membership.stalemate(),
        catching_up=membership.refilling,
        healthy=not membership.health(),
    )


def cluster(asset: LocalStream) -> ClusterInfo:
    """The `cluster` of the stream's and its consumers' infos."""
    domain = asset.domain
    name = asset.assignment.cluster or asset.held.host.cluster_name
    return cluster_info(domain.state, domain.sights, asset.assignment, group_view(asset), domain.me, name)


def info(asset: LocalStream) -> StreamInfo:
    """The stream's info, with what the meta group decided where it is not open."""
    if asset.stream is not None:
        found = stream_info.info(asset.stream)
    else:
        config = stream_info.shown(StreamConfig.from_json(asset.assignment.config))
        now = asset.held.host.clock.now()
        found = StreamInfo(config=config, created=asset.assignment.created, state=StreamState(), ts=now)
    found.cluster = cluster(asset)
    return found


def consumer_info(asset: LocalStream, name: str) -> ConsumerInfo:
    """A consumer's info. Raises ApiError 10014."""
    there = None if asset.stream is None else asset.stream.consumers.get(name)
    if there is not None:
        found = there.info()
    else:
        if asset.stream is not None:
            asset.stream.must_be_readable(name)
        assignment = asset.consumer(name)
        if assignment is None:
            raise api_error("JSConsumerNotFoundErr")
        config = ConsumerConfig.from_json(assignment.config)
        now = asset.held.host.clock.now()
        found = ConsumerInfo(asset.name, name, assignment.created, config, ts=now)
        if isinstance(asset.stream, ReplicatedStream):
            _place(found, asset.stream, name)
    found.cluster = cluster(asset)
    return found


def _place(info: ConsumerInfo, stream: ReplicatedStream, name: str) -> None:
    """Fill in where the consumer stands, as far as its follower here was told."""
    standing = stream.standings.get(name)
    if standing is None:
        return
    state = standing.state
    info.delivered = SequenceInfo(*state.delivered, standing.delivered_at)
    info.ack_floor = SequenceInfo(*state.ack_floor, standing.acked_at)
    info.num_ack_pending = len(state.pending)
    info.num_redelivered = 0 if standing.config.max_deliver == 1 else len(state.redelivered)
    rest = max(standing.passed + 1, standing.resume)
    info.num_pending = len(standing.picked) + stream.store.count(standing.filters, rest)
