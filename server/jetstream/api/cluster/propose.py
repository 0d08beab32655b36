"""Propose: how a request becomes a decision of the meta group, and is answered.

A request is validated against what is decided so far, proposed with what it was validated against, and
validated anew when that has changed in between. Promises: a request is answered once; what is answered as
made is decided, and served by its leader already when that announces it in time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from .....protocol.errors import ApiError, api_error
from ...meta.command import Command
from ...meta.effect import CommandRejected, Effect, StaleCommand
from ...meta.planner import Requester
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
GATHERING = 100_000_000  # ns between two looks for servers by a leader that is new
ASK_AGAIN = 500_000_000  # ns between two questions to a leader that there may not be yet


def propose(
    cluster: ClusterContext,
    request: Request,
    make_command: Callable[[], Command],
    done: Callable[[Effect], None],
) -> Response:
    """Have what `make_command` comes to decided, and give `done` the effect; errors answer the request.

    make_command: is asked anew as long as its command turns out to be stale; raises ApiError to refuse. A new
    leader takes the time to get the reports of all servers before it answers that there are too few.
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
        if not outcome:  # it leads no more
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
    """Let errors that a later step of a request raises answer it, as those of its first step do."""

    def call(*values: Any) -> None:
        try:
            callback(*values)
        except ApiError as error:
            request.fail(error)
        except Exception as error:
            request.fail_internally(error)

    return call


def answer_through_leader(replies: ReplyRouter, request: Request, info: Json) -> None:
    """Let the answer come from the leader that an info names; see `ReplyRouter`."""
    leader = (info.get("cluster") or {}).get("leader", "")
    account = request.account.name
    request.send_reply = lambda reply, header, body: replies.send(leader, account, reply, header, body)


def requester(view: ClusterView, request: Request) -> Requester:
    """Who asks. A message that came over a route is from a client of this cluster, too, or of a leaf's.

    The cluster beyond a leaf connection may be of another domain: then it is this one's that counts.
    """
    source = request.message.source
    near = "" if source is None else source.remote_cluster
    if not any(server.cluster == near for server in view.state.servers.values()):
        near = view.cluster_name
    return Requester({} if source is None else source.client_info(), [near])


def tier_limits(account: JetStreamAccount, replicas: int) -> TierLimits:
    """The account's limits for what has so many replicas. Raises ApiError 10120."""
    limits = account.limits.required(replicas)
    tier = "" if account.limits.flat else f"R{max(1, replicas)}"
    return TierLimits(tier, limits.max_memory, limits.max_store, limits.max_streams, limits.max_consumers)


class ServedWait:
    """Waits for a stream's or a consumer's leader to announce that it is as was decided; or gone: then {}.

    Made before the proposal: a leader may be quicker than the answer to that.
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
        self._look()

    def _look(self) -> None:
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
        """Whether it fits; what makes no sense does not."""
        try:
            return fits(info)
        except (ApiError, KeyError, TypeError, AttributeError):
            return False

    def then(
        self, fits: Callable[[Json], bool], done: Callable[[Json | None], None], *, ask_in: int | None = None
    ) -> None:
        """Call `done` with the first info that fits, or with None when patience is at its end.

        ask_in: ns until the leader is asked, too, and again from time to time: it may have announced it
        before, or its predecessor has. None: never.
        """
        self._fits, self._done = fits, done
        if ask_in is not None:
            self._ask_later(ask_in)
        self._look()

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
            self._look()

    def drop(self) -> None:
        """Wait no more."""
        self._over = True
        for end in self._ends:
            end()


def _nothing(_: Json | None) -> None:
    """Nobody waits yet."""


def is_gone(info: Json) -> bool:
    """Whether a leader announces that what was deleted is served no more."""
    return not info


def patient(*, there: bool) -> int:
    """When to ask the leader of what was decided: at once for what was there already."""
    return 0 if there else ASK_AGAIN
