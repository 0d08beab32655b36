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


def meta_view(domain: JetStreamCluster) -> GroupView:
    """The meta group as its member here sees it."""
    group = domain.group
    if group is None:
        return GroupView()
    silence, lags, level = group.silence(), group.lag(), group.caught_up()
    tick = domain.surroundings.pacemaker.tick
    peers = {
        member: PeerView(
            level=member in level if group.is_leader else member == group.leader,
            heard=silence[member] * tick if member in silence else -1,
            lag=lags.get(member, 0),
        )
        for member in group.members.all - {group.member}
    }
    return GroupView(group.leader, peers=peers)


def meta_cluster(domain: JetStreamCluster) -> Json:
    """The `meta_cluster` of jsz."""
    group = domain.group
    members = () if group is None else sorted(group.members.all)
    node = None if group is None else group.node
    voters = 0 if group is None else len(group.members.voters)
    log = MetaLog(voters)
    if node is not None:
        log = MetaLog(voters, entries=node.log.last - node.log.snapshot.index)
    return report.meta_cluster(
        domain.state,
        domain.sights,
        members,
        meta_view(domain),
        domain.me,
        domain.servers.record().cluster,
        log,
        names=domain.servers.seen.names(),
    )


def meta_problem(domain: JetStreamCluster) -> HealthzError | None:
    """What is wrong with the meta group here."""
    group = domain.group
    facts = health.MetaHealth(
        member=group is not None and group.member in group.members.all,
        leader="" if group is None else group.leader,
        failure=domain.failure,
        recovering=not domain.served,
        stalemate=domain.stalemate,
    )
    found = health.meta_problem(facts)
    return HealthzError("JETSTREAM", found) if found else None


def stream_problems(
    domain: JetStreamCluster, wanted: Callable[[StreamAssignment], bool]
) -> Steps[list[HealthzError]]:
    """What is wrong with the wanted ones of the streams that are assigned to this server."""
    found: list[HealthzError] = []
    now = domain.surroundings.clock.now()
    for stream in filter(wanted, domain.state.held_by(domain.me)):
        yield
        if domain.state.stream(stream.account, stream.name) is None:
            continue  # it was deleted meanwhile
        account, name = key = (stream.account, stream.name)
        asset = domain.assets.get(key)
        if key in domain.failures:
            facts = StreamHealth(error=domain.failures[key])
        else:
            facts = StreamHealth(found=False) if asset is None else asset.facts()
        wrong = health.stream_problem(account, name, facts)
        if wrong:
            found.append(HealthzError("STREAM", wrong, account, name))
            continue
        for consumer in domain.state.consumers_of(account, name):
            yield
            there = asset is not None and asset.has_consumer(consumer.name)
            age = now - consumer.created
            wrong = health.consumer_problem(account, name, consumer.name, found=there, age=age)
            if wrong:
                found.append(HealthzError("CONSUMER", wrong, account, name, consumer.name))
    return found
