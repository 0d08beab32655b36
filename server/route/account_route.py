"""AccountRoute: one account over one route, whose two ends advertise their interest to each other.

While the account does not exist here, the peer's interest is kept. The account gets it when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.subject import is_valid
from ..accounts.leaving import LeavingConnection
from ..accounts.plan import is_request
from ..accounts.server_trace import ROUTER
from ..accounts.subscription import ConnectionKind, Subscription
from ..connection.account_link import AccountLink
from .frames import route_frame
from .interest_advertiser import RouteAdvertiser

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.subscription import RoutedMessage
    from .peer import RoutePeer


class AccountRoute(AccountLink):
    """One account over one route.

    remote_cluster: the cluster of the leaf that the current message came from.
    advertises: whether the peer is told of the interest here. Its own interest is taken on any connection.
    """

    kind = ConnectionKind.ROUTER
    traced_as = ROUTER
    fast = True
    connection: RoutePeer

    __slots__ = ("_named", "advertiser", "advertises", "remote_cluster")

    def __init__(self, connection: RoutePeer, name: bytes) -> None:
        super().__init__(connection, name)
        self.remote_cluster = ""
        self._named = b"" if connection.parser.pinned else name  # in frames
        self.advertiser = RouteAdvertiser(connection, self._named, self._turns)
        self.advertises = False

    # --- the interest of the peer

    def subscribe(self, raw_subject: bytes, raw_queue: bytes, weight: int, origin: bytes) -> None:
        """Serve RS+ or LS+: new interest, or another weight of a queue group."""
        key = (raw_subject, raw_queue, self._origin(origin))
        known = self._subscriptions.get(key)
        if known is not None:
            if raw_queue and known.account is not None and not known.closed:
                known.account.set_weight(known, weight)
            known.weight = weight
            return
        subject = raw_subject.decode("utf-8", "surrogateescape")
        if not is_valid(subject):
            return
        queue = raw_queue.decode("utf-8", "surrogateescape")
        cluster = origin.decode("utf-8", "surrogateescape")
        subscription = Subscription(subject, self, queue=queue, weight=weight, origin=cluster)
        self._subscriptions[key] = subscription
        if self.account is not None and self.may_take(subject):
            self.account.add_subscription(subscription)

    def _origin(self, origin: bytes) -> bytes:
        """Return the part of the origin that distinguishes interests.

        An older peer does not repeat the origin when the interest ends, so it distinguishes nothing.
        """
        return origin if self.connection.peer_lnocu else b""

    def unsubscribe(self, subject: bytes, queue: bytes, origin: bytes) -> None:
        """Serve RS- or LS-. Unknown interest changes nothing."""
        self._remove((subject, queue, self._origin(origin)))

    def forget_interest(self) -> None:
        """Drop the peer's interest, which it tells again on another connection."""
        for key in list(self._subscriptions):
            self._remove(key)

    def subscriptions(self) -> list[Subscription]:
        """Return the permitted interest of the peer, in the order in which it came."""
        return [each for each in self._subscriptions.values() if self.may_take(each.subject)]

    def may_take(self, subject: str) -> bool:
        """See AccountLink."""
        return self.connection.may_take(subject)

    @property
    def unused(self) -> bool:
        """Whether there is nothing to keep: neither the account's interest, nor the peer's in it."""
        return not (self.advertises or self._subscriptions)

    # --- start and end

    def bind(self, account: Account) -> None:
        """Exchange messages from now on: the account exists here."""
        if self.account is account:
            return
        self.unbind()
        self.account = account
        self.permit()
        self.review()

    def review(self) -> None:
        """Begin or end to tell the peer of the account's interest, because it uses another connection now."""
        account = self.account
        wanted = account is not None and self.connection.serves(self.name)
        if account is not None and wanted and not self.advertises:
            self.advertiser.start(account)
        elif self.advertises and not wanted:
            self.advertiser.withdraw()
        self.advertises = wanted

    def unbind(self) -> None:
        """Stop, because the account is gone. The peer's interest is kept for another account of that name."""
        if self.account is not None:
            self.account = None
            self.permit()
            self.review()

    def leave(self) -> LeavingConnection:
        """Stop, because the route is gone. Return what has to be removed."""
        account, gone = self._end()
        return LeavingConnection(account, self, gone, self.advertiser.stop)

    # --- messages

    def may_send(self, subject: str) -> bool:
        """See MessageEndpoint."""
        return self.connection.may_send(subject)

    def prefixes(self, subject: bytes) -> tuple[bytes, bytes]:
        """See MessageEndpoint."""
        rest = b"%b %b " % (self._named, subject) if self._named else b"%b " % subject
        return b"RMSG " + rest, b"HMSG " + rest

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """See MessageEndpoint."""
        connection = self.connection
        if connection.closed_reason:
            return False
        origin = b""
        source = msg.source
        if connection.peer_lnoc and (
            source.kind is ConnectionKind.LEAF
            or (source.kind is ConnectionKind.GATEWAY and is_request(msg.subject))
        ):
            origin = source.remote_cluster.encode("utf-8", "surrogateescape")
        prefix, tail, size = route_frame(self._named, msg, queues, origin, connection.headers)
        connection.send_message(prefix, tail, size)
        return True
