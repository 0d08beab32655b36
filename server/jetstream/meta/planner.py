"""MetaPlanner: how the meta leader turns requests into commands.

Promises: what it refuses it refuses as the reference does, before anything is proposed; what it proposes may
still be refused when it is applied, or be stale: then the request comes here again, with the state of that
moment. It changes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ....protocol.errors import ApiError, api_error
from ....protocol.identifier import new_id
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
class Requester:
    """Who wants it. info: as stored with what is made. clusters: where it is connected, nearest first."""

    info: Document
    clusters: Sequence[str]


@dataclass(frozen=True, slots=True)
class MetaPlanner:
    """state: as applied here. node_statuses: of each member, by id. random: for names and equal choices."""

    state: MetaState
    node_statuses: Mapping[str, NodeStatus]
    random: Random
    policy: PlacementPolicy = ANYWHERE

    # --- streams

    def create_stream(
        self,
        view: AccountView,
        config: Document,
        requester: Requester,
        created: int,
        tier_limits: TierLimits = UNLIMITED,
    ) -> CreateStream:
        """For a stream with this configuration, validated, complete. Raises ApiError 10005, 10058, 10065."""
        account, name = view.account, str(config["name"])
        existing = view.stream(name)
        if existing is not None:
            if existing.config != config:
                raise api_error("JSStreamNameExistErr")
            # The proposal confirms that it is there: one who does not lead any more fails at it.
            group, peers, cluster = existing.group, existing.peers, existing.cluster
            return CreateStream(account, config, group, cluster, peers, existing.created, share=tier_limits)
        self._check_overlap(account, config)
        placement = _placement_request(config, requester.clusters)
        peers, cluster = place(self.state, self.node_statuses, placement, self.policy, self.random)
        return CreateStream(
            account,
            config,
            self._group(placement),
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
        requester: Requester,
        tier_limits: TierLimits = UNLIMITED,
        *,
        leader: str = "",
        lags: Mapping[str, int] | None = None,
    ) -> UpdateStream:
        """For another configuration, validated against the one there is; other peers if need be.

        leader, lags: of the stream's group as far as known, to choose who stays. Raises ApiError.
        """
        before = view.stream(str(config["name"]))
        if before is None:
            raise api_error("JSStreamNotFoundErr")
        if self.offline(before):
            raise api_error("JSStreamOfflineErr")
        self._check_overlap(view.account, config)
        command = UpdateStream(view.account, config, tier_limits, dict(view.reads), requester.info)
        request = _placement_request(config, requester.clusters)
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
            return _placed(command, peers, "", before.cluster, "", "scale")
        request = _placement_request(config, [before.cluster])
        peers, cluster = place(
            self.state,
            self.node_statuses,
            request,
            self.policy,
            self.random,
            existing=self._staying(before, request.replicas),
            ignore=before.leaving,
        )
        return _placed(command, peers, self._regroup(before, request), cluster, before.peers[0], "scale")

    def _check_overlap(self, account: str, config: Document) -> None:
        try:
            if self.state.overlap(account, config.get("subjects") or [], config["name"], patient=False):
                raise api_error("JSStreamSubjectOverlapErr")
        except TooEntangled as error:
            raise api_error("JSStreamInvalidConfigF", err=str(error)) from None

    def _staying(self, stream: StreamAssignment, count: int) -> list[str]:
        """The peers, and of those that leave because it was scaled down a moment ago as many as fit."""
        back = [one for one in stream.leaving if self.node_statuses.get(one, UNSEEN).online]
        return [*stream.peers, *(back if stream.change == "scale" else ())][:count]

    def _move(
        self, command: UpdateStream, before: StreamAssignment, placement: PlacementRequest
    ) -> UpdateStream:
        if before.change:
            raise api_error("JSStreamReconfigureInProgressErr")
        peers, cluster = place(self.state, self.node_statuses, placement, self.policy, self.random)
        return _placed(command, peers, self._regroup(before, placement), cluster, "", "move")

    def offline(self, stream: StreamAssignment) -> bool:
        """Whether nobody who holds it is there."""
        online = any(self.node_statuses.get(member, UNSEEN).online for member in stream.members)
        return not online or not has_holder(self.state, stream)

    # --- peers and servers

    def remove_peer(self, account: str, name: str, peer: str) -> ChangePeers:
        """Take a peer, by server name, node or id, out of a stream. Raises ApiError 10059, 10040, 10075."""
        stream = self.state.stream(account, name)
        if stream is None:
            raise api_error("JSStreamNotFoundErr")
        gone = next((one for one in stream.peers if peer in self._names(one)), "")
        if not gone:
            raise api_error("JSClusterPeerNotMemberErr")
        move = self._replacement(stream, gone)
        if not has_holder(self.state, stream):
            raise api_error("JSStreamOfflineErr")
        if move is None or len(move.peers) < stream.replicas:
            raise api_error("JSPeerRemapErr")
        return ChangePeers(move)

    def _names(self, member: str) -> tuple[str, str, str]:
        return member, node_of(member), self.state.server_name(member)

    def remove_server(self, name: str = "", peer: str = "") -> RemoveServer:
        """Remove a server by name, or by node or id, which counts first. Raises ApiError 10044."""
        found = next(
            (
                server
                for server in self.state.servers.values()
                if (peer in (server.id, server.node) if peer else name == server.name)
            ),
            None,
        )
        if found is None:
            raise api_error("JSClusterServerNotMemberErr")
        moves = [
            self._replacement(stream, found.id)
            for stream in self.state.held_by(found.id)
            if found.id in stream.peers
        ]
        return RemoveServer(found.id, tuple(move for move in moves if move is not None))

    def _replacement(self, stream: StreamAssignment, gone: str) -> PeerMove | None:
        """The stream's peers with another one instead of `gone`; None if there is none to be had."""
        stay = tuple(peer for peer in stream.peers if peer != gone)
        return self._filled(stream, stay, {gone, *stream.leaving})

    def _filled(self, stream: StreamAssignment, stay: tuple[str, ...], ignore: set[str]) -> PeerMove | None:
        """As many peers as there can be, at most as many as are wanted; None when it is none more."""
        for count in range(stream.replicas, len(stay), -1):
            placement = _placement_request(stream.config, [stream.cluster], replicas=count)
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
            group = self._regroup(stream, placement)
            return PeerMove(stream.account, stream.name, peers, group, stream.revision)
        return None

    def heal(self) -> list[ChangePeers]:
        """For streams that have fewer peers than wanted, now that there may be servers for them."""
        found = [
            self._filled(stream, stream.peers, set(stream.leaving))
            for stream in self.state.every_stream()
            if stream.short and stream.change != "move" and has_holder(self.state, stream)
        ]
        return [ChangePeers(move) for move in found if move is not None]

    def admit(self, server: NodeInfo) -> PutServer | ReplaceServer | None:
        """A server reports who it is: what to propose about it, None for nothing.

        One of the same node and another incarnation has lost its disk, and is replaced; so are incarnations
        that were removed and still have the only copy of a stream. While the other one is online there are
        two servers of one name: nothing is done. Raises ApiError 10044 for an incarnation that was itself
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
        requester: Requester,
        created: int,
        *,
        action: str = "",
        tier_limits: TierLimits = UNLIMITED,
    ) -> PutConsumer:
        """For a consumer with this configuration, validated and complete; without a name it is given one.

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

    def _group(self, placement: PlacementRequest) -> str:
        """A new group's name: S for a stream, its copies, its storage, and chance."""
        letter = placement.storage[:1].upper()
        return f"S-R{placement.replicas}{letter}-{new_id(self.random.randbytes, NAME_LENGTH)}"

    def _regroup(self, stream: StreamAssignment, placement: PlacementRequest) -> str:
        """The name of a group that begins; "" where there is one already.

        A stream that had one copy had no group, and what a former one of it left on other servers must not be
        taken for the new one.
        """
        return "" if stream.replicated else self._group(placement)


def _placement_request(config: Document, clusters: Sequence[str], replicas: int = 0) -> PlacementRequest:
    placement = config.get("placement") or {}
    named = placement.get("cluster")
    return PlacementRequest(
        replicas or max(1, int(config.get("num_replicas") or 1)),
        [named] if named else clusters,
        storage=config.get("storage") or "file",
        max_bytes=max(0, int(config.get("max_bytes") or 0)),
        tags=placement.get("tags") or (),
    )


def _placed(
    command: UpdateStream, peers: tuple[str, ...], group: str, cluster: str, leads: str, change: str
) -> UpdateStream:
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
