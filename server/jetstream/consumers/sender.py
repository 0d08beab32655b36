"""MessageSender: sends a message to a receiver and records it in the delivery state, in one step.

This is the hot path of consumers. The receiver is mostly the only client that subscribes to a subject, and
mostly the same one as before. If that client takes messages as they are, a message costs no objects but its
pending entry, one format for its ack subject, size and body, and two appends to the client's queue.
Everything else goes through the account.

Promises: a delivery that nobody took is undone, and the message is the next one again. A client gets what
`Account.publish` would send, and in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import headers
from ....store.message import StoredMessage
from ...accounts.subscription import RunSubscription

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...accounts.plan import Target
    from .delivery_state import DeliveryState
    from .message_selector import NumPending

_MOST_PREFIXES = 256


class MessageSender:
    """Sends messages of one consumer.

    ack_prefix: the part of the ack subjects that never changes, see `acks.ack_prefix`.
    delivered_at: when the last message was sent, in ns; 0 for never.
    headers_only: whether the consumer gets messages without their bodies.
    """

    __slots__ = (
        "_account",
        "_delivery_state",
        "_flusher",
        "_generation",
        "_num_pending",
        "_prefixes",
        "_raw_ack_prefix",
        "_run_subscription",
        "_server",
        "_subject",
        "_target",
        "ack_prefix",
        "delivered_at",
        "headers_only",
    )

    def __init__(
        self, account: Account, ack_prefix: str, delivery_state: DeliveryState, num_pending: NumPending
    ) -> None:
        self._account = account
        self._flusher = account.flusher
        self.ack_prefix = ack_prefix
        self._raw_ack_prefix = ack_prefix.encode("utf-8", "surrogateescape")
        self._delivery_state = delivery_state
        self._num_pending = num_pending
        self.headers_only = False
        self.delivered_at = 0
        # The subject and its only client, right as long as the account's generation is this.
        self._subject = ""
        self._target: Target | None = None
        self._run_subscription: RunSubscription | None = None
        self._server: Target | None = None
        self._generation = -1
        self._prefixes: dict[str, bytes] = {}  # of the client's subscription, by the subject that is shown

    def size(self, message: StoredMessage, count: int) -> int:
        """Return what delivery `count` of this message, if it comes next, counts in byte limits.

        These are the limits of requests, of rates and of flow control windows.
        """
        subject = message.subject
        octets = len(subject) if subject.isascii() else len(subject.encode("utf-8", "surrogateescape"))
        pending = self._num_pending.count - (count == 1)
        reply = self._ack_subject(message, count, self._delivery_state.consumer_seq + 1, pending)
        return octets + len(reply) + len(message.header) + len(message.body)

    def _ack_subject(self, message: StoredMessage, count: int, number: int, pending: int) -> str:
        return f"{self.ack_prefix}{count}.{message.seq}.{number}.{message.time}.{max(pending, 0)}"

    def trim(self, message: StoredMessage) -> StoredMessage:
        """Return the message without its body, whose size is then in a header (headers_only consumers)."""
        size = str(len(message.body)).encode()
        return message._replace(header=headers.set(message.header, b"Nats-Msg-Size", size), body=b"")

    def send(self, message: StoredMessage, count: int, to: str, header: bytes, now: int) -> bool:
        """Deliver a message to the subject `to`, for the time `count`. Return False if nobody took it.

        The caller then gives it back to the selector. After a run of messages it flushes, see `flush`.
        header: its header, perhaps with additions. now: ns.
        """
        seq, shown, _, body, time = message
        state, num_pending = self._delivery_state, self._num_pending
        before = (state.consumer_seq, state.stream_seq)
        if count == 1:
            number = state.deliver(seq, now)
            num_pending.count -= 1
        else:
            number = state.redeliver(seq, now)
        pending = num_pending.count
        if to != self._subject or self._generation != self._account.generation:
            self._find_target(to)
        target = self._target
        if target is not None and not header:
            subscription, queue, append, _, _, _ = target
            subscription.delivered += 1
            append(self._prefixes.get(shown) or self._prefix(shown, subscription.sid))
            append(
                b"%b%d.%d.%d.%d.%d %d\r\n%b\r\n"
                % (self._raw_ack_prefix, count, seq, number, time, max(pending, 0), len(body), body)
            )
            queue.out_bytes += len(body)
            if not queue.flush_pending:
                queue.flush_pending = True
                self._flusher.pending_flush.append(queue)
        else:
            reply = self._ack_subject(message, count, number, pending)
            if not self._account.publish(to, body, reply=reply, header=header, show_as=shown):
                state.undo(seq, count, before)
                num_pending.count += count == 1
                return False
        self.delivered_at = now
        return True

    def flush(self) -> None:
        """Have the messages of a run written."""
        if not self._flusher.reading:  # otherwise it flushes at the end of the read
            self._flusher.schedule()

    def client(self, to: str) -> Target | None:
        """Return the only client that subscribes to `to`, if it takes messages as they are; else None."""
        if to != self._subject or self._generation != self._account.generation:
            self._find_target(to)
        return self._target

    def own_subscription(self, to: str) -> RunSubscription | None:
        """Return the server's own subscription that takes runs, if nobody else subscribes to `to`."""
        if to != self._subject or self._generation != self._account.generation:
            self._find_target(to)
        return self._run_subscription

    def server(self, to: str) -> Target | None:
        """Return the only leaf or route that subscribes to `to`, if it takes what comes as it is, or None."""
        if to != self._subject or self._generation != self._account.generation:
            self._find_target(to)
        server = self._server
        return server if server is not None and server[1].is_open else None

    def _find_target(self, to: str) -> None:
        """Find out who subscribes to the subject `to` now."""
        account, before = self._account, self._target
        self._run_subscription = self._server = None
        self._subject, self._generation = to, account.generation
        raw = to.encode("utf-8", "surrogateescape")
        receiver = None if raw in account.plans else account.inbox_routes.receiver(raw)
        if receiver is not None:
            subscription, queue = receiver
            self._target = (subscription, queue, queue.out.append, b"", b"", b"")  # others are shown
        else:
            plan = account.plan(raw)
            alone = plan.direct and len(plan.targets) == 1 and not plan.request
            # To another server, the shown subject travels elsewhere in the frame: `route` knows where.
            self._target = plan.targets[0] if alone and not plan.leafs else None
            if alone and plan.leafs and plan.headers:
                self._server = plan.targets[0]
            only = plan.callbacks[0] if len(plan.callbacks) == 1 and not plan.request else None
            if isinstance(only, RunSubscription) and not (plan.targets or plan.choices):
                self._run_subscription = only
        if before is None or self._target is None or before[0] is not self._target[0]:
            self._prefixes.clear()

    def _prefix(self, shown: str, sid: bytes) -> bytes:
        if len(self._prefixes) >= _MOST_PREFIXES:
            self._prefixes.clear()
        prefix = b"MSG %b %b " % (shown.encode("utf-8", "surrogateescape"), sid)
        self._prefixes[shown] = prefix
        return prefix
