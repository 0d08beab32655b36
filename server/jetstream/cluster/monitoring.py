"""What is shown of this server's part in the cluster: jsz, healthz."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...slices import Steps
from ..meta import health, report
from ..meta.health import HealthzError, StreamHealth
from ..meta.report import GroupView, MetaLog, PeerView

if TYPE_CHECKING:
    from ..meta.assignment import StreamAssignment
    from .cluster import JetStreamCluster
    from .leader_queries import Json


def meta_view(cluster: JetStreamCluster) -> GroupView:
    """The meta group as its member here sees it."""
    group = cluster.group
    if group is None:
        return GroupView()
    silence, lags, level = group.silence(), group.lag(), group.caught_up()
    tick = cluster.environment.ticker.tick
    peers = {
        member: PeerView(
            caught_up=member in level if group.is_leader else member == group.leader,
            last_contact=silence[member] * tick if member in silence else -1,
            lag=lags.get(member, 0),
        )
        for member in group.members.all - {group.member}
    }
    return GroupView(group.leader, peers=peers)


def meta_cluster(cluster: JetStreamCluster) -> Json:
    """The `meta_cluster` of jsz."""
    group = cluster.group
    members = () if group is None else sorted(group.members.all)
    node = None if group is None else group.node
    voters = 0 if group is None else len(group.members.voters)
    log = MetaLog(voters)
    if node is not None:
        log = MetaLog(voters, entries=node.log.last - node.log.snapshot.index)
    return report.meta_cluster(
        cluster.state,
        cluster.node_statuses,
        members,
        meta_view(cluster),
        cluster.me,
        cluster.node_tracker.node_info().cluster,
        log,
        names=cluster.node_tracker.node_statuses.names(),
    )


def meta_problem(cluster: JetStreamCluster) -> HealthzError | None:
    """What is wrong with the meta group here."""
    group = cluster.group
    meta_health = health.MetaHealth(
        member=group is not None and group.member in group.members.all,
        leader="" if group is None else group.leader,
        failure=cluster.failure,
        recovering=not cluster.served,
        quorum_diagnosis=cluster.quorum_diagnosis,
    )
    found = health.meta_problem(meta_health)
    return HealthzError("JETSTREAM", found) if found else None


def stream_problems(
    cluster: JetStreamCluster, wanted: Callable[[StreamAssignment], bool]
) -> Steps[list[HealthzError]]:
    """What is wrong with the wanted ones of the streams that are assigned to this server."""
    found: list[HealthzError] = []
    now = cluster.environment.clock.now()
    for stream in filter(wanted, cluster.state.held_by(cluster.me)):
        yield
        if cluster.state.stream(stream.account, stream.name) is None:
            continue  # it was deleted meanwhile
        account, name = key = (stream.account, stream.name)
        local = cluster.local_streams.get(key)
        if key in cluster.failures:
            stream_health = StreamHealth(error=cluster.failures[key])
        else:
            stream_health = StreamHealth(found=False) if local is None else local.health()
        wrong = health.stream_problem(account, name, stream_health)
        if wrong:
            found.append(HealthzError("STREAM", wrong, account, name))
            continue
        for consumer in cluster.state.consumers_of(account, name):
            yield
            there = local is not None and local.has_consumer(consumer.name)
            age = now - consumer.created
            wrong = health.consumer_problem(account, name, consumer.name, found=there, age=age)
            if wrong:
                found.append(HealthzError("CONSUMER", wrong, account, name, consumer.name))
    return found
