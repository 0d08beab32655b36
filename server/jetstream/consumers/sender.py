"""The sender: puts a message on the wire for a receiver and into the ledger, in one step.

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
from .num_pending import NumPending

if TYPE_CHECKING:
    from ...accounts.account import Account


class MessageSender:
    """Sends messages of one consumer. `delivered_at`: when the last one went (ns)."""

    __slots__ = (
        "_backlog",
        "_ledger",
        "_prefix",
        "delivered_at",
        "headers_only",
        "outlet",
    )

    def __init__(
        self, account: Account, stream: str, consumer: str, ledger: DeliveryState, backlog: NumPending
    ) -> None:
        self.outlet = FastSender(account)
        self._ledger = ledger
        self._backlog = backlog
        self._prefix = ack_prefix(stream, consumer)
        self.headers_only = False
        self.delivered_at = 0

    def ack_subject(self, message: StoredMessage, count: int) -> str:
        """Give the reply subject of the next delivery, if it is this one."""
        pending = self._backlog.count - (count == 1)
        return (
            f"{self._prefix}{count}.{message.seq}.{self._ledger.consumer_seq + 1}."
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
        """Deliver to the subject `to`; False if nobody took it: it is then for the feed to take back."""
        ledger = self._ledger
        before = (ledger.consumer_seq, ledger.stream_seq)
        seq = message.seq
        if count == 1:
            ledger.deliver(seq, now)
            self._backlog.count -= 1
        else:
            ledger.redeliver(seq, now)
        if self.outlet.send(to, message.subject, ack_subject, header, message.body):
            self.delivered_at = now
            return True
        ledger.undo(seq, count, before)
        if count == 1:
            self._backlog.count += 1
        return False
