"""RESTORE in a cluster: the meta leader receives the backup, then proposes what it contains.

The meta group decides in this order:
1. a stream with one replica, on the meta leader, whose messages are those received;
2. the stream's consumers, one after the other;
3. the replicas and the placement of the backup's configuration, as an ordinary update of the stream.

Each of these is one command, and the next one follows when the one before is carried out on this server.

Promises: the last chunk is answered when all this is decided. If the server stops or another one becomes meta
leader before that, the restore fails. The stream may then exist with one replica and some of its consumers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from .....protocol.errors import ApiError, api_error
from ...meta.command import Command, CreateStream, PutConsumer
from ...meta.effect import CommandRejected, Effect, StaleCommand
from ...streams.stream_info import stamped
from ...streams.validation.config import check
from .. import snapshot as snapshot_api
from .propose import requester, tier_limits
from .stream_api import validation_context

if TYPE_CHECKING:
    from .....protocol.api.stream import StreamConfig
    from ...account.account import JetStreamAccount
    from ...account.backup.restore import OnRestored
    from ...account.backup.staged import StagedStream
    from ...cluster.context import ClusterContext
    from ...meta.planner import ApiClient
    from ..request import Request, Response


class RestoreApi:
    """The handler of RESTORE."""

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        self._view, self._proposer = cluster.view, cluster.proposer

    def restore(self, request: Request) -> Response:
        """Answer STREAM.RESTORE.<stream>."""
        account, cluster = request.account, self._cluster
        asked = stamped(snapshot_api.read_restore(request))
        view = self._view.state.view(account.name)
        if view.stream(asked.name) is not None:
            raise api_error("JSStreamNameExistRestoreFailedErr")
        config = check(asked, validation_context(account, view, asked.num_replicas, pedantic=False))
        who = requester(self._view, request)
        self._proposer.planner().create_stream(
            view, config.to_json(), who, 0, tier_limits(account, config.num_replicas)
        )

        def complete(staged: StagedStream, done: OnRestored) -> None:
            RestoreDecisions(cluster, account, config, who, staged, done).start()

        return snapshot_api.receive(request, config, complete)


class RestoreDecisions:
    """Proposes, one after the other, what a received backup contains.

    config: of the stream, as it will be in the end.
    who: who has requested the restore.
    staged: the received stream, in a folder of its own.
    done: called once, with the stream when all is decided, or with the error.
    """

    def __init__(
        self,
        cluster: ClusterContext,
        account: JetStreamAccount,
        config: StreamConfig,
        who: ApiClient,
        staged: StagedStream,
        done: OnRestored,
    ) -> None:
        self._view, self._proposer, self._executor = cluster.view, cluster.proposer, cluster.executor
        self._account = account
        self._config = config
        self._alone = replace(config, num_replicas=1, placement=None)
        self._who = who
        self._staged = staged
        self._done = done
        self._created = account.host.clock.now()
        self._consumers = list(staged.consumers)

    def start(self) -> None:
        """Propose the stream, on this server alone. Its messages are then taken from `staged`."""
        self._account.staged[self._config.name] = self._staged
        self._staged.config = self._alone
        self._decide(self._creation, self._next)

    def _creation(self) -> Command:
        view = self._view.state.view(self._account.name)
        limits = tier_limits(self._account, self._config.num_replicas)
        planner = self._proposer.planner()
        made = planner.create_stream(view, self._config.to_json(), self._who, self._created, limits)
        me = self._view.state.servers[self._view.me]
        return CreateStream(
            self._account.name,
            self._alone.to_json(),
            planner.new_group(1, self._config.storage),
            me.cluster,
            (self._view.me,),
            self._created,
            client=made.client,
            share=made.share,
            reads=made.reads,
        )

    def _next(self) -> None:
        """Propose the next consumer or, after the last one, the replicas and the placement; then end."""
        local = self._view.local_streams.get((self._account.name, self._config.name))
        if local is None or local.stream is None:
            self._fail(api_error("JSStreamRestoreErrF", err="it was not opened; the log says why"))
        elif self._consumers:
            consumer = self._consumers.pop(0)
            put = PutConsumer(
                self._account.name,
                self._config.name,
                consumer.name,
                consumer.config.to_json(),
                self._created,
                share=tier_limits(self._account, self._config.num_replicas),
            )
            self._decide(lambda: put, self._next)
        elif self._alone != self._config:
            stream = local.stream
            self._decide(self._update, lambda: self._done(stream))
        else:
            self._done(local.stream)

    def _update(self) -> Command:
        view = self._view.state.view(self._account.name)
        limits = tier_limits(self._account, self._config.num_replicas)
        return self._proposer.planner().update_stream(view, self._config.to_json(), self._who, limits)

    def _decide(self, make_command: Callable[[], Command], then: Callable[[], None], tries: int = 5) -> None:
        """Propose a command and call `then` when it has taken effect; otherwise end with the error.

        If the meta state has changed since the command was made, it is made and proposed again.
        """

        def decided(outcome: list[Effect] | ApiError) -> None:
            effect = outcome if isinstance(outcome, ApiError) else next(iter(outcome), None)
            if isinstance(effect, StaleCommand) and tries:
                self._decide(make_command, then, tries - 1)
            elif isinstance(effect, CommandRejected):
                self._fail(effect.error)
            elif effect is None or isinstance(effect, ApiError | StaleCommand):
                self._fail(api_error("JSClusterNotAvailErr"))
            else:
                self._executor.soon(
                    then
                )  # in the next turn of the loop: by then this server has done its part

        try:
            self._proposer.propose(make_command(), decided)
        except ApiError as error:
            self._fail(error)

    def _fail(self, error: ApiError) -> None:
        self._account.staged.pop(self._config.name, None)
        self._done(error)
