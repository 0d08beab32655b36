"""DeliveryParts: what the parts of one consumer that deliver and take acks have in common.

Data only: `Consumer` makes it, and then makes `AckHandler`, `PullDelivery` and `PushDelivery` with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ...accounts.account import Account
    from ..host import JetStreamHost
    from .advisories import ConsumerAdvisories
    from .delivery_state import DeliveryState
    from .message_selector import MessageSelector, NumPending
    from .persistence import ConsumerPersistence
    from .sender import MessageSender


class ConsumedStream(Protocol):
    """The stream, as what delivers its messages sees it.

    config: changes with updates.
    committed_seq: the last sequence that may be delivered; all up to it is durable.
    """

    name: str
    config: StreamConfig
    committed_seq: int


@dataclass(frozen=True, slots=True)
class DeliveryParts:
    """What the parts of one consumer share.

    host: the clock, the turns in which deliveries go on, random ids, the log.
    account: where the consumer subscribes and publishes.
    stream: what it reads.
    remove_acked, remove_all_acked: tell the stream that the consumer is done with messages, if it `releases`.
    name: of the consumer.
    label: the consumer in log lines.
    delivery_state: what was delivered, and what waits for an ack.
    selector: which message comes next.
    num_pending: how many messages were not delivered yet.
    sender: sends a message and records that.
    advisories: what is published about the consumer.
    persistence: keeps the delivery state.
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
    advisories: ConsumerAdvisories
    persistence: ConsumerPersistence

    @property
    def releases(self) -> bool:
        """Whether the stream must be told of acks; that may change with its configuration."""
        return self.stream.config.retention != "limits"
