"""Requests about consumers that the meta leader decides: create and change, delete, pause.

The consumers through which mirrors and sources of other streams read are created by the stream's leader
alone, as on a single server. The exception is a stream that waits for acks: there they are durable, and
decided like any other consumer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .....protocol import headers
from .....protocol.api.consumer import ConsumerConfig, ConsumerInfo
from .....protocol.api.messages import CreateConsumerRequest, response
from .....protocol.api.stream import StreamConfig
from .....protocol.errors import ApiError, api_error
from .....protocol.identifier import name_hash
from .....protocol.timestamp import format_rfc3339
from ...consumers import lifecycle
from ...consumers.advisories import ConsumerAdvisories
from ...consumers.config import check
from ...consumers.info import shown, stamped
from ...meta.assignment import ConsumerAssignment, StreamAssignment
from ...meta.command import Command, DeleteConsumer, PutConsumer
from ...meta.effect import AlreadyExists, ConsumerCreated, ConsumerUpdated, Effect
from ...meta.report import cluster_info
from ...meta.state import AccountView
from .. import consumer as consumer_api
from ..request import Request, Response
from ..table import PREFIX
from .propose import (
    ASK_AGAIN,
    ServedWait,
    answer_through_leader,
    guarded,
    is_gone,
    patient,
    propose,
    requester,
    tier_limits,
)
from .stream_api import asked_peer

if TYPE_CHECKING:
    from ....accounts.subscription import Message
    from ....clock import Timer
    from ...account.account import JetStreamAccount
    from ...cluster.context import ClusterContext
    from ...cluster.view import ClusterView

Json = dict[str, Any]
RESET_TIMEOUT = 4_000_000_000  # ns for a stream's leader to reset a source's consumer


class ConsumerApi:
    """The handlers of the consumer requests that the meta leader decides."""

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        self._view, self._proposer = cluster.view, cluster.proposer

    # --- its servers

    def remap_peer(self, request: Request) -> Response:
        """Answer CONSUMER.PEER.REMOVE.<stream>.<consumer> and CONSUMER.PEER.EVACUATE.<stream>.<consumer>.

        Both are refused: a consumer is where its stream is, whose peers can be removed and evacuated.
        """
        stream, name = request.tokens[3:5]
        planner, peer = self._proposer.planner(), asked_peer(request)
        raise planner.consumer_peer_refusal(request.account.name, stream, name, peer)

    # --- create

    def create(self, request: Request) -> Response:
        """Answer CONSUMER.CREATE.<stream>[.<consumer>[.<filter>]]."""
        asked = consumer_api.read_create(request)
        if self._is_inside(request, asked):
            return consumer_api.create(request)
        return self._create(request, asked)

    def create_durable(self, request: Request) -> Response:
        """Answer CONSUMER.DURABLE.CREATE.<stream>.<consumer>."""
        return self._create(request, consumer_api.read_create_durable(request))

    def _is_inside(self, request: Request, asked: CreateConsumerRequest) -> bool:
        """Return whether the stream's leader alone creates the consumer; see the module."""
        config = asked.config
        if not config.direct:
            return False
        stream = self._view.state.stream(request.account.name, asked.stream_name)
        return not config.sourcing or stream is None or stream.config.get("retention") == "limits"

    def _create(self, request: Request, asked: CreateConsumerRequest) -> Response:
        account, cluster = request.account, self._cluster
        if asked.config.direct and asked.config.sourcing and asked.config.name:
            consumer_api.make_lasting(asked.config)
        created, who = request.context.clock.now(), requester(self._view, request)
        served: dict[str, ServedWait] = {}

        def make_command() -> Command:
            view = self._view.state.view(account.name)
            stream = view.stream(asked.stream_name)
            if stream is None:
                raise api_error("JSStreamNotFoundErr")
            config = validate(account, view, stream, asked)
            self._check_identity(request, asked.config, stream)
            limits = tier_limits(account, _replicas(config, stream))
            command = self._proposer.planner().put_consumer(
                view, stream.name, config.to_json(), who, created, action=asked.action, tier_limits=limits
            )
            if command.name not in served:
                served[command.name] = ServedWait(cluster, account.name, stream.name, command.name)
            return command

        def done(effect: Effect) -> None:
            assert isinstance(effect, ConsumerCreated | ConsumerUpdated | AlreadyExists)
            made = effect.assignment if isinstance(effect, AlreadyExists) else effect.consumer
            assert isinstance(made, ConsumerAssignment)
            if isinstance(effect, ConsumerCreated):
                _publish_created(account, made)
            self._answer(request, served[made.name], made, there=isinstance(effect, AlreadyExists))

        return propose(cluster, request, make_command, done)

    def _check_identity(self, request: Request, config: ConsumerConfig, stream: StreamAssignment) -> None:
        """Put the stream's identity into the answer to another stream's source.

        Raises ApiError if the source expects another stream of this name.
        """
        if not (config.direct or config.sourcing):
            return
        identity = name_hash(format_rfc3339(stream.created))
        expected = request.header(consumer_api.IDENTITY)
        if expected and expected.decode("utf-8", "replace") != identity:
            raise api_error("JSConsumerStreamIdentityMismatchF", msg=identity)
        request.header_block = headers.set(b"", consumer_api.IDENTITY, identity.encode())

    def _answer(self, request: Request, served: ServedWait, made: ConsumerAssignment, *, there: bool) -> None:
        """Answer with the info of the consumer's leader, or with what was decided if no leader reports."""
        config, created = ConsumerConfig.from_json(made.config), format_rfc3339(made.created)

        def fits(info: Json) -> bool:
            if info.get("created") != created:
                return False
            return stamped(ConsumerConfig.from_json(info["config"])) == config

        def done(info: Json | None) -> None:
            found = (
                known_consumer(self._view, request.context.clock.now(), made)
                if info is None
                else ConsumerInfo.from_json(info)
            )
            found.config = shown(found.config or config)
            if config.sourcing:
                self._reset_consumer(request, made)
            else:
                answer_through_leader(self._cluster.replies, request, info or {})
                request.respond(response(request.kind, found))

        served.then(fits, guarded(request, done), ask_in=patient(there=there))

    def _reset_consumer(self, request: Request, made: ConsumerAssignment) -> None:
        """Have the leader reset the consumer: a source that asks again goes on after its last ack."""
        account, host = request.account.account, request.account.host
        reply, since = f"$JSC.R.{host.new_id(8)}", host.clock.now()
        timers: list[Timer] = []

        def ask() -> None:
            if host.clock.now() - since > RESET_TIMEOUT:
                account.unsubscribe(subscription)
                request.fail(api_error("JSClusterNotAvailErr"))
                return
            timers.append(host.clock.call_later(ASK_AGAIN, ask))
            account.publish(f"{PREFIX}CONSUMER.RESET.{made.stream}.{made.name}", b"", reply=reply, own=True)

        def answered(message: Message) -> None:
            if not message.body:
                return  # nobody subscribes; it is asked again
            account.unsubscribe(subscription)
            for timer in timers:
                timer.cancel()
            answer = json.loads(message.body)
            if "error" in answer:
                raise ApiError.from_json(answer["error"])
            answer["type"] = response(request.kind)["type"]
            request.respond(answer)

        subscription = account.subscribe(reply, guarded(request, answered))
        ask()

    # --- the others

    def delete(self, request: Request) -> Response:
        """Answer CONSUMER.DELETE.<stream>.<consumer>."""
        request.must_be_empty()
        wanted = self._find(request)
        gone = ServedWait(self._cluster, wanted.account, wanted.stream, wanted.name)

        def make_command() -> Command:
            found = self._find(request)
            return DeleteConsumer(found.account, found.stream, found.name, found.created)

        def deleted(_: Json | None) -> None:
            request.respond(response(request.kind, success=True))

        def done(_: Effect) -> None:
            stream = self._view.state.stream(wanted.account, wanted.stream)
            if stream is None or self._proposer.planner().offline(stream):
                gone.drop()
                deleted(None)
            else:
                gone.then(is_gone, deleted)

        return propose(self._cluster, request, make_command, done)

    def _find(self, request: Request) -> ConsumerAssignment:
        state, account = self._view.state, request.account.name
        stream, name = request.tokens[2:4]
        if state.stream(account, stream) is None:
            raise api_error("JSStreamNotFoundErr")
        found = state.consumer(account, stream, name)
        if found is None:
            raise api_error("JSConsumerNotFoundErr")
        return found

    def pause(self, request: Request) -> Response:
        """Answer CONSUMER.PAUSE.<stream>.<consumer>: pause until a time, or resume."""
        until, who = consumer_api.read_pause(request), requester(self._view, request)

        def make_command() -> Command:
            found = self._find(request)
            view = self._view.state.view(found.account)
            view.consumer(found.stream, found.name)
            config = stamped(ConsumerConfig.from_json(found.config).replace(pause_until=until))
            return PutConsumer(
                found.account,
                found.stream,
                found.name,
                config.to_json(),
                found.created,
                "update",
                who.info,
                reads=dict(view.reads),
            )

        def done(_: Effect) -> None:
            request.respond(consumer_api.paused_response(request, until))

        return propose(self._cluster, request, make_command, done)


def known_consumer(view: ClusterView, now: int, consumer: ConsumerAssignment) -> ConsumerInfo:
    """Return what is known of a consumer without its leader. now: in ns."""
    stream = view.state.stream(consumer.account, consumer.stream)
    info = ConsumerInfo(
        stream_name=consumer.stream,
        name=consumer.name,
        created=consumer.created,
        config=ConsumerConfig.from_json(consumer.config),
        ts=now,
    )
    if stream is not None:
        info.cluster = cluster_info(view.state, view.node_statuses, stream, None, view.me, stream.cluster)
    return info


def validate(
    account: JetStreamAccount, view: AccountView, stream: StreamAssignment, asked: CreateConsumerRequest
) -> ConsumerConfig:
    """Return the complete configuration that a request results in. Raises ApiError if it is not valid."""
    within = StreamConfig.from_json(stream.config)
    replicas = _replicas(asked.config, stream)
    share = account.limits.required(replicas)
    config = asked.config.replace()
    name = config.durable_name or config.name
    existing = view.consumer(stream.name, name) if name else None
    old = None if existing is None else ConsumerConfig.from_json(existing.config)
    if old is not None:
        consumer_api.keep_from(old, config)
    config = check(stamped(config), within, lifecycle.bounds(account.host, share), pedantic=asked.pedantic)

    def siblings() -> list[ConsumerConfig]:
        others = [one for one in view.consumers(stream.name) if one.name != name]
        return [ConsumerConfig.from_json(one.config) for one in others]

    if old is not None:
        if asked.action == "create":
            lifecycle.must_be_same(old, config)
        lifecycle.check_change(within, old, config, siblings, account.account)
    elif asked.action == "update":
        raise api_error("JSConsumerDoesNotExist")
    else:
        lifecycle.check_new(within, config, name, siblings)
    return lifecycle.with_inactive_threshold(config)


def _replicas(config: ConsumerConfig, stream: StreamAssignment) -> int:
    """Return how many replicas a consumer asks for, which decides whose tier's limits apply."""
    wanted = ConsumerAssignment(stream.account, stream.name, "", config.to_json(), 0, 0)
    return wanted.replicas(stream)


def _publish_created(account: JetStreamAccount, made: ConsumerAssignment) -> None:
    config = ConsumerConfig.from_json(made.config)
    advisories = ConsumerAdvisories(account.account, account.host, made.stream, made.name)
    advisories.created()
    if config.pause_until > account.host.clock.now():
        advisories.paused(True, config.pause_until)
