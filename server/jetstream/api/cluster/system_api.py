"""The JetStream API of the system account: the meta leader's step down, removal of servers and accounts.

Requests that clusters of nats-server serve and this one does not are refused; the error says what to do
instead.

Promises: only the meta leader answers, and only requests of the system account reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .....protocol.api.messages import LeaderStepDownRequest, MetaRemoveRequest
from .....protocol.errors import ApiError, api_error
from ...meta.command import PurgeAccount
from ...meta.effect import CommandRejected, Effect
from ...meta.responder import ResponderAction, action_for
from ...meta.responder_rule import ResponderRule
from ..system import PURGE, SystemApi, SystemEndpoint, SystemRequest, purged_account
from .stream_api import MOVE_BACK

if TYPE_CHECKING:
    from ...cluster.context import ClusterContext
    from ...host import JetStreamHost

# Why a request is refused, and what to do instead.
_RESCUE = "a majority is not lowered: put back the directory of a server that is missing, from a copy"
_EVACUATE = "servers are not evacuated: move streams by STREAM.PEER.REMOVE, or remove it by SERVER.REMOVE"
_MOVE = "streams are moved by their own account: STREAM.UPDATE with a placement, or STREAM.PEER.REMOVE"


class ClusterApi:
    """The handlers of the system account's requests, in a cluster."""

    def __init__(self, cluster: ClusterContext, host: JetStreamHost) -> None:
        self._view = cluster.view
        self._proposer = cluster.proposer
        self._strict = host.strict
        table = {
            "META.LEADER.STEPDOWN": SystemEndpoint("meta_leader_stepdown", self._step_down),
            "SERVER.REMOVE": SystemEndpoint("meta_server_remove", self._remove_server),
            PURGE: SystemEndpoint("account_purge", self._purge_account),
            "META.RESCUE": SystemEndpoint("meta_rescue", _refused(_RESCUE), ResponderRule.EVERYBODY),
            "SERVER.EVACUATE": SystemEndpoint("meta_server_remove", _refused(_EVACUATE)),
            "ACCOUNT.STREAM.MOVE.*.*": SystemEndpoint("stream_update", _refused(_MOVE)),
            "ACCOUNT.STREAM.CANCEL_MOVE.*.*": SystemEndpoint("stream_update", _refused(MOVE_BACK)),
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

    def _purge_account(self, asked: SystemRequest) -> None:
        name = purged_account(asked)
        self._proposer.propose(PurgeAccount(name), lambda result: _answer(asked, result, "initiated"))


def _refused(text: str) -> Callable[[SystemRequest], None]:
    def refuse(_: SystemRequest) -> None:
        raise api_error("JSStreamGeneralErrorF", err=text)

    return refuse


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
