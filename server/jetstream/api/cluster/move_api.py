"""Requests that move streams between servers, or take a move back.

An account moves its own streams, and the system account those of any account, by the same subjects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .....protocol.api.messages import MoveStreamRequest
from .....protocol.errors import api_error
from ... import advisories
from ...meta.effect import Effect, StreamUpdated
from ...meta.moves import MovePlanner, MoveTarget
from ..request import LATER, Request, RequestContext, Response
from ..table import TABLE
from .propose import ServedWait, propose, requester

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...account.account import JetStreamAccount
    from ...cluster.context import ClusterContext
    from ...meta.command import Command
    from ..system import SystemRequest
    from .stream_api import StreamApi

MOVE, CANCEL = "ACCOUNT.STREAM.MOVE.*.*", "ACCOUNT.STREAM.CANCEL_MOVE.*.*"


class MoveApi:
    """The handlers of the requests that move streams. streams: answers with what has become of a stream."""

    def __init__(self, cluster: ClusterContext, streams: StreamApi) -> None:
        self._cluster = cluster
        self._view, self._proposer = cluster.view, cluster.proposer
        self._streams = streams

    def cancel(self, request: Request) -> Response:
        """Answer STREAM.CANCEL_MOVE.<stream>."""
        return self._cancel(request, request.tokens[2])

    def cancel_own(self, request: Request) -> Response:
        """Answer ACCOUNT.STREAM.CANCEL_MOVE.<account>.<stream> of the account itself; of others, nothing."""
        return self.cancel_of_account(request) if _is_own(request) else LATER

    def move_own(self, request: Request) -> Response:
        """Answer ACCOUNT.STREAM.MOVE.<account>.<stream> of the account itself; of others, nothing."""
        return self.move_of_account(request) if _is_own(request) else LATER

    def cancel_of_account(self, request: Request) -> Response:
        """Answer ACCOUNT.STREAM.CANCEL_MOVE, whoever asks."""
        return self._cancel(request, request.tokens[4])

    def move_of_account(self, request: Request) -> Response:
        """Answer ACCOUNT.STREAM.MOVE, whoever asks: a peer of the stream moves to another server."""
        asked, name = request.read(MoveStreamRequest), request.tokens[4]
        target = MoveTarget(asked.server, asked.cluster, asked.domain, tuple(asked.tags))
        who = requester(self._view, request)

        def make_command() -> Command:
            view = self._view.state.view(request.account.name)
            return self._planner().move(view, name, target, who)

        return self._change(request, name, make_command)

    def _cancel(self, request: Request, name: str) -> Response:
        return self._change(request, name, lambda: self._planner().cancel(request.account.name, name))

    def _planner(self) -> MovePlanner:
        return MovePlanner(self._proposer.planner())

    def _change(self, request: Request, name: str, make_command: Callable[[], Command]) -> Response:
        account = request.account
        served = ServedWait(self._cluster, account.name, name)

        def done(effect: Effect) -> None:
            assert isinstance(effect, StreamUpdated)
            advisories.stream_action(account.account, account.host, name, "modify")
            self._streams.answer(request, served, effect.stream, there=True)

        try:
            return propose(self._cluster, request, make_command, done)
        except BaseException:
            served.drop()
            raise


class SystemMoveApi:
    """The same for the system account. accounts: those with JetStream, by name."""

    def __init__(self, moves: MoveApi, accounts: Mapping[str, JetStreamAccount]) -> None:
        self._moves = moves
        self._accounts = accounts

    def move(self, asked: SystemRequest) -> None:
        """Answer ACCOUNT.STREAM.MOVE.<account>.<stream>."""
        self._serve(asked, MOVE, self._moves.move_of_account)

    def cancel(self, asked: SystemRequest) -> None:
        """Answer ACCOUNT.STREAM.CANCEL_MOVE.<account>.<stream>."""
        self._serve(asked, CANCEL, self._moves.cancel_of_account)

    def _serve(self, asked: SystemRequest, pattern: str, handler: Callable[[Request], Response]) -> None:
        account = self._accounts.get(asked.message.subject.split(".")[5])
        if account is None:
            raise api_error("JSNoAccountErr")
        host, endpoint = account.host, TABLE[pattern]
        context = RequestContext(host.clock, host.strict, host.turns, host.log)
        handler(Request(account, context, endpoint, asked.message, lambda _, answer: asked.send(answer)))


def _is_own(request: Request) -> bool:
    return request.tokens[3] == request.account.name
