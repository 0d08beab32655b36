"""MovePlanner: how requests to move streams between servers become commands.

Promises: those of `MetaPlanner`, which it builds upon. A stream keeps its former servers until the new
ones have what they have.

Source: nats-server's server/jetstream_api.go: jsLeaderServerStreamMoveRequest,
jsLeaderServerEvacuateRequest and jsLeaderServerStreamCancelMoveRequest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from .command import CancelMove, EvacuateServer, PeerMove, UpdateStream
from .placement import place
from .planner import placed, placement_request

if TYPE_CHECKING:
    from .assignment import StreamAssignment
    from .placement import PlacementRequest
    from .planner import ApiClient, MetaPlanner
    from .state import AccountView


@dataclass(frozen=True, slots=True)
class MoveTarget:
    """Which peer of a stream is to move; "" for any.

    server, cluster, domain: of the peer.
    tags: that its new server must have, besides those of the stream's placement.
    """

    server: str = ""
    cluster: str = ""
    domain: str = ""
    tags: Sequence[str] = ()


class MovePlanner:
    """Plans moves by what a `MetaPlanner` knows."""

    def __init__(self, planner: MetaPlanner) -> None:
        self._planner = planner
        self._state = planner.state

    def evacuate_server(self, name: str = "", peer: str = "") -> EvacuateServer:
        """Return the command that moves a server's streams to others, as far as there are others for them.

        The server is given as in `MetaPlanner.remove_server`. Of a stream that no other server can take, the
        server only goes if another one has it. Raises ApiError 10044.
        """
        gone = self._planner.server(name, peer).id
        moves = (
            self._evacuated(stream, gone) for stream in self._state.assigned_to(gone) if gone in stream.peers
        )
        return EvacuateServer(gone, tuple(move for move in moves if move is not None))

    def _evacuated(self, stream: StreamAssignment, gone: str) -> PeerMove | None:
        move = self._planner.replacement(stream, gone)
        stay = tuple(peer for peer in stream.peers if peer != gone)
        if move is not None or not stay:
            return move
        return PeerMove(stream.account, stream.name, stay, "", stream.revision)

    def cancel(self, account: str, name: str) -> CancelMove:
        """Return the command that takes back a move or scale under way.

        Raises ApiError 10059, 10129, or 10118 if none of the former peers is a server.
        """
        stream = self._state.stream(account, name)
        if stream is None:
            raise api_error("JSStreamNotFoundErr")
        if not stream.origin:
            raise api_error("JSStreamReconfigureNotInProgressErr")
        peers = tuple(peer for peer in stream.origin["peers"] if peer in self._state.servers)
        if not peers:
            raise api_error("JSStreamOfflineErr")
        config = {**stream.config, **stream.origin["config"]}
        group = self._planner.regroup(stream, placement_request(config, [stream.origin["cluster"]]))
        return CancelMove(PeerMove(account, name, peers, group, stream.revision))

    def move(self, view: AccountView, name: str, target: MoveTarget, requester: ApiClient) -> UpdateStream:
        """Return the command that moves one peer of a stream to another server.

        If no other server of its cluster can take it, the whole stream moves to another cluster. Raises
        ApiError 10059, 10044, 10040, 10118, 10124, 10226, 10005.
        """
        before = view.stream(name)
        if before is None:
            raise api_error("JSStreamNotFoundErr")
        gone = self._moving(before, target) if target.server else before.peers[0]
        if self._planner.offline(before):
            raise api_error("JSStreamOfflineErr")
        if before.change:
            kind = "Move" if before.change == "move" else "Reconfigure"
            raise api_error(f"JSStream{kind}InProgressErr")
        command = UpdateStream(view.account, before.config, reads=dict(view.reads), client=requester.info)
        request = placement_request(before.config, [before.cluster])
        request = replace(request, tags=[*request.tags, *target.tags])
        peers, cluster = self._place(before, gone, request)
        return placed(command, peers, self._planner.regroup(before, request), cluster, "", "move")

    def _moving(self, stream: StreamAssignment, target: MoveTarget) -> str:
        for server in self._state.servers.values():
            if (
                server.name == target.server
                and target.cluster in ("", server.cluster)
                and target.domain in ("", server.domain)
            ):
                if server.id not in stream.peers:
                    raise api_error("JSClusterPeerNotMemberErr")
                return server.id
        raise api_error("JSClusterServerNotMemberErr")

    def _place(
        self, stream: StreamAssignment, gone: str, request: PlacementRequest
    ) -> tuple[tuple[str, ...], str]:
        planner = self._planner
        stay = [peer for peer in stream.peers if peer != gone]
        others = sorted({server.cluster for server in self._state.servers.values()} - {stream.cluster})
        try:
            return place(
                self._state,
                planner.node_statuses,
                request,
                planner.policy,
                planner.random,
                existing=stay,
                ignore={gone, *stream.leaving},
            )
        except ApiError:
            if not others:
                raise
        request = replace(request, clusters=others)
        return place(self._state, planner.node_statuses, request, planner.policy, planner.random)
