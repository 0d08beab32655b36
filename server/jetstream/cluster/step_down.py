"""Succession: who leads the meta group after this server, which is told to step down."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error
from ..meta import placement
from ..meta.node_info import node_of

if TYPE_CHECKING:
    from .cluster import JetStreamCluster


def successor(
    domain: JetStreamCluster, dice: Random, *, server: str = "", cluster: str = "", tags: Collection[str] = ()
) -> str:
    """Whom to hand over to, by what is wanted. Raises ApiError 10005."""
    state, me = domain.state, domain.me
    members = sorted(_candidates(domain) | {me})
    return placement.successor(
        state, members, me, domain.sights, dice, server=server, cluster=cluster, tags=[*tags]
    )


def _candidates(domain: JetStreamCluster) -> set[str]:
    """The voters that may lead: those of leafs' clusters may not."""
    group, servers = domain.group, domain.state.servers
    voters = group.members.voters if group is not None else frozenset[str]()
    home = domain.servers.record().cluster
    return {voter for voter in voters if voter not in servers or servers[voter].cluster == home}


def step_down(domain: JetStreamCluster, dice: Random, preferred: str) -> ApiError | None:
    """Hand over to `preferred` (a member's id), or, for "", to whom can take it; why not, or None."""
    group = domain.group
    if group is None or not domain.is_leader:
        return api_error("JSClusterNotAvailErr")
    if not preferred:
        try:
            preferred = successor(domain, dice)
        except ApiError:
            return None  # it stays, as there is nobody else
    if preferred not in group.members.voters or node_of(preferred) == domain.node:
        return api_error("JSClusterNoPeersErrF", err="no replacement peer connected")
    group.transfer(preferred)
    return None
