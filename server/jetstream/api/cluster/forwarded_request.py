"""ForwardedRequest: a request that the meta leader did not hear, because its server did not know the account
yet.

Servers look an account up when they hear that another one has it, which takes as long as their resolver
does: the first request of an account may be there sooner. Promises: the server whose client asked holds the
request, and sends it to the meta leader when that hears such requests, once, and to nobody else; after
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
_TELL = "$JSC.META"  # what every server of the domain hears in the system account


def is_unheard(domain: JetStreamCluster, message: Message) -> bool:
    """Whether a client here asks what the leader, on another server, cannot have heard."""
    source, leader = message.source, domain.led.leader
    if source is None or source.kind != ConnectionKind.CLIENT or leader in ("", domain.me):
        return False
    return _way(domain, message) is None and _share(domain, domain.system, _TELL) is not None


class ForwardedRequest:
    """One such request. serve: serves it here, if this server is the leader by then."""

    def __init__(self, domain: JetStreamCluster, message: Message, serve: Callable[[], None]) -> None:
        self._domain = domain
        self._message = message
        self._serve = serve
        self._patience = PATIENCE

    def start(self) -> None:
        """Wait for the leader."""
        self._patience -= PAUSE
        if self._patience > 0:
            self._domain.surroundings.clock.call_later(PAUSE, self._look)

    def _look(self) -> None:
        if self._domain.led.leader == self._domain.me:
            self._serve()
            return
        way = _way(self._domain, self._message)
        if way is None:
            self.start()
            return
        message = self._message
        raw, reply = (text.encode("utf-8", "surrogateescape") for text in (message.subject, message.reply))
        size = len(message.header) + len(message.body)
        assert message.source is not None
        parcel = RoutedMessage(
            message.account,
            message.source,
            raw,
            reply,
            len(message.header),
            size,
            tail(reply, message.header, message.body),
        )
        way.deliver_leaf(parcel, ())
        message.account.flusher.schedule()


def _way(domain: JetStreamCluster, message: Message) -> Any:
    """The route by which the leader hears such a request; None: it does not."""
    return _share(domain, message.account, message.subject)


def _share(domain: JetStreamCluster, account: Account, subject: str) -> Any:
    """An account's part of the route to the leader, if a subject is heard there."""
    raw = subject.encode("utf-8", "surrogateescape")
    process = domain.servers.seen.process(domain.led.leader)
    plan = account.plans.get(raw) or account.plan(raw)
    shares = (each.sink for each in plan.remotes if each.kind == ConnectionKind.ROUTER)
    return next((share for share in shares if getattr(share, "peer", "") == process), None)
