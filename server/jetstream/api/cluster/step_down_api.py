"""STEPDOWN: the leader of a stream hands over, to whom it is told or to who can.

It is answered when the next leader tells that it leads, or when patience is at its end: who asks for the
stream right after is answered. A consumer is led by who leads its stream: to move the one is to move the
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....protocol.api.messages import LeaderStepDownRequest, response
from .....protocol.errors import ApiError, api_error
from ...meta.node_info import UNSEEN
from ...meta.placement import successor
from ..request import LATER, Request, Response
from ..table import Row
from .propose import Json, ServedWait, answer_through_leader, guarded

if TYPE_CHECKING:
    from ...cluster.cluster import JetStreamCluster
    from ...cluster.local_stream import LocalStream


class StepDownApi:
    """The handlers."""

    def __init__(self, domain: JetStreamCluster) -> None:
        self._domain = domain

    def table(self) -> dict[str, Row]:
        """By pattern, see api.table."""
        return {
            "STREAM.LEADER.STEPDOWN.*": ("stream_leader_stepdown", self.step_down, True),
            "CONSUMER.LEADER.STEPDOWN.*.*": ("consumer_leader_stepdown", self.step_down, True),
        }

    def step_down(self, request: Request) -> Response:
        """Answer STREAM.LEADER.STEPDOWN.<stream>, and CONSUMER.LEADER.STEPDOWN.<stream>.<consumer>."""
        domain, key = self._domain, (request.account.name, request.tokens[3])
        asset, assignment = domain.assets.get(key), domain.state.stream(*key)
        if asset is None or assignment is None:
            raise api_error("JSClusterNotAvailErr")
        asked = request.read_optional(LeaderStepDownRequest)
        if asset.led() is None:  # one copy: nobody else could lead
            return response(request.kind, success=True)
        preferred = ""
        if asked.placement is not None:
            preferred = successor(
                domain.state,
                assignment.members,
                domain.me,
                domain.sights,
                domain.surroundings.random(),
                server=asked.placement.preferred,
                cluster=asked.placement.cluster,
                tags=asked.placement.tags,
            )

        if not domain.sights.get(preferred, UNSEEN).online:
            preferred = self._nearest(asset)
        served = ServedWait(domain, *key)

        def led(info: Json | None) -> None:
            answer_through_leader(domain, request, info or {})
            request.respond(response(request.kind, success=True))

        def done(error: ApiError | None) -> None:
            if error is None:
                served.then(lambda info: info["cluster"].get("leader", own) != own, guarded(request, led))
            else:
                served.drop()
                request.fail(error)

        own = request.account.host.server_name
        asset.step_down(preferred, done)
        return LATER

    def _nearest(self, asset: LocalStream) -> str:
        """The member that lacks least of what the leader has; "" for none that is there."""
        domain, view = self._domain, asset.view()
        peers = {} if view is None else view.peers
        there = [member for member in peers if domain.sights.get(member, UNSEEN).online]
        domain.surroundings.random().shuffle(there)
        return min(there, key=lambda member: (not peers[member].level, peers[member].lag), default="")
