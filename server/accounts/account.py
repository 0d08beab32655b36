"""Account: a space of subjects with its exports, imports and limits, and with its connections.

The server itself subscribes and publishes through it. Promises that callbacks of internal subscribers run
synchronously on the loop. Never does I/O.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from ...native import frame_answers, frame_replies
from ...protocol.subject import is_valid
from ...protocol.wire.encode import tail as tail_of
from ...protocol.wire.ops import PUB, Op
from ..slices import Steps
from .exports import ServiceExport, StreamExport
from .fanout import fan_out
from .imports import ServiceImport, ServiceResponses, replace_imports
from .latency import LatencyMeter
from .plan import Draw, Plan, is_request
from .reply_ways import ReplyWays
from .routing import route
from .space import StreamImport, SubjectSpace
from .subscription import (
    INTERNAL,
    AckCallback,
    AckSubscription,
    BatchCallback,
    ConnectionKind,
    InternalEndpoint,
    Message,
    MessageEndpoint,
    RoutedMessage,
    RunCallback,
    RunSubscription,
    Subscription,
)
from .traced_message import StreamSubscription

if TYPE_CHECKING:
    from ..config.options import AccountJetStream, AccountOptions
    from .account_token import AccountToken
    from .flusher import Flusher
    from .inbox_routes import Receiver
    from .server_trace import TraceTarget
    from .traced_message import TraceCallback

UNLIMITED = -1
_TOGETHER = 4096  # messages to one inbox that are framed at once
_INTERNAL = ConnectionKind.INTERNAL.value
HeadedAnswer = tuple[bytes, bytes, bytes]  # subject, header, body


class ConnectionLimits:
    """The limits of an account; -1 is unlimited.

    connections: clients, not counting leafs.
    subscriptions: how many one connection may have.
    payload: the size of a message in bytes.
    leafs: leaf connections.
    """

    __slots__ = ("connections", "leafs", "payload", "subscriptions")

    def __init__(
        self,
        connections: int = UNLIMITED,
        subscriptions: int = UNLIMITED,
        payload: int = UNLIMITED,
        leafs: int = UNLIMITED,
    ) -> None:
        self.connections = connections
        self.subscriptions = subscriptions
        self.payload = payload
        self.leafs = leafs


class AccountConnection(Protocol):
    """A client or leaf that is connected to an account. A later connection has a higher `id`."""

    id: int

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer why, then close."""


def _send_once(receiver: Receiver, shown: bytes, reply: bytes, header: bytes, body: bytes) -> None:
    """Queue one message of the server for the only receiver of its subject.

    Such a subject hardly ever comes again: a plan would cost more than it saves, and push others out of the
    cache.
    """
    subscription, queue = receiver
    if header and not queue.headers:
        header = b""
    subscription.delivered += 1
    lead = b"%b %b %b " % (b"HMSG" if header else b"MSG", shown, subscription.sid)
    queue.send_message(lead, tail_of(reply, header, body), len(header) + len(body))


def _hand_out(plan: Plan, header: bytes, size: int, tail: bytes, shown: bytes) -> int:
    """Deliver a message of the server to clients that take it as it is, without `route`. Return how many."""
    for subscription, queue, _, prefix, header_prefix, _ in plan.targets:
        subscription.delivered += 1
        if shown:
            lead = b"%b %b %b " % (b"HMSG" if header else b"MSG", shown, subscription.sid)
        else:
            lead = header_prefix if header else prefix
        queue.send_message(lead, tail, size)
    return len(plan.targets)


class Account(SubjectSpace):
    """One account: its space of subjects, exports, imports, limits and connections.

    connections, leafs: the connections to this server; the listeners keep them.
    elsewhere: how many (clients, leafs) are connected to other servers, by server id.
    serves_jetstream: set by JetStream as long as it serves the account.
    trace_target: where traces go that `traceparent` asks for; None if it asks for none.
    grants: the account's JetStream limits by tier ("" is the account as a whole); None means no JetStream.
    account_token: of an account made from a token; the account's name is then its public key.
    display: the name that operators gave the account.
    """

    def __init__(
        self,
        name: str,
        flusher: Flusher,
        *,
        random_bytes: Callable[[int], bytes] = random.randbytes,
        draw: Draw = random.random,
    ) -> None:
        super().__init__(name, flusher.pending_flush, draw)
        self.options: AccountOptions | None = None
        self.nkey = ""
        self.display = name
        self.account_token: AccountToken | None = None
        self.trace_target: TraceTarget | None = None
        self.grants: dict[str, AccountJetStream] | None = None
        self.exports_streams: list[StreamExport] = []
        self.exports_services: list[ServiceExport] = []
        self.imports_services: list[ServiceImport] = []
        self.limits = ConnectionLimits()
        self.connections: set[AccountConnection] = set()
        self.leafs: set[AccountConnection] = set()
        self.elsewhere: dict[str, tuple[int, int]] = {}
        self.serves_jetstream = False
        self.flusher = flusher
        meter = LatencyMeter(self, self.publish, flusher.clock, random_bytes, draw)
        self.responses = ServiceResponses(self, flusher.clock, random_bytes, meter)
        self.reply_ways = ReplyWays(self, flusher.clock)
        self._sink = InternalEndpoint()
        self.in_msgs = self.in_bytes = self.out_msgs = self.out_bytes = 0

    def __repr__(self) -> str:
        return f"<Account {self.name}>"

    @property
    def label(self) -> str:
        """The name for logs, with the display name if that is different."""
        return self.name if self.display == self.name else f"{self.name}/{self.display}"

    # --- connections, including those to other servers of the cluster

    def elsewhere_sums(self) -> tuple[int, int]:
        """Return how many clients and how many leafs are connected to other servers."""
        numbers = self.elsewhere.values()
        return sum(clients for clients, _ in numbers), sum(leafs for _, leafs in numbers)

    @property
    def full(self) -> bool:
        """Whether one more client would exceed the limit."""
        return 0 <= self.limits.connections <= len(self.connections) + self.elsewhere_sums()[0]

    @property
    def full_of_leafs(self) -> bool:
        """Whether one more leaf would exceed the limit."""
        return 0 <= self.limits.leafs <= len(self.leafs) + self.elsewhere_sums()[1]

    # --- internal subscribers and publishers

    def subscribe(
        self,
        subject: str,
        callback: Callable[[Message], None],
        *,
        queue: str = "",
        batch_callback: BatchCallback | None = None,
    ) -> Subscription:
        """Subscribe the server itself to `subject` (wildcards allowed). The callback must not block.

        batch_callback: see Subscription. Raises ValueError if the subject is invalid.
        """
        if not is_valid(subject):
            raise ValueError(f"invalid subject {subject!r}")
        subscription = Subscription(subject, self._sink, queue=queue, callback=callback)
        subscription.batch_callback = batch_callback
        self.add_subscription(subscription)
        return subscription

    def subscribe_stream(
        self, subject: str, callback: Callable[[Message], None], trace: TraceCallback
    ) -> StreamSubscription:
        """Subscribe a stream to one of its subjects; see `subscribe` and StreamSubscription."""
        if not is_valid(subject):
            raise ValueError(f"invalid subject {subject!r}")
        subscription = StreamSubscription(subject, self._sink, trace)
        subscription.callback = callback
        self.add_subscription(subscription)
        return subscription

    def subscribe_to_acks(
        self,
        subject: str,
        callback: Callable[[Message], None],
        batch_callback: BatchCallback,
        ack_callback: AckCallback,
    ) -> Subscription:
        """Subscribe a consumer to its acks; see `subscribe` and AckSubscription."""
        subscription = AckSubscription(subject, self._sink, ack_callback)
        subscription.callback, subscription.batch_callback = callback, batch_callback
        self.add_subscription(subscription)
        return subscription

    def subscribe_to_deliveries(
        self,
        subject: str,
        callback: Callable[[Message], None],
        run_callback: RunCallback,
        batch_callback: BatchCallback | None = None,
    ) -> Subscription:
        """Subscribe the server itself to what a push consumer delivers; see `subscribe`, RunSubscription."""
        subscription = RunSubscription(subject, self._sink, run_callback)
        subscription.callback, subscription.batch_callback = callback, batch_callback
        self.add_subscription(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription; harmless when called twice."""
        self.remove_subscription(subscription)

    def publish(
        self,
        subject: str,
        body: bytes = b"",
        *,
        reply: str = "",
        header: bytes = b"",
        source: MessageEndpoint | None = None,
        show_as: str = "",
        own: bool = False,
    ) -> int:
        """Send a message and return how many took it.

        source: the sender; None is the server itself.
        own: the server makes a request of its own. Everything else that it sends is an answer, even if a
        client chose the subject; where that subject would be a request (see `is_request`), nobody receives
        it.
        show_as: the subject that clients see. `subject` still decides who receives the message.

        Mappings do not apply.
        """
        raw = subject.encode("utf-8", "surrogateescape")
        raw_reply = reply.encode("utf-8", "surrogateescape")
        shown = show_as.encode("utf-8", "surrogateescape")
        plan = self.plans.get(raw)
        if plan is None:
            known = source is None and raw not in self.ways
            if known and (receiver := self.inbox_routes.receiver(raw)) is not None:
                _send_once(receiver, shown or raw, raw_reply, header, body)
                self.flusher.schedule()
                return 1
            plan = self.plan(raw)
        if plan.silent or (plan.request and source is None and not own):
            return 0
        size = len(header) + len(body)
        tail = tail_of(raw_reply, header, body)
        plainly = (plan.headers or not header) and not (shown and plan.leafs)
        if plan.direct and plainly and source is None:
            delivered = _hand_out(plan, header, size, tail, shown)
            self.flusher.schedule()
            return delivered
        sender = INTERNAL if source is None else source
        answer = source is None and not own
        msg = RoutedMessage(sender, raw, raw_reply, len(header), size, tail, shown, answer=answer)
        delivered = route(plan, msg)
        self.flusher.schedule()
        return delivered

    def publish_each(self, messages: Sequence[tuple[bytes, bytes]]) -> None:
        """Send many messages (subject, body) in order, each as `publish` would."""
        plans, sublist, routes = self.plans, self.sublist, self.inbox_routes
        known: list[Op] = []
        start, count = 0, len(messages)
        while start < count:
            stop, receiver, frames, size = frame_replies(
                messages, start, _TOGETHER, plans, routes.receivers, sublist.ends, sublist.literal
            )
            if known and (receiver is not None or messages[start][0] not in plans):
                self._fan_out(known)
                known.clear()
            if receiver is not None:
                subscription, queue = receiver
                subscription.delivered += stop - start
                queue.send_run(frames, stop - start, size)
                start = stop
                continue
            subject, body = messages[start]
            if subject in plans:
                known.append((PUB, subject, b"", 0, len(body), b"%d\r\n%b\r\n" % (len(body), body)))
            elif routes.receiver(subject) is not None:
                continue  # that is known now
            else:
                self.publish(subject.decode("utf-8", "surrogateescape"), body)
            start += 1
        if known:
            self._fan_out(known)
        self.flusher.schedule()

    def publish_answers(self, answers: Sequence[HeadedAnswer]) -> None:
        """Send many answers (subject, header, body) in order, each as `publish` would.

        Those in a row that one client receives, as it is with the answers to one read, are queued as one run.
        """
        plans, sublist, routes = self.plans, self.sublist, self.inbox_routes
        start, count = 0, len(answers)
        while start < count:
            stop, receiver, frames, size = frame_answers(
                answers, start, _TOGETHER, plans, routes.receivers, sublist.ends, sublist.literal
            )
            if receiver is not None:
                subscription, queue = receiver
                subscription.delivered += stop - start
                queue.send_run(frames, stop - start, size)
                start = stop
                continue
            subject, header, body = answers[start]
            if subject in plans or routes.receiver(subject) is None:  # otherwise that is known now
                self.publish(subject.decode("utf-8", "surrogateescape"), body, header=header)
                start += 1
        self.flusher.schedule()

    def _fan_out(self, publishes: list[Op]) -> None:
        """Send messages without headers whose plans are known."""
        rest = iter(publishes)
        while True:
            operation = fan_out(rest, self, _INTERNAL)[0]
            if operation is None:
                return
            _, subject, _, _, size, tail = operation
            self.publish(subject.decode("utf-8", "surrogateescape"), tail[-2 - size : -2])

    # --- interest

    def has_interest(self, subject: str, *, own: bool = False) -> bool:
        """Return whether anyone would receive what the server sends to the literal `subject`.

        Counts interest here and on leafs, imports and pending responses. own: as in `publish`.
        """
        raw = subject.encode("utf-8", "surrogateescape")
        if not own and is_request(raw):
            return False
        response = self.responses.pending.get(raw)
        if response is not None:
            return response.has_interest()
        return raw in self.ways or self.sublist.has_match(subject)

    # --- imports

    def replacing_imports(
        self, streams: Iterable[StreamImport], services: Iterable[ServiceImport]
    ) -> Steps[None]:
        """Replace all imports in steps; see `replace_imports`."""
        return replace_imports(self, self.imports_services, streams, services)

    def stop(self) -> None:
        """Cancel all timers."""
        self.responses.stop()
        self.reply_ways.stop()
