"""Report: where a stream is and how its replicas are, and the same for the meta group.

The functions work on what was decided (`MetaState`) and on what the group's member here sees (`GroupView`,
plain data), so that they serve both a group that runs here and one that is known only by its assignment.

Source: nats-server's server/jetstream_cluster.go: clusterInfo; server/monitor.go: Jsz, for `meta_cluster`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from ....protocol.api.cluster import ClusterInfo, DesiredCluster, PeerInfo
from ....protocol.lazy_dataclass import dataclass
from ....protocol.timestamp import format_rfc3339
from .assignment import StreamAssignment
from .node_info import UNSEEN, NodeStatus, node_of
from .state import MetaState

SILENCE = 10_000_000_000  # ns after which a replica without contact counts as not current


@dataclass(frozen=True, slots=True)
class PeerView:
    """A member of a group as another member sees it.

    caught_up: whether it is level with the leader, as far as known.
    last_contact: ns since it was last heard of, -1 for never.
    lag: how many operations it is behind.
    """

    caught_up: bool = False
    last_contact: int = -1
    lag: int = 0


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as its member here sees it.

    leader: a member's id, "" for none.
    since: when its leadership began, ns.
    peers: all members of the group except the one here. Only a leader knows their lags.
    system_account: whether the group's messages travel in the system account.
    traffic_account: the account in which they travel.
    """

    leader: str = ""
    since: int = 0
    peers: Mapping[str, PeerView] = field(default_factory=dict)
    system_account: bool = True
    traffic_account: str = ""


def cluster_info(
    state: MetaState,
    node_statuses: Mapping[str, NodeStatus],
    stream: StreamAssignment,
    view: GroupView | None,
    me: str,
    cluster: str,
) -> ClusterInfo:
    """Return the `cluster` of a stream, or of one of its consumers.

    view: None if no group runs here. A stream with one copy has no group; the server that holds it leads it.
    """
    if view is None and stream.members == (me,):
        return ClusterInfo(name=cluster, leader=state.server_name(me))
    info = ClusterInfo(name=cluster, raft_group=stream.group)
    leader, seen = "", dict[str, PeerView]()
    if view is not None:
        leader, seen = view.leader, dict(view.peers)
        info.leader = _name(state, leader) if leader else ""
        info.leader_since = view.since if leader and leader == me else 0
        info.system_account = view.system_account
        info.traffic_account = view.traffic_account
    pending = {member for member in stream.peers if view is not None and member not in {*seen, me}}
    info.replicas = _replicas(state, node_statuses, stream.members, leader, seen, pending, me)
    if stream.leaving:
        wanted = _replicas(state, node_statuses, stream.peers, "", {}, set(), me)
        info.desired = DesiredCluster(name=stream.cluster, replicas=wanted)
    return info


def _replicas(
    state: MetaState,
    node_statuses: Mapping[str, NodeStatus],
    members: Iterable[str],
    leader: str,
    seen: Mapping[str, PeerView],
    pending: set[str],
    me: str,
    names: Mapping[str, str] | None = None,
) -> list[PeerInfo]:
    """Return the members except `me` if there is a leader, otherwise all of them, sorted by name.

    pending: members that are not in the group yet.
    names: names of members that are not in the meta state.
    """
    names = names or {}
    found = []
    for member in members:
        if leader and member == me:
            continue
        view = seen.get(member, PeerView())
        known = member in state.servers or member in names
        # 0 means never: `nats` shows "not seen"
        active = max(1, view.last_contact) if view.last_contact >= 0 else 0
        found.append(
            PeerInfo(
                name=names.get(member) or _name(state, member),
                current=view.caught_up and 0 <= view.last_contact <= SILENCE,
                offline=member != me and not (known and node_statuses.get(member, UNSEEN).online),
                active=active,
                lag=view.lag if known else 0,
                peer=node_of(member),
                pending=member in pending,
            )
        )
    return sorted(found, key=lambda peer: peer.name)


def _name(state: MetaState, member: str) -> str:
    return state.server_name(member) or f"Server name unknown at this time (peerID: {node_of(member)})"


@dataclass(frozen=True, slots=True)
class MetaLog:
    """The numbers of the meta group's log.

    size: how many voters the group has.
    entries, bytes: what is not in a snapshot yet.
    snapshot_at: when the last snapshot was taken, ns.
    snapshot_duration: how long that took, ns.
    """

    size: int
    entries: int = 0
    bytes: int = 0
    snapshot_at: int = 0
    snapshot_duration: int = 0


def meta_cluster(
    state: MetaState,
    node_statuses: Mapping[str, NodeStatus],
    members: Iterable[str],
    view: GroupView,
    me: str,
    cluster: str,
    log: MetaLog,
    *,
    pending: int = 0,
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the `meta_cluster` of jsz.

    members: of the meta group.
    pending: how many API requests wait.
    names: what members call themselves that are not admitted yet.
    """
    names = names or {}
    replicas = _replicas(state, node_statuses, members, view.leader, view.peers, set(), me, names)
    document: dict[str, Any] = {}
    if cluster:
        document["name"] = cluster
    if view.leader:
        document |= {
            "leader": names.get(view.leader) or _name(state, view.leader),
            "peer": node_of(view.leader),
        }
    if replicas:
        document["replicas"] = [replica.to_json() for replica in replicas]
    snapshot: dict[str, Any] = {"pending_entries": log.entries, "pending_size": log.bytes}
    snapshot["last_time"] = format_rfc3339(log.snapshot_at)
    if log.snapshot_duration:
        snapshot["last_duration"] = log.snapshot_duration
    return document | {
        "cluster_size": log.size,
        "quorum_needed": log.size // 2 + 1,
        "pending": pending,
        "pending_requests": pending,
        "pending_infos": 0,
        "snapshot": snapshot,
    }
