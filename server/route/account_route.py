"""One account over one route: interest here is announced there, and the other way round.

Promises that the peer's picture is right after each change: the first plain subscription is announced and the
last one's end, and every change of a queue group's size. An account that is not here (yet) has its peer's
interest kept, and takes it when it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.subject import is_valid
from ...protocol.wire import encode
from ..accounts.leaving import Leaver
from ..accounts.source import ConnectionKind
from ..accounts.subscription import Subscription
from .frames import route_frame

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.account import InterestWatch
    from ..accounts.message import RoutedMessage
    from ..accounts.plan import OutboundQueue
    from ..accounts.subscription import InterestChange
    from .connection import RouteConnection

SERVICE_REPLY = "_R_."  # answers to what was asked through an import find their way back by these
Key = tuple[str, str, str]  # subject, queue, cluster of the leaf it comes from


class AccountRoute:
    """A LeafSink and a Source of the account. remote_cluster: of the leaf that a message is from."""

    kind = ConnectionKind.ROUTER
    is_spoke = False
    fast = True

    __slots__ = ("_counts", "_subscriptions", "_watch", "account", "connection", "name", "remote_cluster")

    def __init__(self, connection: RouteConnection, name: bytes) -> None:
        self.connection = connection
        self.name = name
        self.account: Account | None = None
        self.remote_cluster = ""
        self._subscriptions: dict[tuple[bytes, bytes, bytes], Subscription] = {}
        self._counts: dict[Key, int] = {}
        self._watch: InterestWatch | None = None

    # --- the interest of the peer

    def subscribe(self, raw_subject: bytes, raw_queue: bytes, weight: int, origin: bytes) -> None:
        """RS+ or LS+: new interest, or another weight of a queue group."""
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
        sink: Any = self  # a LeafSink: the router calls deliver_leaf
        subscription = Subscription(subject, sink, queue=queue, weight=weight, origin=cluster)
        self._subscriptions[key] = subscription
        if self.account is not None and self.connection.may_take(subject):
            self.account.add_subscription(subscription)

    def _origin(self, origin: bytes) -> bytes:
        """What of the origin tells interests apart: an older peer does not repeat it at the end."""
        return origin if self.connection.peer_lnocu else b""

    def unsubscribe(self, subject: bytes, queue: bytes, origin: bytes) -> None:
        """RS- or LS-; what is not known changes nothing."""
        subscription = self._subscriptions.pop((subject, queue, self._origin(origin)), None)
        if subscription is not None and subscription.account is not None:
            subscription.account.remove_subscription(subscription)

    def subscriptions(self) -> list[Subscription]:
        """The interest of the peer, in order of its coming; not what is not permitted."""
        return [each for each in self._subscriptions.values() if self.connection.may_take(each.subject)]

    # --- start and end

    def bind(self, account: Account) -> None:
        """The account is here: both ends exchange messages from now on."""
        if self.account is account:
            return
        self.unbind()
        self.account = account
        for subscription in self._subscriptions.values():
            if self.connection.may_take(subscription.subject):
                account.add_subscription(subscription)
        self._watch = account.watch_interest(self._changed)
        self.resync()

    def unbind(self) -> None:
        """The account is gone; the peer's interest is kept for another account of the name."""
        account = self.account
        if account is None:
            return
        for subscription in self._subscriptions.values():
            account.remove_subscription(subscription)
        for key in self._stop():
            self._tell(key, 0)

    def leave(self) -> list[Leaver]:
        """The route is gone: gives its interest, unless the account was not here."""
        account = self.account
        if account is None:
            return []
        gone, self._subscriptions = self._subscriptions, {}
        return [Leaver(account, self, gone, self._stop())]

    def _stop(self) -> dict[Key, int]:
        """Neither receive nor announce; gives what was announced."""
        self.account = None
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        told, self._counts = self._counts, {}
        return told

    def permit(self) -> None:
        """Permissions have changed: take of the peer's interest what is permitted now."""
        if self.account is None:
            return
        for subscription in self._subscriptions.values():
            taken = subscription.account is not None and not subscription.closed
            if taken != self.connection.may_take(subscription.subject):
                if taken:
                    self.account.remove_subscription(subscription)
                else:
                    self.account.add_subscription(subscription)

    # --- what the peer is sent of the interest here

    def repeat(self) -> None:
        """Announce all again, to a peer that takes other interest than before."""
        for key, count in self._counts.items():
            self._tell(key, count)

    def resync(self) -> None:
        """Announce what differs from what was announced."""
        if self.account is None:
            return
        wanted: dict[Key, int] = {}
        for subscription in self.account.subscriptions(self._watch):
            if self._concerns(subscription):
                key = self._key(subscription)
                wanted[key] = wanted.get(key, 0) + subscription.weight
        for key in [key for key in self._counts if key not in wanted]:
            self._tell(key, 0)
        for key, count in wanted.items():
            before = self._counts.get(key, 0)
            if not before or (key[1] and before != count):
                self._tell(key, count)
        self._counts = wanted

    def _changed(self, change: InterestChange) -> None:
        if not self._concerns(change.subscription):
            return
        key = self._key(change.subscription)
        before = self._counts.get(key, 0)
        count = before + change.delta
        if count > 0:
            self._counts[key] = count
        else:
            self._counts.pop(key, None)
        if key[1] or (before > 0) != (count > 0):
            self._tell(key, count)

    def _key(self, subscription: Subscription) -> Key:
        origin = subscription.origin if self.connection.peer_lnoc else ""
        return subscription.subject, subscription.queue, origin

    def _concerns(self, subscription: Subscription) -> bool:
        """Whether it is announced: not what peers announced, nor what each server imports or joins itself."""
        kind = subscription.kind
        if kind == ConnectionKind.ROUTER:
            return False
        if kind == ConnectionKind.IMPORT and not subscription.subject.startswith(SERVICE_REPLY):
            return False
        if kind == ConnectionKind.LEAF and getattr(subscription.sink, "is_spoke", False):
            return False
        return self.connection.may_ask(subscription.subject)

    def _tell(self, key: Key, count: int) -> None:
        subject, queue, origin = (part.encode("utf-8", "surrogateescape") for part in key)
        connection = self.connection
        if count > 0:
            connection.send_line(encode.route_sub(self.name, subject, queue, count, origin))
        else:
            lead = b"RS-" if not origin else b"LS- " + origin if connection.peer_lnocu else b"LS-"
            connection.send_line(encode.route_unsub(self.name, subject, queue, lead))
        connection.routes.flusher.schedule()

    # --- messages

    def may_send(self, subject: str) -> bool:
        """See LeafSink."""
        return self.connection.may_send(subject)

    def quick(self, subject: bytes) -> tuple[OutboundQueue, bytes, bytes]:
        """See LeafSink."""
        rest = b"%b %b " % (self.name, subject)
        return self.connection, b"RMSG " + rest, b"HMSG " + rest

    def deliver_leaf(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """See LeafSink."""
        connection = self.connection
        if connection.closed_reason:
            return False
        origin = b""
        source: Any = msg.source
        if source.kind == ConnectionKind.LEAF and connection.peer_lnoc:
            origin = source.remote_cluster.encode("utf-8", "surrogateescape")
        prefix, tail, size = route_frame(self.name, msg, queues, origin, connection.headers)
        connection.send_message(prefix, tail, size)
        return True

    @property
    def peer(self) -> str:
        """The id of the server at the other end."""
        return self.connection.who().get("name", "")

    def client_info(self, *, share: bool = True) -> dict[str, Any]:
        """See Source."""
        return self.connection.client_info(share=share)
