"""STEPDOWN: the leader of a stream hands over, to the preferred server or to one that can lead.

It is answered when the next leader announces that it leads, or after a timeout, so that a client that asks
for the stream right after gets an answer. A consumer is led by the leader of its stream: moving the one moves
the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....protocol.api.messages import LeaderStepDownRequest, response
from .....protocol.errors import ApiError, api_error
from ...meta.node_info import UNSEEN
from ...meta.placement import successor
from ..request import LATER, Request, Response
from .propose import Json, ServedWait, answer_through_leader, guarded

if TYPE_CHECKING:
    from ...cluster.context import ClusterContext
    from ...cluster.local_stream import LocalStream


class StepDownApi:
    """The handler of STEPDOWN."""

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        self._view = cluster.view

    def step_down(self, request: Request) -> Response:
        """Answer STREAM.LEADER.STEPDOWN.<stream>, and CONSUMER.LEADER.STEPDOWN.<stream>.<consumer>."""
        cluster, key = self._cluster, (request.account.name, request.tokens[3])
        local, assignment = self._view.local_streams.get(key), self._view.state.stream(*key)
        if local is None or assignment is None:
            raise api_error("JSClusterNotAvailErr")
        asked = request.read_optional(LeaderStepDownRequest)
        if local.leader_status() is None:  # one copy: no other server could lead
            return response(request.kind, success=True)
        preferred = ""
        if asked.placement is not None:
            preferred = successor(
                self._view.state,
                assignment.members,
                self._view.me,
                self._view.node_statuses,
                cluster.random,
                server=asked.placement.preferred,
                cluster=asked.placement.cluster,
                tags=asked.placement.tags,
            )
        if not self._view.node_statuses.get(preferred, UNSEEN).online:
            preferred = self._nearest(local)
        served = ServedWait(cluster, *key)

        def led(info: Json | None) -> None:
            answer_through_leader(cluster.replies, request, info or {})
            request.respond(response(request.kind, success=True))

        def done(error: ApiError | None) -> None:
            if error is None:
                served.then(lambda info: info["cluster"].get("leader", own) != own, guarded(request, led))
            else:
                served.drop()
                request.fail(error)

        own = request.account.host.server_name
        local.step_down(preferred, done)
        return LATER

    def _nearest(self, local: LocalStream) -> str:
        """Return the online member that lags least behind the leader; "" if there is none."""
        group = local.group_view()
        peers = {} if group is None else group.peers
        there = [member for member in peers if self._view.node_statuses.get(member, UNSEEN).online]
        self._cluster.random.shuffle(there)
        return min(there, key=lambda member: (not peers[member].caught_up, peers[member].lag), default="")
