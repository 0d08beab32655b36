"""Subscriptions, the endpoints that send and receive, and the messages between them.

`MessageEndpoint` is the base class of everything that sends or receives messages: client and leaf
connections, one account's part of a route or gateway, the server itself, service imports. `Subscription` is
one interest of an endpoint: a client's SUB, a leaf's LS+, an internal callback, an import. `RoutedMessage`
is a message as the router carries it, and `Message` is what an internal subscriber gets. The four refer to
each other, and to nothing above them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ...native import SubscriptionFields
from ...protocol.lazy_dataclass import dataclass
from ...protocol.wire.encode import tail as tail_of
from .server_trace import CLIENT, TracePoint

if TYPE_CHECKING:
    from ...protocol.transform import SubjectTransform
    from ...store.message import StoredMessage
    from .flusher import OutboundQueue
    from .server_trace import ServerTrace

Callback = Callable[["Message"], None]
# A publish as it is parsed: subject, reply, header size, size, tail (see protocol.wire.ops).
Publish = tuple[bytes, bytes, int, int, bytes]
BatchCallback = Callable[[list[Publish]], None]
# Called with what `native.scan_acks` found: sequences, and (sequence, reply) of those that have a reply.
AckCallback = Callable[[list[int], list[tuple[int, bytes]]], bool]


class ConnectionKind(enum.IntEnum):
    """The kind of a message's source or of a subscription's sink."""

    CLIENT = 0
    LEAF = 1
    ROUTER = 2
    INTERNAL = 3
    GATEWAY = 4
    IMPORT = 5  # a service import, which is never a source


class DeliveredRun(NamedTuple):
    """DeliveredRun of one consumer that come together, each the first one of its message.

    ack_prefix: the reply subjects up to the four figures of each: the sequences in stream and consumer, the
    time, and how many messages are then left.
    number: the consumer sequence of the first one.
    pending: how many messages are left after the last one.
    """

    ack_prefix: str
    number: int
    messages: Sequence[StoredMessage]
    pending: int


RunCallback = Callable[[DeliveredRun], None]


class MessageEndpoint:
    """Where a message entered this server (its source), or what a subscription delivers to (its sink).

    kind: decides, with the kind of the other end, what may go from one to the other.
    id: the id of a connection; 0 for everything else.
    echo: whether the endpoint receives its own messages.
    is_spoke: of a leaf connection: this server is the spoke and the peer is the hub.
    remote_cluster: the cluster of the leaf node that a message of this endpoint comes from; the message never
        returns there. A leaf connection has its peer's cluster, a route sets that of each message, or "".
    server_id: of a route: the id of the server at the other end.
    fast: the endpoint takes every message as it is (echo, no filter of deliveries, no tracking of replies).
    outbound: the queue of messages for a connection.
    """

    __slots__ = ()

    kind: ConnectionKind
    id: int = 0
    echo: bool = True
    is_spoke: bool = False
    remote_cluster: str = ""
    fast: bool = False
    outbound: OutboundQueue | None = None

    @property
    def server_id(self) -> str:
        """The id of the server at the other end of a route, else ""."""
        return ""

    @property
    def rtt(self) -> int:
        """The round trip time of a gateway in ns, by which queue groups choose among gateways."""
        return 0

    def client_info(self, *, share: bool = True) -> dict[str, object]:
        """Return who this is, in the form used in advisories and `Nats-Request-Info`.

        share: False leaves out everything but account and rtt. An endpoint that is no connection returns {}.
        """
        del share
        return {}

    def trace_point(self) -> TracePoint:
        """Return how traces show a connection."""
        return TracePoint(CLIENT, self.id, "")

    def refusal(self, subscription: Subscription, msg: RoutedMessage) -> str:
        """Return why `deliver` would not deliver a message to a client, as traces say it; "" if it would."""
        del subscription, msg
        return ""

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Deliver one message. Return False if it was not taken.

        A queue group can then try another member.
        """
        del subscription, msg
        return False

    def may_send(self, subject: str) -> bool:
        """Return whether deny lists and permissions let `subject` out. For leafs, routes and gateways."""
        del subject
        return False

    def may_also_publish(self, account: SubscriptionOwner, subject: str) -> bool:
        """Return whether a client of `account` may publish to this subject, too; tell it if it may not.

        For a service that makes a request of its own for a client. No other endpoint may.
        """
        del account, subject
        return False

    def prefixes(self, subject: bytes) -> tuple[bytes, bytes]:
        """Return what precedes a message without headers, and one with.

        For leafs and routes that are `fast`.
        """
        raise NotImplementedError

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """Send one message to another server, once however many of its interests match.

        queues: the groups that the peer must serve; plain interest is then implied too.
        """
        del msg, queues
        return False


class SubscriptionOwner:
    """What holds subscriptions: an account, as its subscribers see it."""

    name: str

    def add_subscription(self, subscription: Subscription) -> None:
        """Add a subscription, which receives from the next message on."""
        raise NotImplementedError

    def remove_subscription(self, subscription: Subscription) -> None:
        """Remove a subscription, which receives nothing more. Harmless when called twice."""
        raise NotImplementedError

    def subscription_changed(self, subscription: Subscription) -> None:
        """Take note that the subscription's max, or its sink's `fast`, has changed."""
        raise NotImplementedError

    def set_weight(self, subscription: Subscription, weight: int) -> None:
        """Set the number of members that a remote queue group has now."""
        raise NotImplementedError


class Subscription(SubscriptionFields):
    """One interest of one endpoint in one account. It is compared by identity, not by its fields.

    subject: may have wildcards.
    queue: the queue group; "" means none.
    sid: the client's own name for the subscription.
    max: how many messages to deliver before the subscription ends; 0 means no limit.
    delivered: how many were delivered so far.
    direct: the queue of the client that takes every message as it is; None if it does not, or is no client.
    weight: how many members a remote queue group stands for.
    parent: of a shadow, which a stream import adds in the exporting account: the importer's subscription.
    transform: of a shadow: from the exported subject to the one the importer sees; None if they are equal.
    batch_callback: is called instead of `callback` with publishes that arrived together and that nobody else
    receives; it must not keep the list.
    """

    __slots__ = (
        "account",
        "batch_callback",
        "callback",
        "closed",
        "kind",
        "max",
        "origin",
        "parent",
        "queue",
        "shadows",
        "sink",
        "subject",
        "transform",
        "weight",
    )

    direct: OutboundQueue | None

    def __init__(
        self,
        subject: str,
        sink: MessageEndpoint,
        *,
        queue: str = "",
        sid: bytes = b"",
        callback: Callback | None = None,
        weight: int = 1,
        origin: str = "",
    ) -> None:
        self.subject = subject
        self.sink = sink
        self.kind = sink.kind
        self.queue = queue
        self.sid = sid
        self.callback = callback
        self.batch_callback: BatchCallback | None = None
        self.weight = weight
        self.origin = origin
        self.account: SubscriptionOwner | None = None
        self.max = 0
        self.delivered = 0
        self.direct = None
        self.closed = False
        self.parent: Subscription | None = None
        self.transform: SubjectTransform | None = None
        self.shadows: list[Subscription] | None = None

    def settle(self) -> None:
        """Find out what `direct` is now."""
        sink = self.sink
        plain = self.kind == ConnectionKind.CLIENT and sink.fast and self.transform is None
        self.direct = sink.outbound if plain and not (self.queue or self.max) else None

    def shown(self, text: str) -> bytes:
        """Return the subject that the subscriber sees for `text`. Only a shadow shows another one."""
        shown = self.transform.apply(text) if self.transform is not None else None
        return (text if shown is None else shown).encode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        queue = f" {self.queue!r}" if self.queue else ""
        return f"<Subscription {self.subject!r}{queue} {self.kind.name}>"


class AckSubscription(Subscription):
    """The server's own interest in the acks of one consumer.

    ack_callback: may be called instead of `batch_callback` with plain acks that arrived together. It returns
        False if it takes none, because there is more to know of each than its sequence.
    """

    __slots__ = ("ack_callback",)

    def __init__(self, subject: str, sink: MessageEndpoint, ack_callback: AckCallback) -> None:
        super().__init__(subject, sink)
        self.ack_callback = ack_callback


class RunSubscription(Subscription):
    """The server's own interest in what a push consumer delivers.

    run_callback: is called instead of `callback` with deliveries that come together and that nobody else
    receives. Those of another server come to `batch_callback`, as publishes.
    """

    __slots__ = ("run_callback",)

    def __init__(self, subject: str, sink: MessageEndpoint, run_callback: RunCallback) -> None:
        super().__init__(subject, sink)
        self.run_callback = run_callback


@dataclass(frozen=True, slots=True)
class InterestChange:
    """One change of the interest in `subject` and `queue`, as those who watch the interest get it.

    count: how many subscriptions the account has there now. One of a remote queue group counts as many times
        as the group has members (`Subscription.weight`).
    kind: the kind of the endpoint whose subscription changed. `count` includes those of all kinds.
    delta: by how much the count changed; negative if there are fewer now.
    """

    subject: str
    queue: str
    count: int
    kind: ConnectionKind
    delta: int
    subscription: Subscription


class ImportStep(NamedTuple):
    """One service import that a message came through.

    export: a message goes through the same export (by identity) only once.
    share: whether the exporter learns who sent the request.
    """

    export: object
    share: bool


@dataclass(slots=True, eq=False)
class RoutedMessage:
    """A message being routed. It never changes during delivery: a rewrite makes a new message.

    subject: the subject that subscriptions are matched with.
    shown: the subject that a client sees instead; b"" means the same.
    header_size: the size of the header in bytes.
    size: the size of header and payload in bytes.
    tail: the wire form from the size on, kept so that delivery to a client or leaf copies nothing.
    chain: the service imports that it came through, oldest first.
    answer: the server sends this as an answer, so it is not a request itself.
    way: what precedes the reply where other servers see it: the way back through gateways (`reply_ways`).
    returned: it took that way back to the cluster that asked, and goes on from there.
    trace: of a TracedMessage; None of any other.
    """

    trace: ClassVar[ServerTrace | None] = None

    source: MessageEndpoint
    subject: bytes
    reply: bytes
    header_size: int
    size: int
    tail: bytes
    shown: bytes = b""
    chain: tuple[ImportStep, ...] = ()
    _: KW_ONLY
    answer: bool = False
    way: bytes = b""
    returned: bool = False

    @property
    def header(self) -> bytes:
        """The header block; b"" if there is none."""
        if not self.header_size:
            return b""
        start = len(self.tail) - self.size - 2
        return self.tail[start : start + self.header_size]

    @property
    def body(self) -> bytes:
        """The payload after the header block."""
        end = len(self.tail) - 2
        return self.tail[end - self.size + self.header_size : end]

    def renamed(self, subject: bytes) -> RoutedMessage:
        """Return the same message under another subject."""
        return RoutedMessage(
            self.source,
            subject,
            self.reply,
            self.header_size,
            self.size,
            self.tail,
            self.shown,
            self.chain,
            answer=self.answer,
            way=self.way,
        )

    def coming_back(self, way: bytes) -> RoutedMessage:
        """Return the same message for another server, which sees a way back before the reply."""
        return RoutedMessage(
            self.source, self.subject, self.reply, self.header_size, self.size, self.tail, self.shown, way=way
        )

    def rewritten(
        self,
        subject: bytes,
        reply: bytes,
        header: bytes,
        chain: tuple[ImportStep, ...],
        *,
        answer: bool = False,
    ) -> RoutedMessage:
        """Return the same payload under another subject, reply and header. An answer remains an answer."""
        body = self.body
        return RoutedMessage(
            self.source,
            subject,
            reply,
            len(header),
            len(header) + len(body),
            tail_of(reply, header, body),
            self.shown,
            chain,
            answer=answer or self.answer,
            way=self.way if reply == self.reply else b"",
        )


class Message:
    """What the callback of an internal subscriber gets.

    header: the whole header block; b"" if there is none.
    source: the endpoint that sent the message, None if unknown.
    """

    __slots__ = ("body", "header", "reply", "source", "subject")

    def __init__(
        self, subject: str, reply: str, header: bytes, body: bytes, source: MessageEndpoint | None
    ) -> None:
        self.subject = subject
        self.reply = reply
        self.header = header
        self.body = body
        self.source = source

    def __repr__(self) -> str:
        return f"Message({self.subject!r}, reply={self.reply!r}, {len(self.header)}+{len(self.body)} bytes)"


def message_of(publish: Publish) -> Message:
    """Return the message that a callback would have got for `publish`, but without a source.

    For a batch callback that wants one message by itself.
    """
    subject, reply, header_size, size, tail = publish
    start = len(tail) - 2 - size
    body_at = start + header_size
    return Message(
        subject.decode("utf-8", "surrogateescape"),
        reply.decode("utf-8", "surrogateescape"),
        tail[start:body_at],
        tail[body_at:-2],
        None,
    )


def publish_of(message: Message) -> Publish:
    """Return the publish that `message_of` would make such a message of."""
    tail = b"%b%b\r\n" % (message.header, message.body)
    return (
        message.subject.encode("utf-8", "surrogateescape"),
        message.reply.encode("utf-8", "surrogateescape"),
        len(message.header),
        len(tail) - 2,
        tail,
    )


class InternalEndpoint(MessageEndpoint):
    """The server itself: the source of what it sends, and the sink that calls a subscription's callback."""

    __slots__ = ()

    kind = ConnectionKind.INTERNAL

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Call the subscription's callback. Return False only if it has none."""
        subscription.delivered += 1
        text = (msg.shown or msg.subject).decode("utf-8", "surrogateescape")
        if subscription.transform is not None and not msg.shown:
            text = subscription.shown(text).decode("utf-8", "surrogateescape")
        callback = subscription.callback
        if callback is None:
            return False
        reply = msg.reply.decode("utf-8", "surrogateescape")
        callback(Message(text, reply, msg.header, msg.body, msg.source))
        return True


INTERNAL = InternalEndpoint()
