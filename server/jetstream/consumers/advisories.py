"""A consumer's advisories and metrics. Like all advisories, they are made only when someone listens."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from ....protocol.timestamp import format_rfc3339
from .. import advisories

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ..host import JetStreamHost

METRIC = "$JS.EVENT.METRIC.CONSUMER.ACK"
METRIC_TYPE = "io.nats.jetstream.metric.v1.consumer_ack"
LIMITS_REASON = "Unacknowledged message was deleted"


class ConsumerAdvisories:
    """The advisories of one consumer, published in its stream's account."""

    __slots__ = ("_account", "_host", "_names", "_token")

    def __init__(self, account: Account, host: JetStreamHost, stream: str, consumer: str) -> None:
        self._account = account
        self._host = host
        self._token = f"{stream}.{consumer}"
        self._names: dict[str, Any] = {"stream": stream, "consumer": consumer}

    def _publish(self, what: str, kind: str, fields: dict[str, Any]) -> None:
        advisories.publish(self._account, self._host, f"CONSUMER.{what}.{self._token}", kind, fields)

    def created(self) -> None:
        """Publish that the consumer was created."""
        self._publish("CREATED", "consumer_action", {**self._names, "action": "create"})

    def deleted(self) -> None:
        """Publish that the consumer was deleted."""
        self._publish("DELETED", "consumer_action", {**self._names, "action": "delete"})

    def paused(self, paused: bool, until: int) -> None:
        """Publish a pause until the time `until` (ns), or its end."""
        fields = {**self._names, "paused": paused, "pause_until": format_rfc3339(until)}
        self._publish("PAUSE", "consumer_pause", fields)

    def max_deliveries(self, seq: int, deliveries: int) -> None:
        """Publish that a message will not be delivered again."""
        fields = {**self._names, "stream_seq": seq, "deliveries": deliveries}
        self._publish("MAX_DELIVERIES", "max_deliver", fields)

    def naked(self, number: int, seq: int, deliveries: int) -> None:
        """Publish a -NAK."""
        fields = {**self._names, "consumer_seq": number, "stream_seq": seq, "deliveries": deliveries}
        self._publish("MSG_NAKED", "nak", fields)

    def terminated(self, number: int, seq: int, deliveries: int, reason: str) -> None:
        """Publish that a message will not be delivered again, by a +TERM or because it left the stream."""
        fields = {**self._names, "consumer_seq": number, "stream_seq": seq, "deliveries": deliveries}
        if reason:
            fields["reason"] = reason
        self._publish("MSG_TERMINATED", "terminated", fields)

    def pinned(self, group: str, identifier: str) -> None:
        """Publish which client a group is pinned to."""
        fields = {"account": self._account.name, **self._names, "group": group, "pinned_id": identifier}
        self._publish("PINNED", "consumer_group_pinned", fields)

    def unpinned(self, group: str, reason: str) -> None:
        """Publish that a group is no longer pinned. reason: "timeout" or "admin"."""
        fields = {"account": self._account.name, **self._names, "group": group, "reason": reason}
        self._publish("UNPINNED", "consumer_group_unpinned", fields)

    def sample(self, number: int, seq: int, ack_time: int, deliveries: int) -> None:
        """Publish how long an ack took. ack_time: ns since the delivery."""
        target = f"{METRIC}.{self._token}"
        if not self._account.has_interest(target):
            return
        event = {
            "type": METRIC_TYPE,
            "id": self._host.new_id(),
            "timestamp": format_rfc3339(self._host.clock.now()),
            **self._names,
            "consumer_seq": number,
            "stream_seq": seq,
            "ack_time": ack_time,
            "deliveries": deliveries,
        }
        if self._host.domain:
            event["domain"] = self._host.domain
        self._account.publish(target, json.dumps(event, separators=(",", ":")).encode())


def chosen(percentage: int) -> bool:
    """Decide at random whether this ack is a sample."""
    return percentage >= 100 or (percentage > 0 and random.randrange(100) < percentage)
