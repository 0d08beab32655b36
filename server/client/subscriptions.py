"""A client's subscriptions: SUB and UNSUB with their refusals and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.quoting import quoted
from ...protocol.subject import is_valid
from ...protocol.wire import encode
from ..accounts.leaving import Leaver, leave
from ..accounts.subscription import Subscription
from ..connection.part import Part

if TYPE_CHECKING:
    from .peer import ClientPeer

# The group in which servers of a cluster share system requests; not for clients.
_SYSTEM_GROUP = "sys"


class Subscriptions(Part["ClientPeer"]):
    """By sid. `len()` is how many there are."""

    __slots__ = ("_by_sid",)

    def __init__(self, connection: ClientPeer) -> None:
        super().__init__(connection)
        self._by_sid: dict[bytes, Subscription] = {}

    def __len__(self) -> int:
        return len(self._by_sid)

    def all(self) -> list[Subscription]:
        """A list of them, in order of their making."""
        return list(self._by_sid.values())

    @property
    def limit(self) -> int:
        """The most there may be; -1: any number."""
        connection = self._connection
        limits = [connection.context.options.max_subscriptions or -1]
        if connection.account is not None:
            limits.append(connection.account.limits.subscriptions)
        if connection.user is not None:
            limits.append(connection.user.subscriptions)
        return min((limit for limit in limits if limit >= 0), default=-1)

    def subscribe(self, raw_subject: bytes, raw_queue: bytes, sid: bytes) -> None:
        """SUB. The same sid again is accepted and changes nothing."""
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
        """Why the subscription may not be; "" when it may."""
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
        """UNSUB; with `most`, only after so many messages in all."""
        connection = self._connection
        subscription = self._by_sid.get(sid)
        if subscription is not None:
            # Shadows count for themselves while they take the quick way; from now on all is counted here.
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
        """Receive nothing more through one subscription."""
        self._by_sid.pop(subscription.sid, None)
        if subscription.account is not None:
            subscription.account.remove_subscription(subscription)

    def clear(self) -> None:
        """Drop all."""
        for subscription in self.all():
            self.drop(subscription)

    def leave(self) -> None:
        """Drop all of a closed connection, see `accounts.leaving`."""
        connection = self._connection
        subscriptions, self._by_sid = self._by_sid, {}
        if subscriptions and connection.account is not None:
            leave(connection.clock, [Leaver(connection.account, connection, subscriptions, {})])

    def changed(self) -> None:
        """What the connection takes has changed: plans that hold its subscriptions are stale."""
        for subscription in self._by_sid.values():
            if subscription.account is not None:
                subscription.account.subscription_changed(subscription)

    def matching(self, subject: str) -> Subscription | None:
        """One that matches the literal `subject`."""
        account = self._connection.account
        if account is None:
            return None
        plan = account.plan(subject.encode("utf-8", "surrogateescape"))
        matched = [*plan.plain, *(member for group in plan.groups for member in group.members)]
        return next((s for s in matched if s.sink is self._connection and s.sid in self._by_sid), None)

    def move(self) -> None:
        """The connection's account is another one now: the subscriptions go with it."""
        account = self._connection.account
        for subscription in self.all():
            if subscription.account is not None:
                subscription.account.remove_subscription(subscription)
            if account is not None:
                account.add_subscription(subscription)

    def recheck(self) -> None:
        """Permissions are others: drop what is no longer allowed, and tell."""
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
        """Limits are others: close with too many."""
        connection = self._connection
        if 0 <= self.limit < len(self._by_sid):
            connection.fail("maximum subscriptions exceeded", "Maximum Subscriptions Exceeded")
