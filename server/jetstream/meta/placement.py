"""Placement: which servers should hold a stream, and which of them should lead it.

Promises:
- The same state, node statuses and random numbers give the same peers.
- A server is never chosen twice, nor one outside the wanted cluster, nor one that lacks a wanted tag.
- Servers that are online are preferred, then (for replicated streams) those that hold fewer replicated
  streams, then those with more room, then those with fewer streams.

Source: nats-server's server/jetstream_cluster.go: selectPeerGroup; the texts of the reasons are those of
error 10005.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from random import Random

from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from .assignment import StreamAssignment
from .node_info import UNSEEN, NodeInfo, NodeStatus
from .state import MetaState

EXCLUDED = "!jetstream"  # the tag of a server that takes no streams
ENDLESS = 1 << 62  # bytes that count as the room of a server without a limit


@dataclass(slots=True)
class PeerSelectionErrors:
    """The reasons why servers were not chosen, collected over all of them."""

    offline: bool = False
    excluded: bool = False
    no_storage: bool = False
    not_unique: bool = False
    other: bool = False
    no_servers: bool = False
    missing_tags: set[str] = field(default_factory=set)
    unwanted_tags: set[str] = field(default_factory=set)

    def add(self, other: PeerSelectionErrors) -> None:
        """Add the reasons of another cluster."""
        for name in ("offline", "excluded", "no_storage", "not_unique", "other", "no_servers"):
            setattr(self, name, getattr(self, name) or getattr(other, name))
        self.missing_tags |= other.missing_tags
        self.unwanted_tags |= other.unwanted_tags

    def error(self) -> ApiError:
        """Return error 10005, with all reasons."""
        parts = ["no suitable peers for placement"]
        for given, text in (
            (self.offline, "peer offline"),
            (self.excluded, "exclude tag set"),
            (self.no_storage, "insufficient storage"),
            (self.not_unique, "server tag not unique"),
            (self.other, "miscellaneous issue"),
            (self.no_servers, "jetstream not enabled in cluster"),
        ):
            if given:
                parts.append(text)
        for tags, text in ((self.missing_tags, "not matched"), (self.unwanted_tags, "excluded")):
            if tags:
                listed = ", ".join(f"'{tag}'" for tag in sorted(tags))
                parts.append(f"tags {text} [{listed}]")
        return api_error("JSClusterNoPeersErrF", err=", ".join(parts))


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """What is to be placed.

    replicas: the number of peers.
    clusters: the clusters to try, in this order.
    storage: "file" or "memory".
    max_bytes: the bytes that each peer must have room for.
    tags: tags that the servers must have; with a "!" in front, must not have.
    """

    replicas: int
    clusters: Sequence[str]
    storage: str = "file"
    max_bytes: int = 0
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PlacementPolicy:
    """The rules of the server that leads.

    unique_tag: a prefix; no two peers may share a tag that begins with it. "" for no rule.
    max_ha_assets: how many replicated streams and consumers a server may hold, 0 for no limit.
    """

    unique_tag: str = ""
    max_ha_assets: int = 0


ANYWHERE = PlacementPolicy()


@dataclass(slots=True)
class NodeLoad:
    """What one server holds by assignment.

    streams: how many streams.
    replicated: how many of them are replicated.
    ha_assets: how many replicated streams and consumers.
    memory, store: the bytes that the streams reserve.
    """

    streams: int = 0
    replicated: int = 0
    ha_assets: int = 0
    memory: int = 0
    store: int = 0


def loads(state: MetaState) -> dict[str, NodeLoad]:
    """Return the load of every server, by member."""
    found = {member: NodeLoad() for member in state.servers}
    for stream in state.every_stream():
        for member in stream.members:
            load = found.get(member)
            if load is None:
                continue
            load.streams += 1
            if stream.storage == "memory":
                load.memory += stream.max_bytes
            else:
                load.store += stream.max_bytes
            if stream.replicated:
                load.replicated += 1
                load.ha_assets += 1 + len(state.consumers.get((stream.account, stream.name), ()))
    return found


def room(server: NodeInfo, node_status: NodeStatus, load: NodeLoad, storage: str) -> int:
    """Return the bytes a server has left: its limit minus what is used or reserved, whichever is more."""
    if storage == "memory":
        limit, taken = server.max_memory, max(node_status.memory, load.memory)
    else:
        limit, taken = server.max_store, max(node_status.store, load.store)
    return ENDLESS if limit < 0 else max(0, limit - taken)


def place(
    state: MetaState,
    node_statuses: Mapping[str, NodeStatus],
    placement: PlacementRequest,
    policy: PlacementPolicy,
    random: Random,
    *,
    existing: Sequence[str] = (),
    ignore: Collection[str] = (),
) -> tuple[tuple[str, ...], str]:
    """Choose the peers of a stream, and return (peers, cluster).

    existing: peers that stay, and come first.
    ignore: members that must not be chosen.

    Raises ApiError 10005 if there are not enough servers.
    """
    if len(existing) >= placement.replicas:
        return tuple(existing[: placement.replicas]), placement.clusters[0]
    reasons = PeerSelectionErrors()
    for cluster in placement.clusters:
        search = _Search(state, node_statuses, placement, policy, cluster, existing)
        chosen = search.run(random, ignore)
        if chosen is not None:
            return (*existing, *chosen), cluster
        reasons.add(search.reasons)
    raise reasons.error()


class _Search:
    """The search for peers in one cluster."""

    def __init__(
        self,
        state: MetaState,
        node_statuses: Mapping[str, NodeStatus],
        placement: PlacementRequest,
        policy: PlacementPolicy,
        cluster: str,
        existing: Sequence[str],
    ) -> None:
        self.state = state
        self.node_statuses = node_statuses
        self.placement = placement
        self.policy = policy
        self.cluster = cluster
        self.existing = existing
        self.reasons = PeerSelectionErrors()
        self.loads = loads(state)
        self.prefix = policy.unique_tag.lower()
        if self.prefix and any(tag.lower().startswith(self.prefix) for tag in placement.tags):
            self.prefix = ""  # the request names a tag with this prefix: then it need not be unique
        self.taken: set[str] = set()
        for member in existing:
            server = state.servers.get(member)
            if server is not None:
                self.taken.update(self._unique_tags(server))

    def run(self, random: Random, ignore: Collection[str]) -> list[str] | None:
        """Return the peers to add, best first, or None if there are not enough."""
        servers = sorted(self.state.servers.values(), key=lambda server: server.id)
        random.shuffle(servers)
        fit = [
            server
            for server in servers
            if server.cluster == self.cluster and self._suits(server, ignore) and self._is_unique(server)
        ]
        wanted = self.placement.replicas - len(self.existing)
        online = sum(self._status(server).online for server in fit) + len(self.existing)
        enough = len(fit) >= wanted
        if not enough or online < self.placement.replicas // 2 + 1:
            self.reasons.no_servers |= not servers
            self.reasons.offline |= enough and bool(servers)
            return None
        fit.sort(key=self._rank)
        return [server.id for server in fit[:wanted]]

    def _status(self, server: NodeInfo) -> NodeStatus:
        return self.node_statuses.get(server.id, UNSEEN)

    def _rank(self, server: NodeInfo) -> tuple[bool, int, int, int]:
        load = self.loads[server.id]
        left = room(server, self._status(server), load, self.placement.storage)
        replicated = load.replicated if self.placement.replicas > 1 else 0
        return not self._status(server).online, replicated, -left, load.streams

    def _suits(self, server: NodeInfo, ignore: Collection[str]) -> bool:
        """Return whether the server can be chosen, apart from the others; if not, note the reason."""
        reasons, node_status, load = self.reasons, self._status(server), self.loads[server.id]
        if not node_status.known:
            reasons.offline = True
            return False
        if server.id in ignore or server.id in self.existing:
            return False
        if EXCLUDED in server.tags:
            reasons.excluded = True
            return False
        for tag in self.placement.tags:
            bare = tag.removeprefix("!").lower()
            if tag.startswith("!") and bare in server.tags:
                reasons.unwanted_tags.add(bare)
                return False
            if not tag.startswith("!") and bare not in server.tags:
                reasons.missing_tags.add(bare)
                return False
        if self.placement.max_bytes > room(server, node_status, load, self.placement.storage):
            reasons.no_storage = True
            return False
        if 0 < self.policy.max_ha_assets <= load.ha_assets:
            reasons.other = True
            return False
        return True

    def _unique_tags(self, server: NodeInfo) -> list[str]:
        if not self.prefix:
            return []
        return [tag for tag in server.tags if tag.startswith(self.prefix)][:1]

    def _is_unique(self, server: NodeInfo) -> bool:
        """Return whether the server has a tag of the prefix that no server chosen before has."""
        if not self.prefix:
            return True
        tags = self._unique_tags(server)
        if not tags or tags[0] in self.taken:
            self.reasons.not_unique = True
            return False
        self.taken.add(tags[0])
        return True


def preferred(peers: Sequence[str], node_statuses: Mapping[str, NodeStatus], random: Random) -> str:
    """Return the peer that should lead a new group: any that is online."""
    online = [peer for peer in peers if node_statuses.get(peer, UNSEEN).online]
    return random.choice(online or list(peers))


def survivors(
    peers: Sequence[str],
    count: int,
    node_statuses: Mapping[str, NodeStatus],
    *,
    holders: Collection[str],
    leader: str = "",
    lags: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Return the peers that stay when a stream gets fewer copies.

    The leader comes first, then peers that are online, then holders, then those that lag least.

    lags: operations behind the leader, by member; a member that is not in it counts as furthest behind.
    """
    lags = lags or {}

    def rank(peer: str) -> tuple[bool, bool, bool, bool, int]:
        online = node_statuses.get(peer, UNSEEN).online
        return peer != leader, not online, peer not in holders, peer not in lags, lags.get(peer, 0)

    kept = set(sorted(peers, key=rank)[:count])
    return tuple(peer for peer in peers if peer in kept)


def may_host_consumer(
    state: MetaState,
    stream: StreamAssignment,
    node_statuses: Mapping[str, NodeStatus],
    replicas: int,
    policy: PlacementPolicy,
) -> bool:
    """Return whether a stream's servers can take one more consumer now; if not, the error is 10023."""
    online = [peer for peer in stream.peers if node_statuses.get(peer, UNSEEN).online]
    if len(online) < replicas // 2 + 1:
        return False
    if not policy.max_ha_assets or not stream.replicated:
        return True
    found = loads(state)
    return all(
        found[peer].ha_assets < policy.max_ha_assets for peer in stream.members if peer in state.servers
    )


def may_lead(state: MetaState, voters: Collection[str], clusters: Collection[str]) -> set[str]:
    """Return the voters that may lead the meta group of these clusters: those of leaf nodes may not."""
    servers = state.servers
    return {voter for voter in voters if voter not in servers or servers[voter].cluster in clusters}


def successor(
    state: MetaState,
    members: Sequence[str],
    leader: str,
    node_statuses: Mapping[str, NodeStatus],
    random: Random,
    *,
    server: str = "",
    cluster: str = "",
    tags: Sequence[str] = (),
) -> str:
    """Return the member to which a leader that was asked to step down hands over.

    server, cluster, tags: the placement in the request; "" and () for any.

    Raises ApiError 10005 if no member fits.
    """
    servers = [state.servers[member] for member in members if member in state.servers]
    if server:
        wanted = next((one.id for one in servers if one.name == server), "")
        if wanted == leader:
            text = f'preferred server "{server}" is already leader'
            raise api_error("JSClusterNoPeersErrF", err=text)
        if not wanted:
            raise api_error("JSClusterNoPeersErrF", err=f'preferred server "{server}" not known')
        return wanted
    fit = [
        one.id
        for one in servers
        if one.id != leader
        and node_statuses.get(one.id, UNSEEN).online
        and (not cluster or one.cluster == cluster)
        and all(tag.lower() in one.tags for tag in tags)
    ]
    if not fit:
        raise api_error("JSClusterNoPeersErrF", err="no replacement peer connected")
    return random.choice(sorted(fit))
