"""A client's subscriptions: SUB and UNSUB, and why they are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.quoting import quoted
from ...protocol.subject import is_valid
from ...protocol.wire import encode
from ..accounts.leaving import LeavingConnection, leave
from ..accounts.subscription import Subscription
from ..connection.connection_part import ConnectionPart

if TYPE_CHECKING:
    from .peer import ClientPeer

# The queue group in which the servers of a cluster share system requests; clients may not join it.
_SYSTEM_GROUP = "sys"


class Subscriptions(ConnectionPart["ClientPeer"]):
    """The subscriptions of one client, by sid. `len()` is how many there are."""

    __slots__ = ("_by_sid",)

    def __init__(self, connection: ClientPeer) -> None:
        super().__init__(connection)
        self._by_sid: dict[bytes, Subscription] = {}

    def __len__(self) -> int:
        return len(self._by_sid)

    def all(self) -> list[Subscription]:
        """Return a list of them, in the order in which they were made."""
        return list(self._by_sid.values())

    @property
    def limit(self) -> int:
        """The smallest limit that applies to the client; -1 means no limit."""
        connection = self._connection
        limits = [connection.context.options.max_subscriptions or -1]
        if connection.account is not None:
            limits.append(connection.account.limits.subscriptions)
        if connection.user is not None:
            limits.append(connection.user.subscriptions)
        return min((limit for limit in limits if limit >= 0), default=-1)

    def subscribe(self, raw_subject: bytes, raw_queue: bytes, sid: bytes) -> None:
        """Serve SUB. A sid that is already in use is accepted and changes nothing."""
        connection = self._connection
        account = connection.account
        assert account is not None
        subject = raw_subject.decode("utf-8", "surrogateescape")
        queue = raw_queue.decode("utf-8", "surrogateescape")
        refusal = self._refusal(subject, queue)
        if refusal:
            connection.violation(refusal)
            return
        limit = self.limit
        if 0 <= limit <= len(self._by_sid):
            connection.violation("maximum subscriptions exceeded")
            return
        if sid not in self._by_sid:
            if not is_valid(subject):
                connection.send_line(encode.err("Invalid Subject"))
                return
            subscription = Subscription(subject, connection, queue=queue, sid=sid)
            self._by_sid[sid] = subscription
            self._filter(subject, queue)
            account.add_subscription(subscription)
        if connection.options.verbose:
            connection.send_line(encode.OK)

    def _refusal(self, subject: str, queue: str) -> str:
        """Return why the subscription is not allowed, "" if it is."""
        connection = self._connection
        permissions = connection.client_permissions.permissions
        violation = f"Permissions Violation for Subscription to {quoted(subject)}"
        if queue:
            violation += f" using queue {quoted(queue)}"
        if queue == _SYSTEM_GROUP or (
            permissions is not None and not permissions.may_subscribe(subject, queue)
        ):
            return violation
        most = connection.context.options.max_sub_tokens
        if most and subject.count(".") >= most:
            return f"Permissions Violation for Subscription to {quoted(subject)}, too many tokens"
        return ""

    def _filter(self, subject: str, queue: str) -> None:
        connection = self._connection
        client_permissions = connection.client_permissions
        before = client_permissions.filters
        client_permissions.watch_denied(subject, queue)
        if client_permissions.filters != before:
            connection.refresh()

    def unsubscribe(self, sid: bytes, most: int) -> None:
        """Serve UNSUB. With `most`, the subscription ends after that many messages in all."""
        connection = self._connection
        subscription = self._by_sid.get(sid)
        if subscription is not None:
            # Shadows count their own messages while there is no maximum; from now on all are counted here.
            for shadow in subscription.shadows or ():
                subscription.delivered += shadow.delivered
                shadow.delivered = 0
            if most > subscription.delivered:
                subscription.max = most
                if subscription.account is not None:
                    subscription.account.subscription_changed(subscription)
            else:
                self.drop(subscription)
        if connection.options.verbose:
            connection.send_line(encode.OK)

    def drop(self, subscription: Subscription) -> None:
        """End one subscription."""
        self._by_sid.pop(subscription.sid, None)
        if subscription.account is not None:
            subscription.account.remove_subscription(subscription)

    def clear(self) -> None:
        """End all subscriptions."""
        for subscription in self.all():
            self.drop(subscription)

    def leave(self) -> None:
        """End all subscriptions of a closed connection; see `accounts.leaving`."""
        connection = self._connection
        subscriptions, self._by_sid = self._by_sid, {}
        if subscriptions and connection.account is not None:
            leave(connection.clock, [LeavingConnection(connection.account, connection, subscriptions)])

    def changed(self) -> None:
        """Drop the plans that hold these subscriptions: the connection takes other messages now."""
        for subscription in self._by_sid.values():
            if subscription.account is not None:
                subscription.account.subscription_changed(subscription)

    def matching(self, subject: str) -> Subscription | None:
        """Return a subscription without a queue that matches the literal `subject`, None if there is none."""
        account = self._connection.account
        if account is None:
            return None
        plain = account.plan(subject.encode("utf-8", "surrogateescape")).plain
        return next((s for s in plain if s.sink is self._connection and s.sid in self._by_sid), None)

    def move(self) -> None:
        """Move all subscriptions to the connection's account, which has changed."""
        account = self._connection.account
        for subscription in self.all():
            if subscription.account is not None:
                subscription.account.remove_subscription(subscription)
            if account is not None:
                account.add_subscription(subscription)

    def recheck(self) -> None:
        """End the subscriptions that new permissions no longer allow, and tell the client."""
        connection = self._connection
        permissions = connection.client_permissions.permissions
        for subscription in self.all():
            if permissions is not None and not permissions.may_subscribe(
                subscription.subject, subscription.queue
            ):
                self.drop(subscription)
                subject = quoted(subscription.subject)
                queue = f" using queue {quoted(subscription.queue)}" if subscription.queue else ""
                sid = subscription.sid.decode("utf-8", "surrogateescape")
                connection.violation(
                    f"Permissions Violation for Subscription to {subject}{queue} (sid {quoted(sid)})"
                )
            else:
                connection.client_permissions.watch_denied(subscription.subject, subscription.queue)
        self.recheck_limit()

    def recheck_limit(self) -> None:
        """Close the connection if it has more subscriptions than the new limits allow."""
        connection = self._connection
        if 0 <= self.limit < len(self._by_sid):
            connection.fail("maximum subscriptions exceeded", "Maximum Subscriptions Exceeded")
