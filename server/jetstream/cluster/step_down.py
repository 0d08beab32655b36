"""Step-down of the meta leader: this server hands the lead over to another member."""

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
    jetstream: JetStreamCluster,
    random: Random,
    *,
    server: str = "",
    cluster: str = "",
    tags: Collection[str] = (),
) -> str:
    """Whom to hand over to, by what is wanted. Raises ApiError 10005."""
    state, me = jetstream.state, jetstream.me
    members = sorted(_candidates(jetstream) | {me})
    return placement.successor(
        state, members, me, jetstream.node_statuses, random, server=server, cluster=cluster, tags=[*tags]
    )


def _candidates(cluster: JetStreamCluster) -> set[str]:
    """The voters that may lead: those of leafs' clusters may not."""
    group, servers = cluster.group, cluster.state.servers
    voters = group.members.voters if group is not None else frozenset[str]()
    own = cluster.node_tracker.node_info().cluster
    return {voter for voter in voters if voter not in servers or servers[voter].cluster == own}


def step_down(cluster: JetStreamCluster, random: Random, preferred: str) -> ApiError | None:
    """Hand over to `preferred` (a member's id), or, for "", to whom can take it; why not, or None."""
    group = cluster.group
    if group is None or not cluster.is_leader:
        return api_error("JSClusterNotAvailErr")
    if not preferred:
        try:
            preferred = successor(cluster, random)
        except ApiError:
            return None  # it stays, as there is nobody else
    if preferred not in group.members.voters or node_of(preferred) == cluster.node:
        return api_error("JSClusterNoPeersErrF", err="no replacement peer connected")
    group.transfer(preferred)
    return None
