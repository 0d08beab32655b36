"""ForwardedRequest: a request that the meta leader did not receive, as its server did not know the account.

Servers look an account up when they learn that another one has it, which takes as long as their resolver
does: the first request of an account may be there sooner. Promises: the server whose client asked holds the
request, and sends it to the meta leader when that receives such requests, once, and to nobody else; after
PATIENCE nothing is done. Only between servers that are joined by routes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .....protocol.wire.encode import tail
from ....accounts.message import RoutedMessage
from ....accounts.source import ConnectionKind

if TYPE_CHECKING:
    from ....accounts.account import Account
    from ....accounts.message import Message
    from ...cluster.cluster import JetStreamCluster

PATIENCE, PAUSE = 5_000_000_000, 50_000_000  # ns until it is given up, and between two looks
_TELL = "$JSC.META"  # what every server of the domain subscribes to in the system account


def is_unheard(cluster: JetStreamCluster, message: Message) -> bool:
    """Whether a client here asks what the leader, on another server, cannot have received."""
    source, leader = message.source, cluster.leader_status.leader
    if source is None or source.kind != ConnectionKind.CLIENT or leader in ("", cluster.me):
        return False
    return _route(cluster, message) is None and _route_to_leader(cluster, cluster.system, _TELL) is not None


class ForwardedRequest:
    """One such request. serve: serves it here, if this server is the leader by then."""

    def __init__(self, cluster: JetStreamCluster, message: Message, serve: Callable[[], None]) -> None:
        self._cluster = cluster
        self._message = message
        self._serve = serve
        self._patience = PATIENCE

    def start(self) -> None:
        """Wait for the leader."""
        self._patience -= PAUSE
        if self._patience > 0:
            self._cluster.environment.clock.call_later(PAUSE, self._look)

    def _look(self) -> None:
        if self._cluster.leader_status.leader == self._cluster.me:
            self._serve()
            return
        route = _route(self._cluster, self._message)
        if route is None:
            self.start()
            return
        message = self._message
        raw, reply = (text.encode("utf-8", "surrogateescape") for text in (message.subject, message.reply))
        size = len(message.header) + len(message.body)
        assert message.source is not None
        msg = RoutedMessage(
            message.account,
            message.source,
            raw,
            reply,
            len(message.header),
            size,
            tail(reply, message.header, message.body),
        )
        route.deliver_leaf(msg, ())
        message.account.flusher.schedule()


def _route(cluster: JetStreamCluster, message: Message) -> Any:
    """The route by which the leader receives such a request; None: it does not."""
    return _route_to_leader(cluster, message.account, message.subject)


def _route_to_leader(cluster: JetStreamCluster, account: Account, subject: str) -> Any:
    """An account's part of the route to the leader, if there is interest in a subject there."""
    raw = subject.encode("utf-8", "surrogateescape")
    process = cluster.node_tracker.node_statuses.process(cluster.leader_status.leader)
    plan = account.plans.get(raw) or account.plan(raw)
    routes = (each.sink for each in plan.remotes if each.kind == ConnectionKind.ROUTER)
    return next((route for route in routes if getattr(route, "peer", "") == process), None)
