"""What is shown of this server's part in the cluster: jsz, healthz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cluster.meta import health, report
from ...cluster.meta.report import GroupView, MetaLog, PeerView

if TYPE_CHECKING:
    from .domain import Domain
    from .questions import Json


def meta_view(domain: Domain) -> GroupView:
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


def meta_cluster(domain: Domain) -> Json:
    """The `meta_cluster` of jsz."""
    group = domain.group
    members = () if group is None else sorted(group.members.all)
    node = None if group is None else group.node
    log = MetaLog(len(members))
    if node is not None:
        log = MetaLog(len(members), entries=node.log.last - node.log.snapshot.index)
    return report.meta_cluster(
        domain.state,
        domain.sights,
        members,
        domain.meta_view(),
        domain.me,
        domain.servers.record().cluster,
        log,
    )


def problems(domain: Domain) -> list[str]:
    """What is wrong, the worst first."""
    group = domain.group
    facts = health.MetaFacts(
        member=group is not None and group.member in group.members.all,
        leader="" if group is None else group.leader,
        running=group is not None and group.node is not None,
        failure="" if group is None else group.failure,
        recovering=not domain.served,
    )
    worst = health.meta_problem(facts)
    found = [worst] if worst else []
    for (account, stream), why in sorted(domain.failures.items()):
        found.append(health.stream_problem(account, stream, health.StreamFacts(error=why)))
    for (account, stream), asset in sorted(domain.assets.items()):
        wrong = health.stream_problem(account, stream, asset.facts())
        if wrong:
            found.append(wrong)
    return found
