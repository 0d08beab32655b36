"""LeafSubscriptions: the interest of the peer of a leaf connection, which it sends as LS+ and LS-."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.subject import is_literal, is_valid
from ...protocol.wire import encode
from ..accounts.subscription import Subscription
from ..connection.connection_part import ConnectionPart
from .interest_advertiser import LOOP_PREFIX

if TYPE_CHECKING:
    from .peer import LeafPeer


class LeafSubscriptions(ConnectionPart["LeafPeer"]):
    """The peer's subscriptions, by subject and queue. `len()` is how many there are."""

    __slots__ = ("_subscriptions",)

    def __init__(self, connection: LeafPeer) -> None:
        super().__init__(connection)
        self._subscriptions: dict[tuple[bytes, bytes], Subscription] = {}

    def __len__(self) -> int:
        return len(self._subscriptions)

    def all(self) -> list[Subscription]:
        """Return a list of them, in the order in which they were made."""
        return list(self._subscriptions.values())

    def subscribe(self, raw_subject: bytes, raw_queue: bytes, weight: int) -> None:
        """Serve LS+: new interest, or another weight of a queue group."""
        connection = self._connection
        account = connection.account
        assert account is not None
        known = self._subscriptions.get((raw_subject, raw_queue))
        if known is not None:
            if raw_queue:
                account.set_weight(known, weight)
            return
        subject = raw_subject.decode("utf-8", "surrogateescape")
        if subject.startswith(LOOP_PREFIX):
            if subject == connection.context.loop_subject(account):
                connection.loop_found()
                return
            if not connection.interest_known:
                # It comes with the peer's first interest, and usually as the last of it.
                connection.context.interest_known(connection)
        elif is_literal(subject) and not connection.leaf_permissions.may_send(subject):
            connection.violation("Subscription", subject)
            return
        if not is_valid(subject):
            connection.context.log.error(f"{connection} - Could not insert subscription {subject!r}")
            connection.send_line(encode.err("Invalid Subscription"))
            return
        limit = connection.context.options.max_subscriptions
        if 0 < limit <= len(self._subscriptions):
            connection.context.log.error(f"{connection} - maximum subscriptions exceeded")
            connection.send_line(encode.err("maximum subscriptions exceeded"))
            return
        subscription = Subscription(
            subject,
            connection,
            queue=raw_queue.decode("utf-8", "surrogateescape"),
            weight=weight,
            origin=connection.remote_cluster,
        )
        self._subscriptions[raw_subject, raw_queue] = subscription
        account.add_subscription(subscription)

    def unsubscribe(self, subject: bytes, queue: bytes) -> None:
        """Serve LS-. Unknown interest changes nothing."""
        subscription = self._subscriptions.pop((subject, queue), None)
        if subscription is not None and subscription.account is not None:
            subscription.account.remove_subscription(subscription)

    def take(self) -> dict[tuple[bytes, bytes], Subscription]:
        """Remove and return all subscriptions, because the connection is closed."""
        subscriptions, self._subscriptions = self._subscriptions, {}
        return subscriptions
