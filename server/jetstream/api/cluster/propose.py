"""Propose: how a request becomes a decision of the meta group, and is answered.

A request is validated against what is decided so far and proposed together with what it was validated
against. If that has changed in between, it is validated again. Promises: a request is answered once. What the
answer reports as created is decided, and its leader serves it already if the leader announces that in time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from .....protocol.errors import ApiError, api_error
from ...meta.command import Command
from ...meta.effect import CommandRejected, Effect, StaleCommand
from ...meta.planner import ApiClient
from ...meta.tier_limits import TierLimits
from ..request import LATER, Request, Response

if TYPE_CHECKING:
    from ...account.account import JetStreamAccount
    from ...cluster.context import ClusterContext
    from ...cluster.reply_router import ReplyRouter
    from ...cluster.view import ClusterView

Json = dict[str, Any]
MOST_TRIES = 5
NO_PEERS = api_error("JSClusterNoPeersErrF", err="").err_code
GATHERING = 100_000_000  # ns between two tries of a new leader to find enough servers
ASK_AGAIN = 500_000_000  # ns between two questions to a leader, as there may be none yet


def propose(
    cluster: ClusterContext,
    request: Request,
    make_command: Callable[[], Command],
    done: Callable[[Effect], None],
) -> Response:
    """Have the command of `make_command` decided, and call `done` with its effect; errors answer the request.

    make_command: is called again each time its command turns out to be stale; raises ApiError to refuse. When
        a new leader finds too few servers, it first waits for the reports of all servers.
    """
    tries = MOST_TRIES

    def attempt() -> None:
        nonlocal tries
        try:
            command = make_command()
        except ApiError as refusal:
            if refusal.err_code != NO_PEERS or not cluster.view.gathering:
                raise
            cluster.clock.call_later(GATHERING, guarded(request, attempt))
            return
        tries -= 1
        cluster.proposer.propose(command, guarded(request, decided))

    def decided(outcome: list[Effect] | ApiError) -> None:
        if isinstance(outcome, ApiError):
            raise outcome
        if not outcome:  # this server no longer leads
            raise api_error("JSClusterNotAvailErr")
        [effect] = outcome[:1]
        if isinstance(effect, CommandRejected):
            raise effect.error
        if not isinstance(effect, StaleCommand):
            done(effect)
        elif tries:
            attempt()
        else:
            raise api_error("JSClusterNotAvailErr")

    attempt()
    return LATER


def guarded(request: Request, callback: Callable[..., None]) -> Callable[..., None]:
    """Return `callback` so that errors it raises answer the request, like those of the handler itself."""

    def call(*values: Any) -> None:
        try:
            callback(*values)
        except ApiError as error:
            request.fail(error)
        except Exception as error:
            request.fail_internally(error)

    return call


def answer_through_leader(replies: ReplyRouter, request: Request, info: Json) -> None:
    """Send the answer through the leader that an info names; see `ReplyRouter`."""
    leader = (info.get("cluster") or {}).get("leader", "")
    account = request.account.name
    request.send_reply = lambda reply, header, body: replies.send(leader, account, reply, header, body)


def requester(view: ClusterView, request: Request) -> ApiClient:
    """Return the client that sent a request.

    A message that came over a route is from a client of this cluster, or it says from which other one. A
    cluster beyond a leaf connection may belong to another domain: if it has no server here, this cluster
    counts instead. Clusters that gateways join to this one come after the nearest.
    """
    source = request.message.source
    near = "" if source is None else source.remote_cluster
    if not any(server.cluster == near for server in view.state.servers.values()):
        near = view.cluster_name
    others = view.other_clusters()
    clusters = dict.fromkeys((near, view.cluster_name, *others) if others else (near,))
    return ApiClient({} if source is None else source.client_info(), [*clusters])


def tier_limits(account: JetStreamAccount, replicas: int) -> TierLimits:
    """Return the account's limits for streams with so many replicas. Raises ApiError 10120."""
    limits = account.limits.required(replicas)
    tier = "" if account.limits.flat else f"R{max(1, replicas)}"
    counts = limits.max_streams, limits.max_consumers, account.host.default_max_consumers
    return TierLimits(tier, limits.max_memory, limits.max_store, *counts)


class ServedWait:
    """Waits for the leader of a stream or consumer to announce that it is as decided, or {} once it is gone.

    It is made before the proposal, because a leader may announce before the proposal is answered.
    """

    def __init__(self, cluster: ClusterContext, account: str, stream: str, consumer: str = "") -> None:
        self._cluster = cluster
        self._key = (account, stream, consumer)
        self._infos: list[Json | None] = []
        self._fits: Callable[[Json], bool] | None = None
        self._done: Callable[[Json | None], None] = _nothing
        self._ends: list[Callable[[], None]] = []
        self._over = False
        self._listen()

    def _listen(self) -> None:
        self._ends = [self._cluster.queries.when_served(self._key, self._came), *self._ends[1:]]

    def _came(self, info: Json | None) -> None:
        if self._over:
            return
        self._infos.append(info)
        if info is not None:
            self._listen()
        self._check()

    def _check(self) -> None:
        if self._fits is None:
            return
        infos, self._infos = self._infos, []
        for info in infos:
            if info is None or self._is_wanted(self._fits, info):
                self.drop()
                self._done(info)
                return

    @staticmethod
    def _is_wanted(fits: Callable[[Json], bool], info: Json) -> bool:
        """Return whether an info fits; one that makes no sense does not."""
        try:
            return fits(info)
        except (ApiError, KeyError, TypeError, AttributeError):
            return False

    def then(
        self, fits: Callable[[Json], bool], done: Callable[[Json | None], None], *, ask_in: int | None = None
    ) -> None:
        """Call `done` with the first info that fits, or with None after the timeout of `LeaderQueries`.

        ask_in: ns until the leader is asked as well, and again from time to time, because it or its
            predecessor may have announced before. None: it is never asked.
        """
        self._fits, self._done = fits, done
        if ask_in is not None:
            self._ask_later(ask_in)
        self._check()

    def _ask_later(self, delay: int) -> None:
        if not self._over:
            self._ends.append(self._cluster.clock.call_later(delay, self._ask).cancel)

    def _ask(self) -> None:
        account, stream, consumer = self._key
        kind: Literal["SI", "CI"] = "CI" if consumer else "SI"
        self._ends.append(self._cluster.queries.ask(kind, account, stream, consumer, self._received))
        self._ask_later(ASK_AGAIN)

    def _received(self, _: str, info: Json) -> None:
        if not self._over:
            self._infos.append(info)
            self._check()

    def drop(self) -> None:
        """Stop waiting, without a call."""
        self._over = True
        for end in self._ends:
            end()


def _nothing(_: Json | None) -> None:
    """Do nothing: nobody waits yet."""


def is_gone(info: Json) -> bool:
    """Return whether an announcement says that the stream or consumer is no longer served."""
    return not info


def patient(*, there: bool) -> int:
    """Return in how many ns to ask the leader: at once about what existed before."""
    return 0 if there else ASK_AGAIN
