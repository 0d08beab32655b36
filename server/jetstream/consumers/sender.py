"""MessageSender: sends a message to a receiver and records it in the delivery state, in one step.

Promises: what nobody took is taken back and leaves no trace but its place as the next message. The hot
path of consumers: no objects per message beyond the pending entry, the ack subject by one format.
`FastSender` sends the same as `Account.publish`, and in the same order with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import headers
from ....store.message import StoredMessage

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.plan import Plan, Target
    from .ackwaits import AckWaits
    from .delivery_state import DeliveryState
    from .message_selector import NumPending
    from .persistence import ConsumerPersistence

_MOST_PREFIXES = 256


class MessageSender:
    """Sends messages of one consumer.

    prefix: of the ack subjects, see `acks.ack_prefix`.
    client: see `FastSender.client`.
    delivered_at: when the last message went, in ns; 0 for never.
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
        if self._fast_sender.send(to, message.subject, ack_subject, header, message.body):
            self.delivered_at = now
            return True
        delivery_state.undo(seq, count, before)
        if count == 1:
            self._num_pending.count += 1
        return False

    def done(self) -> None:
        """Let a run of deliveries be written to its receivers and kept, and its acks be waited for."""
        self._flusher.schedule()
        self._ack_waits.delivered()
        self._persistence.changed()


class FastSender:
    """The short way to the one client that subscribes to a subject, mostly the same subject as before.

    When the plan of the subject is a single client that takes messages as they are, a message costs two
    appends to its outbound list. Whoever sends schedules the `flusher` after a run, so that it is written.
    Everything else goes through the account.
    """

    __slots__ = ("_account", "_plan", "_prefixes", "_raw", "_subject", "_target", "flusher")

    def __init__(self, account: Account) -> None:
        self._account = account
        self.flusher = account.flusher
        self._subject = ""
        self._raw = b""
        self._plan: Plan | None = None
        self._target: Target | None = None
        self._prefixes: dict[str, bytes] = {}

    def send(self, to: str, shown: str, reply: str, header: bytes, body: bytes) -> int:
        """Publish to the subject `to`, seen as `shown`; gives how many took it."""
        if to != self._subject:
            self._subject, self._raw = to, to.encode("utf-8", "surrogateescape")
        plan = self._account.plans.get(self._raw)
        if plan is None or plan is not self._plan:
            plan = self._look()
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
        """The one client that subscribes to `to`, if it takes messages as they are."""
        if to != self._subject:
            self._subject, self._raw = to, to.encode("utf-8", "surrogateescape")
        plan = self._account.plans.get(self._raw)
        if plan is None or plan is not self._plan:
            self._look()
        return self._target

    def _look(self) -> Plan:
        """Find out who subscribes to the subject now."""
        plan = self._plan = self._account.plan(self._raw)
        alone = plan.direct and len(plan.targets) == 1 and not plan.request
        # A leaf's frame carries the subject shown elsewhere: the router knows how.
        self._target = plan.targets[0] if alone and not plan.leafs else None
        self._prefixes.clear()
        return plan

    def _prefix(self, shown: str, sid: bytes) -> bytes:
        if len(self._prefixes) >= _MOST_PREFIXES:
            self._prefixes.clear()
        prefix = b"MSG %b %b " % (shown.encode("utf-8", "surrogateescape"), sid)
        self._prefixes[shown] = prefix
        return prefix
