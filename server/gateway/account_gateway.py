"""AccountGateway: one account over an outbound gateway, with the interest of the other cluster.

While the account does not exist here, that interest is kept. The account gets it when it is made.

The other cluster tells all interest (interest-only mode), as every nats-server since 2.9 does. An older one
tells of queue groups only; anything else is sent to it until it tells that nobody wants it (optimistic mode).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from ...protocol.reserved import GATEWAY_REPLY
from ...protocol.subject import ANY_REST, is_subset, is_valid
from ..accounts.leaving import LeavingConnection
from ..accounts.server_trace import GATEWAY
from ..accounts.subscription import ConnectionKind, Subscription
from ..connection.account_link import AccountLink
from ..route.frames import route_frame

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.subscription import RoutedMessage
    from .peer import GatewayPeer
    from .recent_interest import RecentInterest

_MOST_UNWANTED = 4096  # subjects; the peers that need them tell all interest after a thousand


class InterestMode(enum.Enum):
    """What is known of the other cluster's interest in an account, as monitoring shows it."""

    OPTIMISTIC = "Optimistic"
    TRANSITIONING = "Transitioning"
    INTEREST_ONLY = "Interest-Only"


class AccountGateway(AccountLink):
    """One account over one outbound gateway.

    mode: what is known of the interest.
    unwanted: in optimistic mode, the subjects that nobody there wants.
    sees_nobody: whether the other cluster said that it has no interest in the account at all.
    """

    kind = ConnectionKind.GATEWAY
    traced_as = GATEWAY
    connection: GatewayPeer

    __slots__ = ("_recent", "mode", "sees_nobody", "unwanted")

    def __init__(self, connection: GatewayPeer, name: bytes, *, optimistic: bool) -> None:
        super().__init__(connection, name)
        self.mode = InterestMode.OPTIMISTIC if optimistic else InterestMode.INTEREST_ONLY
        self.unwanted: dict[bytes, None] = {}
        self.sees_nobody = False
        self._recent: RecentInterest | None = None
        if optimistic:
            self._assume()

    # --- the interest of the other cluster

    def subscribe(self, raw_subject: bytes, raw_queue: bytes, weight: int) -> None:
        """Serve RS+: new interest, or another weight of a queue group."""
        if self.mode is InterestMode.OPTIMISTIC and not raw_queue:
            self._wanted_again(raw_subject)
            return
        key = (raw_subject, raw_queue)
        known = self._subscriptions.get(key)
        if known is not None and known.weight:
            if raw_queue and known.account is not None:
                known.account.set_weight(known, weight)
            return
        subject = raw_subject.decode("utf-8", "surrogateescape")
        if is_valid(subject):
            queue = raw_queue.decode("utf-8", "surrogateescape")
            self._add(key, Subscription(subject, self, queue=queue, weight=weight))

    def unsubscribe(self, subject: bytes, queue: bytes) -> None:
        """Serve RS-. Unknown interest changes nothing."""
        if self.mode is InterestMode.OPTIMISTIC and not queue:
            if len(self.unwanted) < _MOST_UNWANTED:
                self.unwanted[subject] = None
            return
        self._remove((subject, queue))

    def account_wanted(self, *, wanted: bool) -> None:
        """Serve A+ or A-: the other cluster has interest in the account again, or none at all."""
        self.sees_nobody = not wanted
        if self.mode is InterestMode.OPTIMISTIC:
            self.unwanted.clear()
            if wanted:
                self._assume()
            else:
                self._remove(_ASSUMED)

    def all_interest_begins(self) -> None:
        """Serve the command that all interest follows."""
        self.sees_nobody = False
        if self.mode is InterestMode.OPTIMISTIC:
            self.mode = InterestMode.TRANSITIONING

    def all_interest_sent(self) -> None:
        """Serve the command that all interest was told."""
        before, self.mode = self.mode, InterestMode.INTEREST_ONLY
        self.unwanted.clear()
        if before is not self.mode and self.account is not None:
            self.account.forget_plans()
        assumed = self._subscriptions.get(_ASSUMED)
        if assumed is not None and not assumed.weight:
            self._remove(_ASSUMED)

    def _assume(self) -> None:
        """Assume interest in everything. It is not announced to anyone else: its weight is none."""
        if _ASSUMED not in self._subscriptions:
            self._add(_ASSUMED, Subscription(ANY_REST, self, weight=0))

    def _wanted_again(self, subject: bytes) -> None:
        self.unwanted.pop(subject, None)
        if b"*" in subject or b">" in subject:
            pattern = subject.decode("utf-8", "surrogateescape")
            for each in [
                s for s in self.unwanted if is_subset(s.decode("utf-8", "surrogateescape"), pattern)
            ]:
                del self.unwanted[each]

    def _add(self, key: tuple[bytes, bytes], subscription: Subscription) -> None:
        before = self._subscriptions.get(key)
        if before is not None:
            self._remove(key)
        self._subscriptions[key] = subscription
        if self.account is not None:
            self.account.add_subscription(subscription)

    def subscriptions(self) -> list[Subscription]:
        """Return the interest that the other cluster told, in the order in which it came."""
        return [each for each in self._subscriptions.values() if each.weight and not _leads_back(each)]

    # --- start and end

    def bind(self, account: Account, recent: RecentInterest) -> None:
        """Send messages from now on: the account exists here. recent: its recent interest."""
        if self.account is account:
            return
        self.account, self._recent = account, recent
        back = f"{GATEWAY_REPLY}{self.connection.cluster_hash}.>"
        self._subscriptions.setdefault((back.encode(), b""), Subscription(back, self))
        self.permit()

    def unbind(self) -> None:
        """Stop, because the account is gone. The interest is kept for another account of that name."""
        if self.account is not None:
            self.account = self._recent = None
            self.permit()

    def leave(self) -> LeavingConnection:
        """Stop, because the connection is gone. Return what has to be removed."""
        account, gone = self._end()
        self._recent = None
        return LeavingConnection(account, self, gone)

    @property
    def unused(self) -> bool:
        """Whether there is nothing to keep: neither the account here, nor interest in it there."""
        kept = self._subscriptions.values()
        return self.account is None and not any(each.weight and not _leads_back(each) for each in kept)

    # --- messages

    @property
    def fast(self) -> bool:  # type: ignore[override]
        """See MessageEndpoint. In optimistic mode each message may be unwanted."""
        return self.mode is InterestMode.INTEREST_ONLY

    @property
    def rtt(self) -> int:
        """See MessageEndpoint."""
        return self.connection.ping_timer.rtt

    def may_send(self, subject: str) -> bool:
        """See MessageEndpoint."""
        del subject
        return True

    def prefixes(self, subject: bytes) -> tuple[bytes, bytes]:
        """See MessageEndpoint."""
        rest = b"%b %b " % (self.name, subject)
        return b"RMSG " + rest, b"HMSG " + rest

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """See MessageEndpoint. The reply names its way back, if the interest in it is recent."""
        connection = self.connection
        if connection.closed_reason or (not queues and msg.subject in self.unwanted):
            return False
        recent = self._recent
        if msg.reply and not msg.way and recent is not None and recent.includes(msg.reply):
            msg = msg.coming_back(connection.context.way)
        prefix, tail, size = route_frame(self.name, msg, queues, b"", connection.headers)
        connection.send_message(prefix, tail, size)
        return True


_ASSUMED = (ANY_REST.encode(), b"")


def _leads_back(subscription: Subscription) -> bool:
    return subscription.subject.startswith(GATEWAY_REPLY)
