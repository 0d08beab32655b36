"""Requests about streams that the meta leader decides: create, update, delete, remove a peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .....protocol.api.messages import RemovePeerRequest, response
from .....protocol.api.stream import StreamConfig, StreamInfo, StreamState
from .....protocol.errors import api_error
from .....protocol.timestamp import format_rfc3339
from ....slices import at_once
from ... import advisories
from ...meta.assignment import StreamAssignment
from ...meta.command import Command, DeleteStream
from ...meta.effect import AlreadyExists, Effect, StreamCreated, StreamDeleted, StreamUpdated
from ...meta.report import cluster_info
from ...meta.state import AccountView
from ...meta.tier_limits import UNLIMITED
from ...streams.stream_info import shown, stamped
from ...streams.validation.config import check, check_update
from .. import stream as stream_api
from ..request import Request, Response
from .propose import (
    ServedWait,
    answer_through_leader,
    guarded,
    is_gone,
    patient,
    propose,
    requester,
    tier_limits,
)

if TYPE_CHECKING:
    from ...account.account import JetStreamAccount
    from ...cluster.context import ClusterContext
    from ...cluster.view import ClusterView
    from ...host import JetStreamHost
    from ...streams.validation.context import ValidationContext

Json = dict[str, Any]


class StreamApi:
    """The handlers of the stream requests that the meta leader decides."""

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        self._view, self._proposer = cluster.view, cluster.proposer

    # --- create

    def create(self, request: Request) -> Response:
        """Answer STREAM.CREATE.<stream>."""
        asked = at_once(stream_api.reading_create(request))
        account, cluster, wanted = request.account, self._cluster, stamped(asked.config())
        created, who = request.context.clock.now(), requester(self._view, request)
        served: ServedWait | None = None

        def make_command() -> Command:
            nonlocal served
            view = self._view.state.view(account.name)
            config = check(
                wanted, validation_context(account, view, wanted.num_replicas, pedantic=asked.pedantic)
            )
            new = view.stream(config.name) is None
            limits = tier_limits(account, config.num_replicas) if new else UNLIMITED
            command = self._proposer.planner().create_stream(view, config.to_json(), who, created, limits)
            if served is None:
                served = ServedWait(cluster, account.name, config.name)
            return command

        def done(effect: Effect) -> None:
            assert isinstance(effect, StreamCreated | AlreadyExists)
            made = effect.stream if isinstance(effect, StreamCreated) else effect.assignment
            assert served is not None and isinstance(made, StreamAssignment)
            new = isinstance(effect, StreamCreated)
            if new:
                advisories.stream_action(account.account, account.host, made.name, "create")
            self.answer(request, served, made, there=not new, **({"did_create": True} if new else {}))

        return propose(cluster, request, make_command, done)

    def answer(
        self, request: Request, served: ServedWait, made: StreamAssignment, *, there: bool, **more: Any
    ) -> None:
        """Answer with the info of the stream's leader, or with what was decided if no leader reports."""
        config, created = StreamConfig.from_json(made.config), format_rfc3339(made.created)

        def fits(info: Json) -> bool:
            if info.get("created") != created:
                return False
            return stamped(StreamConfig.from_json(info["config"])) == config

        def done(info: Json | None) -> None:
            found = (
                info if info is not None else known_stream(self._view, request.account.host, made).to_json()
            )
            answer_through_leader(self._cluster.replies, request, found)
            request.respond(response(request.kind) | found | more)

        served.then(fits, guarded(request, done), ask_in=patient(there=there))

    # --- update

    def update(self, request: Request) -> Response:
        """Answer STREAM.UPDATE.<stream>."""
        asked = at_once(stream_api.reading_update(request))
        account, cluster, wanted = request.account, self._cluster, asked.config()
        who = requester(self._view, request)
        served: ServedWait | None = None

        def make_command() -> Command:
            nonlocal served
            view = self._view.state.view(account.name)
            context = validation_context(account, view, wanted.num_replicas, pedantic=asked.pedantic)
            check(wanted, context)
            before = view.stream(wanted.name)
            if before is None:
                raise api_error("JSStreamNotFoundErr")
            planner = self._proposer.planner()
            if planner.offline(before):
                raise api_error("JSStreamOfflineErr")
            config = check_update(StreamConfig.from_json(before.config), stamped(wanted), context)
            leader, lags = self._view.lags(account.name, config.name)
            limits = tier_limits(account, config.num_replicas)
            command = planner.update_stream(view, config.to_json(), who, limits, leader=leader, lags=lags)
            if served is None:
                served = ServedWait(cluster, account.name, config.name)
            return command

        def done(effect: Effect) -> None:
            assert isinstance(effect, StreamUpdated | AlreadyExists)
            made = effect.stream if isinstance(effect, StreamUpdated) else effect.assignment
            assert served is not None and isinstance(made, StreamAssignment)
            advisories.stream_action(account.account, account.host, made.name, "modify")
            self.answer(request, served, made, there=isinstance(effect, AlreadyExists))

        return propose(cluster, request, make_command, done)

    # --- the others

    def delete(self, request: Request) -> Response:
        """Answer STREAM.DELETE.<stream>."""
        request.must_be_empty()
        account, name, cluster = request.account, request.tokens[2], self._cluster
        if self._view.state.stream(account.name, name) is None:
            raise api_error("JSStreamNotFoundErr")
        gone = ServedWait(cluster, account.name, name)

        def make_command() -> Command:
            found = self._view.state.stream(account.name, name)
            if found is None:
                raise api_error("JSStreamNotFoundErr")
            return DeleteStream(account.name, name, found.created)

        def deleted(_: Json | None) -> None:
            request.respond(response(request.kind, success=True))

        def done(effect: Effect) -> None:
            assert isinstance(effect, StreamDeleted)
            advisories.stream_action(account.account, account.host, name, "delete")
            if self._proposer.planner().offline(effect.stream):
                gone.drop()
                deleted(None)
            else:
                gone.then(is_gone, deleted)

        return propose(self._cluster, request, make_command, done)

    def remove_peer(self, request: Request) -> Response:
        """Answer STREAM.PEER.REMOVE.<stream> and STREAM.PEER.EVACUATE.<stream>.

        In both cases another server replaces the peer, which stays until the other one has what it has.
        """
        peer = asked_peer(request)
        make_command: Callable[[], Command] = lambda: self._proposer.planner().remove_peer(  # noqa: E731
            request.account.name, request.tokens[3], peer
        )
        return propose(
            self._cluster,
            request,
            make_command,
            lambda _: request.respond(response(request.kind, success=True)),
        )


def asked_peer(request: Request) -> str:
    """Return the peer that a request to remove or evacuate it names. Raises ApiError 10003, 10025."""
    peer = "" if request.empty else request.read(RemovePeerRequest).peer
    if not peer:
        raise api_error("JSBadRequestErr")
    return peer


def known_stream(view: ClusterView, host: JetStreamHost, stream: StreamAssignment) -> StreamInfo:
    """Return what is known of a stream without its leader."""
    return StreamInfo(
        config=shown(StreamConfig.from_json(stream.config)),
        created=stream.created,
        state=StreamState(),
        domain=host.domain,
        cluster=cluster_info(view.state, view.node_statuses, stream, None, view.me, stream.cluster),
        ts=host.clock.now(),
    )


def validation_context(
    account: JetStreamAccount, view: AccountView, replicas: int, *, pedantic: bool
) -> ValidationContext:
    """Return what a configuration is validated against: the account's limits, and the decided streams."""

    def lookup(name: str) -> StreamConfig | None:
        document = view.config(name)
        return None if document is None else StreamConfig.from_json(document)

    return replace(account.validation_context(replicas, pedantic=pedantic), lookup=lookup, clustered=True)
