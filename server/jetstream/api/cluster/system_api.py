"""The JetStream API of the system account: about the meta group, servers, and the streams of other accounts.

Promises: only the meta leader answers, except for META.RESCUE, and only requests of the system account
reach it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....protocol.api.messages import LeaderStepDownRequest, MetaRemoveRequest, MetaRescueRequest
from .....protocol.errors import ApiError, api_error
from ...cluster import advisories
from ...cluster.meta_group import GATHERED
from ...meta.command import PurgeAccount
from ...meta.effect import CommandRejected, Effect
from ...meta.moves import MovePlanner
from ...meta.responder_rule import ResponderRule
from ..system import PURGE, SystemApi, SystemEndpoint, SystemRequest, purged_account
from .move_api import CANCEL, MOVE, MoveApi, SystemMoveApi
from .propose import GATHERING, NO_PEERS
from .stream_api import StreamApi
from .system_router import SystemApiRouter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .....protocol.api.cluster import Placement
    from ...account.account import JetStreamAccount
    from ...cluster.context import ClusterContext
    from ...host import JetStreamHost


class ClusterApi:
    """The handlers of the system account's requests, in a cluster.

    accounts: those with JetStream, by name.
    """

    def __init__(
        self, cluster: ClusterContext, host: JetStreamHost, accounts: Mapping[str, JetStreamAccount]
    ) -> None:
        self._view = cluster.view
        self._clock = cluster.clock
        self._proposer = cluster.proposer
        self._host = host
        self._strict = host.strict
        moves = SystemMoveApi(MoveApi(cluster, StreamApi(cluster)), accounts)
        table = {
            "META.LEADER.STEPDOWN": SystemEndpoint("meta_leader_stepdown", self._step_down),
            "SERVER.REMOVE": SystemEndpoint("meta_server_remove", self._remove_server),
            PURGE: SystemEndpoint("account_purge", self._purge_account),
            "META.RESCUE": SystemEndpoint("meta_rescue", self._rescue, ResponderRule.EVERYBODY, self._names),
            "SERVER.EVACUATE": SystemEndpoint("meta_server_evacuate", self._evacuate_server),
            MOVE: SystemEndpoint("stream_update", moves.move),
            CANCEL: SystemEndpoint("stream_cancel_move", moves.cancel),
        }
        api = SystemApi(cluster.view.system, host, table, SystemApiRouter(cluster).admit)
        self.start, self.stop = api.start, api.stop

    # --- handlers

    def _step_down(self, asked: SystemRequest) -> None:
        placement = asked.read(LeaderStepDownRequest, strict=self._strict).placement
        self._hand_over(asked, placement, self._clock.now() + GATHERED)

    def _hand_over(self, asked: SystemRequest, placement: Placement | None, until: int) -> None:
        """Hand the lead over. A server that has just joined is waited for until then (ns)."""
        try:
            preferred = self._successor(placement)
        except ApiError as refusal:
            wait = refusal.err_code == NO_PEERS and self._view.settling and self._clock.now() < until
            if wait:
                self._clock.call_later(GATHERING, lambda: self._hand_over(asked, placement, until))
            else:
                asked.fail(refusal)
            return
        error = self._proposer.step_down(preferred)
        if error is None:
            asked.respond(success=True)
        else:
            asked.fail(error)

    def _successor(self, placement: Placement | None) -> str:
        if placement is not None:
            return self._proposer.successor(placement.preferred, placement.cluster, placement.tags)
        try:
            return self._proposer.successor()
        except ApiError:  # no other server is online: then any that comes
            return ""

    def _remove_server(self, asked: SystemRequest) -> None:
        if asked.body in {b"", b"{}"}:
            raise api_error("JSBadRequestErr")
        wanted = asked.read(MetaRemoveRequest, strict=self._strict)
        self._proposer.remove_server(
            wanted.peer, wanted.peer_id, lambda result: _answer(asked, result, "success")
        )

    def _evacuate_server(self, asked: SystemRequest) -> None:
        if asked.body in {b"", b"{}"}:
            raise api_error("JSBadRequestErr")
        wanted = asked.read(MetaRemoveRequest, strict=self._strict)
        command = MovePlanner(self._proposer.planner()).evacuate_server(wanted.peer, wanted.peer_id)
        self._proposer.propose(command, lambda result: _answer(asked, result, "success"))

    @property
    def _names(self) -> dict[str, str]:
        return {"server": self._host.server_name, "server_id": self._host.server_id}

    def _rescue(self, asked: SystemRequest) -> None:
        if asked.body in {b"", b"{}"}:
            raise api_error("JSBadRequestErr")
        wanted = asked.read(MetaRescueRequest, strict=self._strict).quorum_needed
        group = self._view.group
        before = 0 if group is None else group.rescue.quorum
        problem = "raft: node is closed" if group is None else group.rescue.lower(wanted)
        if problem:
            raise api_error("JSClusterRescueErr", err=problem)
        advisories.meta_rescued(self._view.system, self._host, before, wanted)
        asked.respond(**self._names, prev_quorum=before, new_quorum=wanted)

    def _purge_account(self, asked: SystemRequest) -> None:
        name = purged_account(asked)
        self._proposer.propose(PurgeAccount(name), lambda result: _answer(asked, result, "initiated"))


def _answer(asked: SystemRequest, result: list[Effect] | ApiError, field: str) -> None:
    refused = (
        next((one for one in result if isinstance(one, CommandRejected)), None)
        if isinstance(result, list)
        else None
    )
    if isinstance(result, ApiError):
        asked.fail(result)
    elif refused is not None:
        asked.fail(refused.error)
    else:
        asked.respond(**{field: True})
