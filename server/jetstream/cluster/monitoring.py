"""What jsz and healthz show of this server's part in the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...cluster.ticker import TICK
from ...slices import Steps
from ..meta import health, report
from ..meta.health import HealthzError, StreamHealth
from ..meta.report import GroupView, MetaLog, PeerView

if TYPE_CHECKING:
    from ..meta.assignment import StreamAssignment
    from .leader_queries import Json
    from .view import ClusterView


def meta_view(view: ClusterView) -> GroupView:
    """Return the meta group as its member here sees it."""
    group = view.group
    if group is None:
        return GroupView()
    silence, lags, level = group.peers.silence(), group.peers.lag(), group.peers.caught_up()
    peers = {
        member: PeerView(
            caught_up=member in level if group.is_leader else member == group.leader,
            last_contact=silence[member] * TICK if member in silence else -1,
            lag=lags.get(member, 0),
        )
        for member in group.members.all - {group.member}
    }
    return GroupView(group.leader, peers=peers)


def meta_cluster(view: ClusterView) -> Json:
    """Return the `meta_cluster` of jsz."""
    group = view.group
    members = () if group is None else sorted(group.members.all)
    node = None if group is None else group.node
    voters = 0 if group is None else len(group.members.voters)
    log = MetaLog(voters)
    if node is not None:
        log = MetaLog(voters, entries=node.log.last - node.log.snapshot.index)
    return report.meta_cluster(
        view.state,
        view.node_statuses,
        members,
        meta_view(view),
        view.me,
        view.cluster_name,
        log,
        names=view.names(),
    )


def meta_problem(view: ClusterView) -> HealthzError | None:
    """Return what is wrong with the meta group here, None for nothing."""
    group = view.group
    meta_health = health.MetaHealth(
        member=group is not None and group.member in group.members.all,
        leader="" if group is None else group.leader,
        failure=view.failure,
        recovering=not view.served,
        quorum_diagnosis=view.quorum_diagnosis,
    )
    found = health.meta_problem(meta_health)
    return HealthzError("JETSTREAM", found) if found else None


def stream_problems(
    view: ClusterView, wanted: Callable[[StreamAssignment], bool]
) -> Steps[list[HealthzError]]:
    """Return in steps what is wrong with those streams assigned to this server for which `wanted` is true.

    A stream that has no problem is followed by the problems of its consumers.
    """
    found: list[HealthzError] = []
    now = view.clock.now()
    for stream in filter(wanted, view.state.assigned_to(view.me)):
        yield
        if view.state.stream(stream.account, stream.name) is None:
            continue  # deleted meanwhile
        account, name = key = (stream.account, stream.name)
        local = view.local_streams.get(key)
        if key in view.failures:
            stream_health = StreamHealth(error=view.failures[key])
        else:
            stream_health = StreamHealth(found=False) if local is None else local.health()
        wrong = health.stream_problem(account, name, stream_health)
        if wrong:
            found.append(HealthzError("STREAM", wrong, account, name))
            continue
        for consumer in view.state.consumers_of(account, name):
            yield
            there = local is not None and local.has_consumer(consumer.name)
            age = now - consumer.created
            wrong = health.consumer_problem(account, name, consumer.name, found=there, age=age)
            if wrong:
                found.append(HealthzError("CONSUMER", wrong, account, name, consumer.name))
    return found
