"""Who sends and receives, one interest in a subject, and one message on its way.

`MessageEndpoint` is the base class of everything that sends messages or takes them: client and leaf
connections, one account's part of a route, the server itself, service imports. `Subscription` is one interest
of an endpoint: a client's SUB, a leaf's LS+, an internal callback, an import. `RoutedMessage` is a message as
the router carries it, `Message` the same as an internal subscriber sees it. The four name each other, and
nothing above them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol.wire.encode import tail as tail_of

if TYPE_CHECKING:
    from ...protocol.transform import SubjectTransform
    from .flusher import OutboundQueue

Callback = Callable[["Message"], None]
# A publish as the wire brings it: subject, reply, header size, size, tail (see protocol.wire.ops).
Publish = tuple[bytes, bytes, int, int, bytes]
ReadCallback = Callable[[list[Publish]], None]


class ConnectionKind(enum.IntEnum):
    """The kind of a message's source or of a subscription's sink."""

    CLIENT = 0
    LEAF = 1
    ROUTER = 2
    INTERNAL = 3
    IMPORT = 4  # a service import: only ever a sink


class MessageEndpoint:
    """Where a message entered this server (its source), or what a subscription delivers to (its sink).

    kind: decides, with the kind of the other end, what may go from one to the other.
    id: of a connection; 0 for all else.
    echo: the endpoint receives what it sent itself.
    is_spoke: a leaf connection of which this server is the spoke and the peer the hub.
    remote_cluster: the cluster of a leaf connection's peer, never echoed to; of a route, that of the leaf
    which the last message came from.
    server_id: of the server at the other end of a route.
    fast: the endpoint takes every message as it is (echo, no filter of deliveries, no tracking of replies).
    outbound: where messages for a connection are queued.
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
        """See the class."""
        return ""

    def client_info(self, *, share: bool = True) -> dict[str, Any]:
        """Who this is, in the shape of advisories and `Nats-Request-Info`; without `share` only account and
        rtt. Nobody in particular: {}.
        """
        del share
        return {}

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Take one message; False when it was not taken (so that a queue group may try another member)."""
        del subscription, msg
        return False

    def may_send(self, subject: str) -> bool:
        """Of leafs and routes: whether deny lists and permissions let `subject` out."""
        del subject
        return False

    def prefixes(self, subject: bytes) -> tuple[bytes, bytes]:
        """Of leafs and routes that are `fast`: what precedes a message without headers, and one with."""
        raise NotImplementedError

    def deliver_leaf(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """Of leafs and routes: send one message, once however many of their interests match; `queues` are the
        groups the peer must serve (plain interest is then implied too).
        """
        del msg, queues
        return False


class SubscriptionOwner:
    """What holds subscriptions: an account, as those who subscribe in it see it."""

    def add_subscription(self, subscription: Subscription) -> None:
        """Let it receive from the next message on."""
        raise NotImplementedError

    def remove_subscription(self, subscription: Subscription) -> None:
        """Let it receive nothing more; harmless when done twice."""
        raise NotImplementedError

    def subscription_changed(self, subscription: Subscription) -> None:
        """Its max, or its sink's `fast`, changed."""
        raise NotImplementedError

    def set_weight(self, subscription: Subscription, weight: int) -> None:
        """A remote queue group has `weight` members now."""
        raise NotImplementedError


class Subscription:
    """One interest of one endpoint in one account. It is identified by itself, not by its fields.

    subject may have wildcards; queue "" is none; sid is the client's own name for it.
    max: deliver so many in all, then forget (0: no limit); delivered counts.
    weight: the members that a remote queue group stands for.
    parent: of a shadow, which a stream import adds in the exporting account, the subscription it is for.
    transform: of a shadow, subject as exported -> as the importer sees it; None when the same.
    reader: takes, instead of `callback`, publishes that came together and that nobody else receives; it does
    not keep the list.
    """

    __slots__ = (
        "account",
        "callback",
        "closed",
        "delivered",
        "kind",
        "max",
        "origin",
        "parent",
        "queue",
        "reader",
        "shadows",
        "sid",
        "sink",
        "subject",
        "transform",
        "weight",
    )

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
        self.reader: ReadCallback | None = None
        self.weight = weight
        self.origin = origin
        self.account: SubscriptionOwner | None = None
        self.max = 0
        self.delivered = 0
        self.closed = False
        self.parent: Subscription | None = None
        self.transform: SubjectTransform | None = None
        self.shadows: list[Subscription] | None = None

    def shown(self, text: str) -> bytes:
        """The subject that its holder sees for `text`, which is another one if this is a shadow."""
        shown = self.transform.apply(text) if self.transform is not None else None
        return (text if shown is None else shown).encode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        queue = f" {self.queue!r}" if self.queue else ""
        return f"<Subscription {self.subject!r}{queue} {self.kind.name}>"


@dataclass(frozen=True, slots=True)
class InterestChange:
    """What a watcher of interest is told.

    count: members (weights added) that `subject` and `queue` have now in the account, of all kinds.
    delta: what changed by (negative when leaving).
    """

    subject: str
    queue: str
    count: int
    kind: ConnectionKind
    delta: int
    subscription: Subscription


class ImportStep(NamedTuple):
    """One service import that a message came through.

    export: a message goes through the same one, told by identity, only once.
    share: the exporter is told who asks.
    """

    export: object
    share: bool


class RoutedMessage:
    """A message being routed. It never changes while it is being delivered: a rewrite makes a new one.

    subject: what is matched.
    shown: the subject that a client is shown instead, or b"" for the same.
    header_size, size: bytes, size including the header.
    tail: the wire form from the size on, kept so that handing it to a client or a leaf copies nothing.
    chain: the service imports it came through, oldest first.
    answer: the server sends it because it was asked, so that it is no request itself.
    """

    __slots__ = (
        "answer",
        "chain",
        "header_size",
        "reply",
        "shown",
        "size",
        "source",
        "subject",
        "tail",
    )

    def __init__(
        self,
        source: MessageEndpoint,
        subject: bytes,
        reply: bytes,
        header_size: int,
        size: int,
        tail: bytes,
        shown: bytes = b"",
        chain: tuple[ImportStep, ...] = (),
        *,
        answer: bool = False,
    ) -> None:
        self.answer = answer
        self.source = source
        self.subject = subject
        self.reply = reply
        self.header_size = header_size
        self.size = size
        self.tail = tail
        self.shown = shown
        self.chain = chain

    @property
    def header(self) -> bytes:
        """The header block, or b""."""
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
        """The same message under another subject."""
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
        """The same payload under another subject, reply and header; an answer stays one."""
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
        )


class Message:
    """What an internal subscriber's callback gets. Sizes in bytes; `header` is the whole block or b""."""

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
    """What a callback would have got, for a reader that wants a message by itself; its source is not told."""
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


class InternalEndpoint(MessageEndpoint):
    """The server itself: the source of what it sends, the sink that calls a subscription's callback."""

    __slots__ = ()

    kind = ConnectionKind.INTERNAL

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Take the message; False only if the subscription has no callback."""
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
