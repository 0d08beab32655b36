"""raftz: the Raft groups that this server is a member of, by account and name of the group.

Members have their ids of the meta group, so that one server is the same peer in all groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...protocol.duration import format_go
from .request import asked
from .view import Monitored

if TYPE_CHECKING:
    from ..cluster.raft_node import RaftNode
    from ..jetstream.cluster.view import ClusterView
    from ..jetstream.meta.report import GroupView

META = "_meta_"


@dataclass(slots=True)
class RaftzRequest:
    """Which groups to show.

    account: "" for the system account, whose only group is the meta group.
    group: the name of one group, "" for all.
    """

    account: str = asked("", "acc", "account")
    group: str = asked("", "group")


def raftz(server: Monitored, request: RaftzRequest | None = None) -> dict[str, Any]:
    """Return the requested groups, {} if there are none."""
    request = request or RaftzRequest()
    engine, system = server.jetstream, server.registry.system
    cluster = None if engine is None or engine.cluster is None else engine.cluster.view
    if cluster is None or system is None:
        return {}
    account = request.account or system.name
    found = {
        name: _group(cluster, group, view, account, system.name)
        for name, group, view in _groups(cluster, account, system.name)
        if request.group in ("", name)
    }
    return {account: found} if found else {}


def _groups(cluster: ClusterView, account: str, system: str) -> Iterator[tuple[str, RaftNode, GroupView]]:
    if account == system and cluster.group is not None:
        from ..jetstream.cluster.monitoring import meta_view

        yield META, cluster.group, meta_view(cluster)
    for (owner, _), local in cluster.local_streams.items():
        membership, view = local.membership, local.group_view()
        if owner == account and membership is not None and membership.group is not None and view is not None:
            yield local.assignment.group, membership.group, view


def _group(
    cluster: ClusterView, group: RaftNode, view: GroupView, account: str, system: str
) -> dict[str, Any]:
    names = cluster.names()
    members, node = group.members, group.node
    found: dict[str, Any] = {
        "id": cluster.me,
        "state": _state(group),
        "size": len(members.voters),
        "quorum_needed": members.quorum,
        "committed": group.commit,
        "applied": group.applied,
        "ever_had_leader": bool(view.leader),
        "system_account": account == system,
        "traffic_account": system,
        "ipq_proposal_len": group.pending_proposals(),
        "ipq_entry_len": 0,
        "ipq_resp_len": 0,
        "ipq_apply_len": max(0, group.commit - group.applied),
    }
    if view.leader:
        found["leader"] = view.leader
    if node is not None:
        log = node.log
        found |= {"term": node.term, "pterm": log.last_term, "pindex": log.last}
        found["wal"] = {"messages": log.last - log.snapshot.index, "first_seq": log.snapshot.index + 1}
        found["wal"] |= {"last_seq": log.last}
        found["catching_up"] = node.recovering
    found["peers"] = {
        member: {
            "name": names.get(member, ""),
            "known": True,
            **({"last_replicated_index": node.log.last - peer.lag} if group.is_leader and node else {}),
            **({"last_seen": format_go(peer.last_contact)} if peer.last_contact >= 0 else {}),
        }
        for member, peer in view.peers.items()
    }
    return found


def _state(group: RaftNode) -> str:
    if group.failure:
        return "CLOSED"
    node = group.node
    if node is None:
        return "FOLLOWER"
    return "LEADER" if node.is_leader else ("FOLLOWER" if node.leader else "CANDIDATE")
