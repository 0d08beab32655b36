"""FilterSubscriptions: the subscriptions behind the filters of one MQTT client.

A filter has a subscription of its subject and, with QoS 1 or 2, one of the subject that its consumer delivers
to.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from ...protocol.subject import is_valid
from ..accounts.subscription import Subscription
from ..client.subscriptions import Subscriptions
from .topics import is_reserved

if TYPE_CHECKING:
    from ..accounts.subscription import MessageEndpoint


class Role(enum.Enum):
    """What a subscription brings."""

    LIVE = enum.auto()  # messages as they are published
    STORED = enum.auto()  # messages that a consumer delivers
    PUBREL = enum.auto()  # PUBRELs that a consumer delivers


class FilterSubscription(Subscription):
    """One subscription. Its sid is the filter's subject, or the subject that a consumer delivers to.

    qos: what was granted.
    consumer: the consumer that delivers to it, "" if it is LIVE.
    reserved: the filter begins with a wildcard, and takes no topic that begins with `$`.
    """

    __slots__ = ("consumer", "qos", "reserved", "role")

    def __init__(
        self, subject: str, sink: MessageEndpoint, role: Role, name: str, qos: int, consumer: str = ""
    ) -> None:
        super().__init__(subject, sink, sid=name.encode())
        self.role = role
        self.qos = qos
        self.consumer = consumer
        self.reserved = is_reserved(subject)


class FilterSubscriptions(Subscriptions):
    """The subscriptions of one client, by sid."""

    __slots__ = ()

    def get(self, name: str) -> FilterSubscription | None:
        """Return a subscription by its name."""
        found = self._by_sid.get(name.encode())
        return found if isinstance(found, FilterSubscription) else None

    def add(self, subscription: FilterSubscription) -> str:
        """Add a subscription. Return why that is refused, "" if it is not."""
        connection = self._connection
        account = connection.account
        assert account is not None
        subject = subscription.subject
        if not is_valid(subject):
            return f'invalid subject "{subject}"'
        if subscription.role is Role.LIVE and (why := self._refusal(subject, "")):
            return why
        if 0 <= self.limit <= len(self._by_sid):
            return "maximum subscriptions exceeded"
        self._by_sid[subscription.sid] = subscription
        if subscription.role is Role.LIVE:
            self._filter(subject, "")
        account.add_subscription(subscription)
        return ""

    def end(self, name: str) -> None:
        """End a subscription, if there is one of this name."""
        found = self._by_sid.get(name.encode())
        if found is not None:
            self.drop(found)

    def recheck(self) -> None:
        """End those that new permissions no longer allow. MQTT 3.1.1 has no word to tell the client."""
        connection = self._connection
        permissions = connection.client_permissions.permissions
        for subscription in self.all():
            live = isinstance(subscription, FilterSubscription) and subscription.role is Role.LIVE
            if not live or permissions is None:
                continue
            if permissions.may_subscribe(subscription.subject, ""):
                connection.client_permissions.watch_denied(subscription.subject, "")
            else:
                self.drop(subscription)
                connection.violation(f'Permissions Violation for Subscription to "{subscription.subject}"')
        self.recheck_limit()
