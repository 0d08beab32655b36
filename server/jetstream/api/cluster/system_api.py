"""The JetStream API of the system account: about the meta group, servers, and the streams of other accounts.

Promises: only the meta leader answers, except for META.RESCUE, and only requests of the system account
reach it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....protocol.api.messages import LeaderStepDownRequest, MetaRemoveRequest, MetaRescueRequest
from .....protocol.errors import ApiError, api_error
from ...cluster import advisories
from ...meta.command import PurgeAccount
from ...meta.effect import CommandRejected, Effect
from ...meta.moves import MovePlanner
from ...meta.responder import ResponderAction, action_for
from ...meta.responder_rule import ResponderRule
from ..system import PURGE, SystemApi, SystemEndpoint, SystemRequest, purged_account
from .move_api import CANCEL, MOVE, MoveApi, SystemMoveApi
from .stream_api import StreamApi

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        api = SystemApi(cluster.view.system, host, table, self._admits)
        self.start, self.stop = api.start, api.stop

    def _admits(self, rule: ResponderRule) -> bool:
        state = self._view.responder_state(self._view.system.name)
        return action_for(rule, state) is ResponderAction.ANSWER

    # --- handlers

    def _step_down(self, asked: SystemRequest) -> None:
        placement = asked.read(LeaderStepDownRequest, strict=self._strict).placement
        if placement is not None:
            preferred = self._proposer.successor(placement.preferred, placement.cluster, placement.tags)
        else:
            try:
                preferred = self._proposer.successor()
            except ApiError:  # no other server is online: then any that comes
                preferred = ""

        error = self._proposer.step_down(preferred)
        if error is None:
            asked.respond(success=True)
        else:
            asked.fail(error)

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
