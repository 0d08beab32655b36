"""MetaPlanner: how the meta leader turns requests into commands.

Promises:
- It refuses what the reference refuses, before anything is proposed.
- What it proposes may still be refused when it is applied, or turn out to be stale; then the request comes
  here again, with the state of that moment.
- It changes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from ....protocol.errors import ApiError, api_error
from ....protocol.identifier import new_id
from ....protocol.lazy_dataclass import dataclass
from ....protocol.subject_tree import TooEntangled
from .assignment import Document, StreamAssignment
from .command import (
    ChangePeers,
    CreateStream,
    PeerMove,
    PutConsumer,
    PutServer,
    RemoveServer,
    ReplaceServer,
    UpdateStream,
)
from .node_info import UNSEEN, NodeInfo, NodeStatus, node_of
from .placement import (
    ANYWHERE,
    PlacementPolicy,
    PlacementRequest,
    may_host_consumer,
    place,
    preferred,
    survivors,
)
from .state import AccountView, MetaState, has_holder, other_incarnations
from .tier_limits import UNLIMITED, TierLimits

NAME_LENGTH = 8


@dataclass(frozen=True, slots=True)
class ApiClient:
    """The client that sent a request.

    info: what is stored about the client with what it creates.
    clusters: the clusters where it is connected, nearest first.
    """

    info: Document
    clusters: Sequence[str]


@dataclass(frozen=True, slots=True)
class MetaPlanner:
    """Makes commands of requests.

    state: the meta state as applied here.
    node_statuses: the status of each member, by id.
    random: for names, and for choices among equals.
    policy: the rules for placement.
    """

    state: MetaState
    node_statuses: Mapping[str, NodeStatus]
    random: Random
    policy: PlacementPolicy = ANYWHERE

    # --- streams

    def create_stream(
        self,
        view: AccountView,
        config: Document,
        requester: ApiClient,
        created: int,
        tier_limits: TierLimits = UNLIMITED,
    ) -> CreateStream:
        """Return the command that creates a stream.

        config: validated, and complete with its defaults.
        created: ns.

        Raises ApiError 10005, 10052, 10058, 10065.
        """
        account, name = view.account, str(config["name"])
        existing = view.stream(name)
        if existing is not None:
            if existing.config != config:
                raise api_error("JSStreamNameExistErr")
            # The proposal confirms that the stream exists: a server that no longer leads fails at it.
            group, peers, cluster = existing.group, existing.peers, existing.cluster
            return CreateStream(account, config, group, cluster, peers, existing.created, share=tier_limits)
        self._check_overlap(account, config)
        placement = placement_request(config, requester.clusters)
        peers, cluster = place(self.state, self.node_statuses, placement, self.policy, self.random)
        return CreateStream(
            account,
            config,
            self.new_group(placement.replicas, placement.storage),
            cluster,
            peers,
            created,
            preferred=preferred(peers, self.node_statuses, self.random),
            client=requester.info,
            share=tier_limits,
            reads=dict(view.reads),
        )

    def update_stream(
        self,
        view: AccountView,
        config: Document,
        requester: ApiClient,
        tier_limits: TierLimits = UNLIMITED,
        *,
        leader: str = "",
        lags: Mapping[str, int] | None = None,
    ) -> UpdateStream:
        """Return the command that changes a stream's configuration, and its peers if need be.

        config: validated against the present one, and complete.
        leader, lags: of the stream's group as far as known, to choose which peers stay.

        Raises ApiError.
        """
        before = view.stream(str(config["name"]))
        if before is None:
            raise api_error("JSStreamNotFoundErr")
        if self.offline(before):
            raise api_error("JSStreamOfflineErr")
        self._check_overlap(view.account, config)
        command = UpdateStream(view.account, config, tier_limits, dict(view.reads), requester.info)
        request = placement_request(config, requester.clusters)
        placement = config.get("placement")
        moves = bool(placement) and placement != before.config.get("placement")
        if moves and request.replicas != before.replicas:
            raise api_error("JSStreamMoveAndScaleErr")
        if not moves and request.replicas == before.replicas:
            return command
        if before.change == "move":
            raise api_error("JSStreamMoveInProgressErr")
        if moves:
            return self._move(command, before, request)
        if request.replicas < len(before.peers):
            peers = survivors(
                before.peers,
                request.replicas,
                self.node_statuses,
                holders=before.holders,
                leader=leader,
                lags=lags,
            )
            return placed(command, peers, "", before.cluster, "", "scale")
        request = placement_request(config, [before.cluster])
        peers, cluster = place(
            self.state,
            self.node_statuses,
            request,
            self.policy,
            self.random,
            existing=self._staying(before, request.replicas),
            ignore=before.leaving,
        )
        return placed(command, peers, self.regroup(before, request), cluster, before.peers[0], "scale")

    def _check_overlap(self, account: str, config: Document) -> None:
        try:
            if self.state.overlap(account, config.get("subjects") or [], config["name"], patient=False):
                raise api_error("JSStreamSubjectOverlapErr")
        except TooEntangled as error:
            raise api_error("JSStreamInvalidConfigF", err=str(error)) from None

    def _staying(self, stream: StreamAssignment, count: int) -> list[str]:
        """Return the peers, and as many as fit of those that are still leaving after a scale down."""
        back = [one for one in stream.leaving if self.node_statuses.get(one, UNSEEN).online]
        return [*stream.peers, *(back if stream.change == "scale" else ())][:count]

    def _move(
        self, command: UpdateStream, before: StreamAssignment, placement: PlacementRequest
    ) -> UpdateStream:
        if before.change:
            raise api_error("JSStreamReconfigureInProgressErr")
        peers, cluster = place(self.state, self.node_statuses, placement, self.policy, self.random)
        return placed(command, peers, self.regroup(before, placement), cluster, "", "move")

    def offline(self, stream: StreamAssignment) -> bool:
        """Return whether no member of the stream is online, or no holder is a server."""
        online = any(self.node_statuses.get(member, UNSEEN).online for member in stream.members)
        return not online or not has_holder(self.state, stream)

    # --- peers and servers

    def remove_peer(self, account: str, name: str, peer: str) -> ChangePeers:
        """Return the command that takes a peer, by server name, node or id, out of a stream.

        Raises ApiError 10059, 10040, 10075, or 10118 if no server has the messages.
        """
        stream = self.state.stream(account, name)
        if stream is None:
            raise api_error("JSStreamNotFoundErr")
        gone = next((one for one in stream.peers if peer in self._names(one)), "")
        if not gone:
            raise api_error("JSClusterPeerNotMemberErr")
        move = self.replacement(stream, gone)
        if not has_holder(self.state, stream):
            raise api_error("JSStreamOfflineErr")
        if move is None or len(move.peers) < stream.replicas:
            raise api_error("JSPeerRemapErr")
        return ChangePeers(move)

    def consumer_peer_refusal(self, account: str, stream: str, name: str, peer: str) -> ApiError:
        """Return why a peer cannot be taken out of a consumer: error 10059, 10014, 10040 or 10075.

        A consumer is on all servers of its stream, so that there is never another one for it.
        """
        assignment = self.state.stream(account, stream)
        if assignment is None:
            return api_error("JSStreamNotFoundErr")
        if self.state.consumer(account, stream, name) is None:
            return api_error("JSConsumerNotFoundErr")
        if not any(peer in self._names(one) for one in assignment.peers):
            return api_error("JSClusterPeerNotMemberErr")
        return api_error("JSPeerRemapErr")

    def _names(self, member: str) -> tuple[str, str, str]:
        return member, node_of(member), self.state.server_name(member)

    def remove_server(self, name: str = "", peer: str = "") -> RemoveServer:
        """Return the command that removes a server: by node or id if `peer` is given, otherwise by name.

        Raises ApiError 10044.
        """
        found = self.server(name, peer)
        moves = [
            self.replacement(stream, found.id)
            for stream in self.state.assigned_to(found.id)
            if found.id in stream.peers
        ]
        return RemoveServer(found.id, tuple(move for move in moves if move is not None))

    def server(self, name: str = "", peer: str = "") -> NodeInfo:
        """Return a server: by node or id if `peer` is given, otherwise by name. Raises ApiError 10044."""
        for server in self.state.servers.values():
            if peer in (server.id, server.node) if peer else name == server.name:
                return server
        raise api_error("JSClusterServerNotMemberErr")

    def replacement(self, stream: StreamAssignment, gone: str) -> PeerMove | None:
        """Return a move that puts another peer in the place of `gone`, or None if there is none."""
        stay = tuple(peer for peer in stream.peers if peer != gone)
        return self._filled(stream, stay, {gone, *stream.leaving, *stream.evacuated})

    def _filled(self, stream: StreamAssignment, stay: tuple[str, ...], ignore: set[str]) -> PeerMove | None:
        """Return a move to as many peers as there can be, at most those wanted; None if that adds none."""
        for count in range(stream.replicas, len(stay), -1):
            placement = placement_request(stream.config, [stream.cluster], replicas=count)
            try:
                peers, _ = place(
                    self.state,
                    self.node_statuses,
                    placement,
                    self.policy,
                    self.random,
                    existing=stay,
                    ignore=ignore,
                )
            except ApiError:
                continue
            group = self.regroup(stream, placement)
            return PeerMove(stream.account, stream.name, peers, group, stream.revision)
        return None

    def heal(self) -> list[ChangePeers]:
        """Return commands that give peers to streams that lack some, as far as there are servers for them."""
        found = [
            self._filled(stream, stream.peers, {*stream.leaving, *stream.evacuated})
            for stream in self.state.every_stream()
            if stream.short and stream.change != "move" and has_holder(self.state, stream)
        ]
        return [ChangePeers(move) for move in found if move is not None]

    def admit(self, server: NodeInfo) -> PutServer | ReplaceServer | None:
        """Return what to propose about a server that reports who it is, None for nothing.

        An earlier incarnation of the same node has lost its disk, and is replaced; so is one that was removed
        and still has the only copy of a stream. While an earlier incarnation is online there are two servers
        of one name, and nothing is proposed. Raises ApiError 10044 for an incarnation that was itself
        replaced.
        """
        if server.id in self.state.retired:
            raise api_error("JSClusterServerNotMemberErr")
        earlier = other_incarnations(self.state, server)
        if any(self.node_statuses.get(one, UNSEEN).online for one in earlier):
            return None
        if earlier:
            return ReplaceServer(server)
        return None if self.state.servers.get(server.id) == server else PutServer(server)

    # --- consumers

    def put_consumer(
        self,
        view: AccountView,
        stream_name: str,
        config: Document,
        requester: ApiClient,
        created: int,
        *,
        action: str = "",
        tier_limits: TierLimits = UNLIMITED,
    ) -> PutConsumer:
        """Return the command that creates or changes a consumer; one without a name gets one.

        config: validated, and complete with its defaults.
        created: ns.
        action: "create", "update", or "" for whichever fits.

        Raises ApiError 10023, 10059, 10119, 10148, 10149.
        """
        stream = view.stream(stream_name)
        if stream is None:
            raise api_error("JSStreamNotFoundErr")
        name = str(config.get("durable_name") or config.get("name") or "")
        existing = view.consumer(stream_name, name) if name else None
        if existing is not None:
            if action == "create" and existing.config != config:
                raise api_error("JSConsumerAlreadyExists")
            if self.offline(stream):
                raise api_error("JSConsumerOfflineErr")
        elif action == "update":
            raise api_error("JSConsumerDoesNotExist")
        elif not may_host_consumer(
            self.state,
            stream,
            self.node_statuses,
            int(config.get("num_replicas") or 0) or stream.replicas,
            self.policy,
        ):
            raise api_error("JSInsufficientResourcesErr")
        name = name or self._consumer_name(view.account, stream_name)
        return PutConsumer(
            view.account,
            stream_name,
            name,
            config,
            created,
            action,
            requester.info,
            tier_limits,
            dict(view.reads),
        )

    def _consumer_name(self, account: str, stream: str) -> str:
        while self.state.consumer(account, stream, name := new_id(self.random.randbytes, NAME_LENGTH)):
            continue
        return name

    # --- groups

    def new_group(self, replicas: int, storage: str) -> str:
        """Return a new group's name: S for a stream, its number of copies, its storage, random characters."""
        return f"S-R{replicas}{storage[:1].upper()}-{new_id(self.random.randbytes, NAME_LENGTH)}"

    def regroup(self, stream: StreamAssignment, placement: PlacementRequest) -> str:
        """Return the name of the group that starts, or "" if the stream has one already.

        A stream with one copy has no running group. What an earlier group of it left on other servers must
        not be taken for the new group, which is why its name is new.
        """
        return "" if stream.replicated else self.new_group(placement.replicas, placement.storage)


def placement_request(config: Document, clusters: Sequence[str], replicas: int = 0) -> PlacementRequest:
    """Return what a stream's configuration asks of its servers. clusters: if it does not name one.

    replicas: in place of the configured number; 0 for that.
    """
    placement = config.get("placement") or {}
    named = placement.get("cluster")
    return PlacementRequest(
        replicas or max(1, int(config.get("num_replicas") or 1)),
        [named] if named else clusters,
        storage=config.get("storage") or "file",
        max_bytes=max(0, int(config.get("max_bytes") or 0)),
        tags=placement.get("tags") or (),
    )


def placed(
    command: UpdateStream, peers: tuple[str, ...], group: str, cluster: str, leads: str, change: str
) -> UpdateStream:
    """Return the command with other peers; for the arguments see `UpdateStream`. leads: the preferred one."""
    return UpdateStream(
        command.account,
        command.config,
        command.share,
        command.reads,
        command.client,
        peers,
        group,
        cluster,
        leads,
        change,
    )
