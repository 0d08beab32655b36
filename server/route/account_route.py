"""AccountRoute: one account over one route, whose two ends advertise their interest to each other.

While the account does not exist here, the peer's interest is kept. The account gets it when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.subject import is_valid
from ...protocol.tracing import SUPPORTED
from ..accounts.leaving import LeavingConnection
from ..accounts.plan import is_request
from ..accounts.server_trace import ROUTER, TracePoint
from ..accounts.subscription import ConnectionKind, MessageEndpoint, Subscription
from ..slices import Slices, Steps, paced
from .frames import route_frame
from .interest_advertiser import RouteAdvertiser

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.subscription import RoutedMessage
    from .peer import RoutePeer


class AccountRoute(MessageEndpoint):
    """One account over one route.

    remote_cluster: the cluster of the leaf that the current message came from.
    advertises: whether the peer is told of the interest here. Its own interest is taken on any connection.
    """

    kind = ConnectionKind.ROUTER
    fast = True

    __slots__ = (
        "_named",
        "_subscriptions",
        "_taking",
        "_turns",
        "account",
        "advertiser",
        "advertises",
        "connection",
        "name",
        "outbound",
        "remote_cluster",
    )

    def __init__(self, connection: RoutePeer, name: bytes) -> None:
        self.connection = connection
        self.outbound = connection
        self.name = name
        self.account: Account | None = None
        self.remote_cluster = ""
        self._subscriptions: dict[tuple[bytes, bytes, bytes], Subscription] = {}
        self._taking: Slices | None = None
        self._turns = connection.context.turns
        self._named = b"" if connection.parser.pinned else name  # in frames
        self.advertiser = RouteAdvertiser(connection, self._named, self._turns)
        self.advertises = False

    def __repr__(self) -> str:
        return repr(self.connection)

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
        if self.account is not None and self.connection.may_take(subject):
            self.account.add_subscription(subscription)

    def _origin(self, origin: bytes) -> bytes:
        """Return the part of the origin that distinguishes interests.

        An older peer does not repeat the origin when the interest ends, so it distinguishes nothing.
        """
        return origin if self.connection.peer_lnocu else b""

    def unsubscribe(self, subject: bytes, queue: bytes, origin: bytes) -> None:
        """Serve RS- or LS-. Unknown interest changes nothing."""
        subscription = self._subscriptions.pop((subject, queue, self._origin(origin)), None)
        if subscription is not None and subscription.account is not None:
            subscription.account.remove_subscription(subscription)

    def forget_interest(self) -> None:
        """Drop the peer's interest, which it tells again on another connection."""
        gone, self._subscriptions = self._subscriptions, {}
        for subscription in gone.values():
            if subscription.account is not None:
                subscription.account.remove_subscription(subscription)

    def subscriptions(self) -> list[Subscription]:
        """Return the permitted interest of the peer, in the order in which it came."""
        return [each for each in self._subscriptions.values() if self.connection.may_take(each.subject)]

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
        account, self.account = self.account, None
        if self._taking is not None:
            self._taking.stop()
        gone, self._subscriptions = self._subscriptions, {}
        return LeavingConnection(account, self, gone, self.advertiser.stop)

    def permit(self) -> None:
        """Take that part of the peer's interest that is permitted now, and no other, in slices.

        Called when the permissions have changed, or the account was made or has ended.
        """
        if self._subscriptions:
            self._turns.now(self._take)

    def _take(self) -> None:
        if self._taking is not None:
            self._taking.stop()
        self._taking = Slices(self._turns, paced(self._takes()), lambda _: None)

    def _takes(self) -> Steps[None]:
        for key, subscription in list(self._subscriptions.items()):
            present = None if subscription.closed else subscription.account
            wanted = self.account if self.connection.may_take(subscription.subject) else None
            if present is not wanted:
                if present is not None:
                    present.remove_subscription(subscription)
                if wanted is not None and self._subscriptions.get(key) is subscription:
                    wanted.add_subscription(subscription)
            yield

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

    @property
    def server_id(self) -> str:
        """See MessageEndpoint."""
        return self.connection.who().get("name", "")

    def trace_point(self) -> TracePoint:
        """See MessageEndpoint."""
        connection, info = self.connection, self.connection.info
        name, protocol = ("", 0) if info is None else (info.server_name or info.server_id, info.proto)
        return TracePoint(ROUTER, connection.id, name, connection.headers and protocol >= SUPPORTED)

    def client_info(self, *, share: bool = True) -> dict[str, object]:
        """See MessageEndpoint."""
        return self.connection.client_info(share=share)
