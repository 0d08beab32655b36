"""MessageSender: sends a message to a receiver and records it in the delivery state, in one step.

This is the hot path of consumers: a message costs no objects but its pending entry, and its ack subject is
made by one format.

Promises: a delivery that nobody took is undone, and the message is the next one again. `FastSender` sends
what `Account.publish` would send, and in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import headers
from ....store.message import StoredMessage

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.plan import Target
    from .ackwaits import AckWaits
    from .delivery_state import DeliveryState
    from .message_selector import NumPending
    from .persistence import ConsumerPersistence

_MOST_PREFIXES = 256


class MessageSender:
    """Sends messages of one consumer.

    client: see `FastSender.client`.
    delivered_at: when the last message was sent, in ns; 0 for never.
    headers_only: whether the consumer gets messages without their bodies.
    """

    __slots__ = (
        "_ack_waits",
        "_delivery_state",
        "_fast_sender",
        "_flusher",
        "_num_pending",
        "_persistence",
        "_prefix",
        "client",
        "delivered_at",
        "headers_only",
    )

    def __init__(
        self,
        fast_sender: FastSender,
        prefix: str,
        delivery_state: DeliveryState,
        num_pending: NumPending,
        ack_waits: AckWaits,
        persistence: ConsumerPersistence,
    ) -> None:
        self._fast_sender = fast_sender
        self._flusher = fast_sender.flusher
        self.client = fast_sender.client
        self._prefix = prefix
        self._delivery_state = delivery_state
        self._num_pending = num_pending
        self._ack_waits = ack_waits
        self._persistence = persistence
        self.headers_only = False
        self.delivered_at = 0

    def ack_subject(self, message: StoredMessage, count: int) -> str:
        """Return the reply subject of this message, if it is delivered next, for the time `count`."""
        pending = self._num_pending.count - (count == 1)
        return (
            f"{self._prefix}{count}.{message.seq}.{self._delivery_state.consumer_seq + 1}."
            f"{message.time}.{max(pending, 0)}"
        )

    @staticmethod
    def size(message: StoredMessage, ack_subject: str) -> int:
        """Return what a delivery counts in the byte limits of requests and windows, in bytes."""
        subject = message.subject
        octets = len(subject) if subject.isascii() else len(subject.encode("utf-8", "surrogateescape"))
        return octets + len(ack_subject) + len(message.header) + len(message.body)

    def trim(self, message: StoredMessage) -> StoredMessage:
        """Return the message without its body, whose size is then in a header (headers_only consumers)."""
        size = str(len(message.body)).encode()
        return message._replace(header=headers.set(message.header, b"Nats-Msg-Size", size), body=b"")

    def send(
        self, message: StoredMessage, count: int, to: str, ack_subject: str, header: bytes, now: int
    ) -> bool:
        """Deliver a message to the subject `to`, for the time `count`. Return False if nobody took it.

        The caller then gives it back to the selector. header: its header, perhaps with additions. now: ns.
        """
        delivery_state = self._delivery_state
        before = (delivery_state.consumer_seq, delivery_state.stream_seq)
        seq = message.seq
        if count == 1:
            delivery_state.deliver(seq, now)
            self._num_pending.count -= 1
        else:
            delivery_state.redeliver(seq, now)
        if self._fast_sender.send(to, message.subject, ack_subject, header, message.body):
            self.delivered_at = now
            return True
        delivery_state.undo(seq, count, before)
        if count == 1:
            self._num_pending.count += 1
        return False

    def done(self) -> None:
        """End a run of deliveries: have it written, wait for its acks, and save the delivery state."""
        self._flusher.schedule()
        self._ack_waits.delivered()
        self._persistence.changed()


class FastSender:
    """Sends to the only client that subscribes to a subject, which is mostly the same subject as before.

    If that client takes messages as they are, a message costs two appends to its queue. Everything else goes
    through the account.

    flusher: the account's. The caller schedules it after a run of messages, so that they are written.
    """

    __slots__ = ("_account", "_generation", "_prefixes", "_subject", "_target", "flusher")

    def __init__(self, account: Account) -> None:
        self._account = account
        self.flusher = account.flusher
        # The subject and its only client, right as long as the account's generation is this.
        self._subject = ""
        self._target: Target | None = None
        self._generation = -1
        self._prefixes: dict[str, bytes] = {}  # of the client's subscription, by the subject that is shown

    def send(self, to: str, shown: str, reply: str, header: bytes, body: bytes) -> int:
        """Publish to the subject `to`, which clients see as `shown`. Return how many took it."""
        if to != self._subject or self._generation != self._account.generation:
            self._look(to)
        target = self._target
        if target is None or header:
            return self._account.publish(to, body, reply=reply, header=header, show_as=shown)
        prefix = self._prefixes.get(shown)
        if prefix is None:
            prefix = self._prefix(shown, target[0].sid)
        subscription, queue, append = target[0], target[1], target[2]
        subscription.delivered += 1
        append(prefix)
        append(b"%b %d\r\n%b\r\n" % (reply.encode(), len(body), body))
        queue.out_bytes += len(body)
        if not queue.flush_pending:
            queue.flush_pending = True
            self.flusher.pending_flush.append(queue)
        return 1

    def client(self, to: str) -> Target | None:
        """Return the only client that subscribes to `to`, if it takes messages as they are; else None."""
        if to != self._subject or self._generation != self._account.generation:
            self._look(to)
        return self._target

    def _look(self, to: str) -> None:
        """Find out who subscribes to the subject `to` now."""
        account, before = self._account, self._target
        self._subject, self._generation = to, account.generation
        raw = to.encode("utf-8", "surrogateescape")
        receiver = None if raw in account.plans else account.inbox_routes.receiver(raw)
        if receiver is not None:
            subscription, queue = receiver
            self._target = (subscription, queue, queue.out.append, b"", b"")  # other subjects are shown
        else:
            plan = account.plan(raw)
            alone = plan.direct and len(plan.targets) == 1 and not plan.request
            # To another server, the shown subject travels elsewhere in the frame: `route` knows where.
            self._target = plan.targets[0] if alone and not plan.leafs else None
        if before is None or self._target is None or before[0] is not self._target[0]:
            self._prefixes.clear()

    def _prefix(self, shown: str, sid: bytes) -> bytes:
        if len(self._prefixes) >= _MOST_PREFIXES:
            self._prefixes.clear()
        prefix = b"MSG %b %b " % (shown.encode("utf-8", "surrogateescape"), sid)
        self._prefixes[shown] = prefix
        return prefix
