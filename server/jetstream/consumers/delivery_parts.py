"""DeliveryParts: what the parts of one consumer that deliver messages and take acks share.

It has data only. `Consumer` makes it, and passes it to `AckHandler` and to `PullDelivery` or `PushDelivery`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ....protocol.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ...accounts.account import Account
    from ..host import JetStreamHost
    from .ackwaits import AckWaits
    from .advisories import ConsumerAdvisories
    from .dead_letters import DeadLetters
    from .delivery_state import DeliveryState
    from .message_selector import MessageSelector, NumPending
    from .persistence import ConsumerPersistence
    from .sender import MessageSender


class ConsumedStream(Protocol):
    """The stream, as the parts that deliver its messages see it.

    config: the current configuration, which changes with updates.
    committed_seq: the last sequence that may be delivered; all messages up to it are durable.
    """

    name: str
    config: StreamConfig
    committed_seq: int


@dataclass(frozen=True, slots=True)
class DeliveryParts:
    """What the parts of one consumer share.

    host: the clock, the turns in which deliveries go on, random ids and the log.
    account: where the consumer subscribes and publishes.
    stream: the stream that it reads.
    remove_acked: tells the stream that the consumer is done with a message; needed if it `releases`.
    remove_all_acked: the same for many messages.
    name: the name of the consumer.
    label: the consumer in log lines.
    delivery_state: what was delivered, and what waits for an ack.
    selector: finds the next message.
    num_pending: counts the messages that are not delivered yet.
    sender: sends a message and records the delivery.
    ack_waits: handles late acks, and takes note of each run of deliveries.
    advisories: publishes the consumer's advisories.
    dead_letters: stores messages before they are given up.
    persistence: saves the delivery state.
    """

    host: JetStreamHost
    account: Account
    stream: ConsumedStream
    remove_acked: Callable[[int], None]
    remove_all_acked: Callable[[list[int]], None]
    name: str
    label: str
    delivery_state: DeliveryState
    selector: MessageSelector
    num_pending: NumPending
    sender: MessageSender
    ack_waits: AckWaits
    advisories: ConsumerAdvisories
    dead_letters: DeadLetters
    persistence: ConsumerPersistence

    @property
    def releases(self) -> bool:
        """Whether acks let the stream remove messages; it may change with the stream's configuration."""
        return self.stream.config.retention != "limits"
