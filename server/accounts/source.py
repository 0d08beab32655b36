"""Who a message comes from and to whom it goes: the kinds of parties, and what each must offer.

Promises nothing about transports. Connections, leafs and services implement these protocols; routing sees no
more.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .message import RoutedMessage
    from .plan import OutboundQueue
    from .subscription import Subscription


class ConnectionKind(enum.IntEnum):
    """The kind of a message's source or of a subscription's sink."""

    CLIENT = 0
    LEAF = 1
    ROUTER = 2
    INTERNAL = 3
    IMPORT = 4  # a service import: only ever a sink


class MessageSource(Protocol):
    """Where a message entered this server."""

    kind: ConnectionKind

    def client_info(self, *, share: bool = True) -> dict[str, Any]:
        """Who this is, in the shape of advisories and `Nats-Request-Info`; without `share` only account and
        rtt.
        """


class MessageSink(Protocol):
    """What a subscription delivers to."""

    kind: ConnectionKind

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Take one message; False when it was not taken (so that a queue group may try another member)."""


class LeafSink(Protocol):
    """A leaf connection, or an account's part of a route, as sink and source. `deliver_leaf` is called once
    per message, whatever number of interests matched.

    is_spoke: this side is the spoke (the peer is the hub). remote_cluster: the peer's cluster name, never
    echoed to.
    """

    kind: ConnectionKind
    is_spoke: bool
    remote_cluster: str

    def may_send(self, subject: str) -> bool:
        """Whether this connection's deny lists and permissions let `subject` out."""

    def quick(self, subject: bytes) -> tuple[OutboundQueue, bytes, bytes]:
        """For messages taken as they are: where they go, and what precedes them without and with headers."""

    def deliver_leaf(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """Send one message; `queues` are the groups the peer must serve (plain interest is then implied
        too).
        """


class InternalSource:
    """The server itself as a source: JetStream, system services, tests."""

    __slots__ = ("kind",)

    def __init__(self) -> None:
        self.kind = ConnectionKind.INTERNAL

    def client_info(self, *, share: bool = True) -> dict[str, Any]:
        """Nobody in particular."""
        del share
        return {}


INTERNAL = InternalSource()
