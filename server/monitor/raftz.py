"""raftz: the Raft groups that this server is a member of, by account and name of the group.

A member is shown by the id that its server has in the meta group, so a server has the same id in all groups.
Within Raft it has another id in each group (`server/cluster/announce.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...protocol.duration import format_go
from ...protocol.lazy_dataclass import dataclass
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
        name: _document(cluster, raft_node, group_view, account, system.name)
        for name, raft_node, group_view in _groups(cluster, account, system.name)
        if request.group in ("", name)
    }
    return {account: found} if found else {}


def _groups(cluster: ClusterView, account: str, system: str) -> Iterator[tuple[str, RaftNode, GroupView]]:
    """Yield (name, this server's member, what it knows of the others) of each group of an account."""
    if account == system and cluster.group is not None:
        from ..jetstream.cluster.monitoring import meta_view

        yield META, cluster.group, meta_view(cluster)
    for (owner, _), local in cluster.local_streams.items():
        membership, group_view = local.membership, local.group_view()
        if owner != account or membership is None or membership.group is None or group_view is None:
            continue
        yield local.assignment.group, membership.group, group_view


def _document(
    cluster: ClusterView, raft_node: RaftNode, group_view: GroupView, account: str, system: str
) -> dict[str, Any]:
    """Return the document of one group."""
    names = cluster.names()
    members, node = raft_node.members, raft_node.node
    found: dict[str, Any] = {
        "id": cluster.me,
        "state": _state(raft_node),
        "size": len(members.voters),
        "quorum_needed": members.quorum,
        "committed": raft_node.commit,
        "applied": raft_node.applied,
        "ever_had_leader": bool(group_view.leader),
        "system_account": account == system,
        "traffic_account": system,
        "ipq_proposal_len": len(raft_node.proposals),
        "ipq_entry_len": 0,
        "ipq_resp_len": 0,
        "ipq_apply_len": max(0, raft_node.commit - raft_node.applied),
    }
    if group_view.leader:
        found["leader"] = group_view.leader
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
            **({"last_replicated_index": node.log.last - peer.lag} if raft_node.is_leader and node else {}),
            **({"last_seen": format_go(peer.last_contact)} if peer.last_contact >= 0 else {}),
        }
        for member, peer in group_view.peers.items()
    }
    return found


def _state(raft_node: RaftNode) -> str:
    if raft_node.failure:
        return "CLOSED"
    node = raft_node.node
    if node is None:
        return "FOLLOWER"
    return "LEADER" if node.is_leader else ("FOLLOWER" if node.leader else "CANDIDATE")
