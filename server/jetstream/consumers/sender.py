"""MessageSender: sends a message to a receiver and records it in the delivery state, in one step.

Promises: what nobody took is taken back and leaves no trace but its place as the next message. The hot
path of consumers: no objects per message beyond the pending entry, the ack subject by one format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import headers
from ....store.message import StoredMessage
from .acks import ack_prefix
from .delivery_state import DeliveryState
from .fast_sender import FastSender
from .message_selector import NumPending

if TYPE_CHECKING:
    from ...accounts.account import Account


class MessageSender:
    """Sends messages of one consumer. `delivered_at`: when the last one went (ns)."""

    __slots__ = (
        "_delivery_state",
        "_num_pending",
        "_prefix",
        "delivered_at",
        "fast_sender",
        "headers_only",
    )

    def __init__(
        self,
        account: Account,
        stream: str,
        consumer: str,
        delivery_state: DeliveryState,
        num_pending: NumPending,
    ) -> None:
        self.fast_sender = FastSender(account)
        self._delivery_state = delivery_state
        self._num_pending = num_pending
        self._prefix = ack_prefix(stream, consumer)
        self.headers_only = False
        self.delivered_at = 0

    def ack_subject(self, message: StoredMessage, count: int) -> str:
        """Give the reply subject of the next delivery, if it is this one."""
        pending = self._num_pending.count - (count == 1)
        return (
            f"{self._prefix}{count}.{message.seq}.{self._delivery_state.consumer_seq + 1}."
            f"{message.time}.{max(pending, 0)}"
        )

    @staticmethod
    def size(message: StoredMessage, ack_subject: str) -> int:
        """What a delivery counts in the byte limits of requests and windows."""
        subject = message.subject
        octets = len(subject) if subject.isascii() else len(subject.encode("utf-8", "surrogateescape"))
        return octets + len(ack_subject) + len(message.header) + len(message.body)

    def trim(self, message: StoredMessage) -> StoredMessage:
        """Give the message without its body, its size in a header (headers_only consumers)."""
        size = str(len(message.body)).encode()
        return message._replace(header=headers.set(message.header, b"Nats-Msg-Size", size), body=b"")

    def send(
        self, message: StoredMessage, count: int, to: str, ack_subject: str, header: bytes, now: int
    ) -> bool:
        """Deliver to the subject `to`; False if nobody took it: the selector then takes it back."""
        delivery_state = self._delivery_state
        before = (delivery_state.consumer_seq, delivery_state.stream_seq)
        seq = message.seq
        if count == 1:
            delivery_state.deliver(seq, now)
            self._num_pending.count -= 1
        else:
            delivery_state.redeliver(seq, now)
        if self.fast_sender.send(to, message.subject, ack_subject, header, message.body):
            self.delivered_at = now
            return True
        delivery_state.undo(seq, count, before)
        if count == 1:
            self._num_pending.count += 1
        return False
