"""LeafConnection: one end of a leaf connection, which exchanges interest and messages. Knows no socket.

The two ends differ only in the handshake (`AcceptedHandshake` or `SolicitedHandshake`).

Promises: operations are served in order; nothing is served after the connection was closed; whatever a peer
sends, an exception that leaves `receive` is a defect of the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from ...native import COMPILED
from ...protocol.gateway_reply import own_reply
from ...protocol.reserved import GATEWAY_REPLY, SERVICE_REPLY
from ...protocol.tracing import SUPPORTED
from ...protocol.wire import encode
from ...protocol.wire.ops import CONNECT, ERR, HPUB, INFO, LMSG, LSUB, LUNSUB, PING, PONG, VIOLATION, Op
from ..accounts.fanout import deliver_together, fan_out
from ..accounts.leaving import LeavingConnection, leave
from ..accounts.plan import RESERVED
from ..accounts.routing import route
from ..accounts.server_trace import LEAF, TracePoint
from ..accounts.subscription import ConnectionKind, RoutedMessage
from ..accounts.traced_message import TracedMessage
from ..clock import SECOND
from ..connection.ping_timer import PingTimer
from ..connection.trace import control
from .frames import leaf_frame, read_reply
from .handshake import AcceptedHandshake, LeafHandshake, SolicitedHandshake
from .interest_advertiser import InterestAdvertiser
from .peer import LeafContext, LeafPeer
from .subscriptions import LeafSubscriptions

if TYPE_CHECKING:
    from ..accounts import Account
    from ..connection import ConnectionTransport
    from .remote import LeafRemote

_FIRST_PING = SECOND
_REFUSED_MESSAGE = "Permissions Violation for Publish"
_LEAF = ConnectionKind.LEAF.value


class LeafObserver(Protocol):
    """Is notified of what happens to a connection."""

    def joined(self, connection: LeafConnection) -> None:
        """Take note that the connection is bound to its account."""

    def announced(self, connection: LeafConnection) -> None:
        """Take note that the connection serves from now on."""

    def closed(self, connection: LeafConnection, reason: str) -> None:
        """Take note that the connection is closed."""


class LeafConnection(LeafPeer):
    """A leaf connection. It greets, then is joined to an account, and then is closed.

    subscriptions: the interest of the peer.
    advertiser: tells the peer of the account's interest.
    handshake: what both ends say before the connection is joined.
    """

    def __init__(
        self,
        context: LeafContext,
        observer: LeafObserver,
        wire: ConnectionTransport,
        peer: tuple[str, int],
        remote: LeafRemote | None = None,
    ) -> None:
        super().__init__(context, wire, peer, remote)
        self._observer = observer
        # A spoke pings always, which keeps its connection to the hub open in firewalls between them.
        self.ping_timer = PingTimer(self, context, _FIRST_PING, always=self.is_spoke)
        self.subscriptions = LeafSubscriptions(self)
        self.advertiser = InterestAdvertiser(self, context.turns)
        self.handshake: LeafHandshake = (
            AcceptedHandshake(self, self.advertiser)
            if remote is None
            else SolicitedHandshake(self, self.advertiser, remote)
        )
        if COMPILED:
            self.parser.deliver = self._deliver

    # --- start and end

    def open(self) -> None:
        """Begin the handshake, as the wire is there."""
        self.context.log.info(f"{self} - Leafnode connection created{self._for_account()}")
        self.handshake.begin()
        self.flush()

    def join(self, account: Account) -> None:
        """See `LeafPeer.join`."""
        self.joined = True
        self.account = account
        self.refresh()
        account.leafs.add(self)
        self._observer.joined(self)
        self.ping_timer.estimate()
        self.ping_timer.start()
        self.admit()

    def announce(self) -> None:
        """See `LeafPeer.announce`."""
        self._observer.announced(self)

    def _for_account(self) -> str:
        """Return what the log says of the account when the connection begins."""
        if self.remote is None:
            return ""
        name = self.remote.options.account
        account = self.context.registry.get(name)
        return f" for account: {account.label if account is not None else name}"

    def _bound_to(self) -> str:
        """Return what the log says of the account and the peer when the connection is closed."""
        if self.account is None:
            return ""
        remote = f" - Remote: {self.name}" if self.name else ""
        return f" - Account: {self.account.label}{remote}"

    def _release(self, reason: str) -> None:
        self.parser.deliver = None
        self.handshake.leave()
        subscriptions = self.subscriptions.take()
        if self.account is not None:
            self.account.leafs.discard(self)
            leave(self.clock, [LeavingConnection(self.account, self, subscriptions, self.advertiser.stop)])
        self.stop_writing()
        self.outbound = None  # it is the connection itself: only the collector of cycles could free it
        self.context.log.info(f"{self} - Leafnode connection closed: {reason}{self._bound_to()}")
        self._observer.closed(self, reason)
        self._flusher.schedule()

    # --- operations of the peer

    @property
    def _quick(self) -> bool:
        """Whether its messages need no checks."""
        return self.joined and self.leaf_permissions.accept.open and not self.context.options.trace

    def _quick_account(self) -> Account | None:
        return self.account if self._quick and self.headers else None

    def _serve(self, operations: Iterator[Op]) -> None:
        while True:
            account = self.account
            if account is not None and self._quick:
                operation, plan, count, size = fan_out(operations, account, _LEAF, self)
                self._count(account, count, size)
                if operation is None:
                    return
                if plan is None and operation[0] <= HPUB:
                    self._keep(operation, operations)
                    return
                if plan is not None and (
                    taken := deliver_together(plan, account.trace_mark, operation, operations)
                ):
                    count, size, operations = taken
                    self._count(account, count, size)
                    if self.must_pause(operations):
                        return
                    continue
            else:
                operation = next(operations, None)
                if operation is None:
                    return
            if (code := operation[0]) <= HPUB:
                _, subject, reply, header_size, size, tail = operation
                self._count(account, 1, size)
                self._message(subject, reply, (), header_size, size, tail[len(tail) - 2 - size : -2])
            elif code == LMSG:
                _, subject, reply, queues, header_size, size, payload = operation
                self._count(account, 1, size)
                self._message(subject, reply, queues, header_size, size, payload)
            else:
                self._control_operation(operation)
            if self.must_pause(operations):
                return

    def _message(
        self,
        subject: bytes,
        reply: bytes,
        queues: tuple[bytes, ...],
        header_size: int,
        size: int,
        payload: bytes,
    ) -> None:
        """Serve one message, with regard to permissions, mappings and the subject that it is shown under."""
        if not self._may_speak():
            return
        account = self.account
        assert account is not None
        text = subject.decode("utf-8", "surrogateescape")
        if self.context.options.trace:
            self.context.log.trace(f"{self} - <<- [LMSG {text} {size}]")
        if not self._may_accept(text):
            self.violation("Publish", text)
            return
        tracer = self.context.tracer
        taken, payload, header_size, trace = tracer.begin_routed(
            self, account, subject, payload, header_size, self._may_trace_to
        )
        if not taken:
            return
        way, reply, shown = read_reply(reply, account.reply_ways)
        served: tuple[bytes, ...] | None = queues
        plan = account.plan(subject)
        if plan.mapping is not None:
            mapped = account.mapped(text)
            if mapped is None:
                return
            subject = mapped.encode("utf-8", "surrogateescape")
            plan = account.plan(subject)
            served = queues or None
            if trace is not None:
                trace.mapped(mapped)
        tail = encode.tail(reply, payload[:header_size], payload[header_size:])
        msg = RoutedMessage(self, subject, reply, header_size, len(payload), tail, shown, way=way)
        if trace is None:
            route(plan, msg, served)
        else:
            route(plan, TracedMessage(msg, trace), served)
            tracer.send(account, trace)

    def _may_accept(self, subject: str) -> bool:
        """Return whether the peer may send a message on `subject`.

        What counts of a reply that goes back through gateways is the asker's own reply. A hub may send any of
        these: it got them from servers that have checked them.
        """
        if subject.startswith(GATEWAY_REPLY):
            if self.is_spoke:
                return True
            subject = own_reply(subject)
        return self.leaf_permissions.may_accept(subject, self.clock.now())

    def _may_trace_to(self, destination: str) -> bool:
        """Return whether the peer may have a trace sent to a destination.

        The destination of a request that came through an import is the way back to its asker.
        """
        raw = destination.encode("utf-8", "surrogateescape")
        if raw.startswith(RESERVED):
            return False
        return destination.startswith(SERVICE_REPLY) or self.leaf_permissions.accept.allows(destination)

    def _may_speak(self) -> bool:
        """Return whether the peer has logged in. If not, close the connection."""
        if self.account is not None:
            return True
        self.fail("Authorization Violation", "Authentication Failure")
        return False

    def _control_operation(self, operation: Op) -> None:
        code = operation[0]
        if self.context.options.trace and code != VIOLATION:
            self.context.log.trace(f"{self} - {control(operation)}")
        if code == LSUB:
            if self._may_speak():
                self.subscriptions.subscribe(operation[1], operation[2], operation[3])
        elif code == LUNSUB:
            if self._may_speak():
                self.subscriptions.unsubscribe(operation[1], operation[2])
        elif code == PING:
            self.send_line(encode.PONG)
        elif code == PONG:
            self.ping_timer.answered()
            self.adapt_compression(self.ping_timer.rtt)
        elif code == CONNECT:
            self.handshake.connect(operation[1])
        elif code == INFO:
            self.handshake.info(operation[1])
        elif code == ERR:
            self._peer_error(operation[1].decode("utf-8", "replace").strip("'"))
        elif code == VIOLATION:
            self._broken(operation[1])

    def _peer_error(self, text: str) -> None:
        """Serve -ERR, after which the peer closes. The remote may wait longer before it dials again.

        A peer that refuses one message, for the destination of its trace, does not close.
        """
        self.context.log.error(f"{self} - Leafnode Error '{text}'")
        if self.joined and text.startswith(_REFUSED_MESSAGE):
            return
        if self.remote is not None:
            self.remote.hub_error(text)
        self.close("Protocol Violation" if "Loop detected" in text else "Parse Error")

    # --- what goes to the peer

    def trace_point(self) -> TracePoint:
        """See `MessageEndpoint.trace_point`."""
        return TracePoint(LEAF, self.id, self.name, self.peer_headers and self.peer_protocol >= SUPPORTED)

    def may_send(self, subject: str) -> bool:
        """See `MessageEndpoint.may_send`."""
        return self.leaf_permissions.may_send(own_reply(subject))

    def prefixes(self, subject: bytes) -> tuple[bytes, bytes]:
        """See `MessageEndpoint.prefixes`."""
        return b"LMSG %b " % subject, b"HMSG %b " % subject

    def deliver_to_server(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """See `MessageEndpoint.deliver_to_server`."""
        if self.closed_reason or not self.joined:
            return False
        prefix, tail, size = leaf_frame(msg, queues, self.peer_headers, self.context.remote_accounts)
        self.send_message(prefix, tail, size)
        if self.leaf_permissions.replies.limits is not None and msg.reply:
            self.leaf_permissions.expect_reply(msg.reply.decode("utf-8", "surrogateescape"), self.clock.now())
        return True

    def who(self) -> dict[str, Any]:
        """See `Connection.who`."""
        return self.handshake.who()
