"""ClientConnection: serves what one client sends, and sends it its messages. Knows no loop and no socket.

A PUB is delivered while it is parsed if that takes no more than to queue it, or if it is one of several acks,
and if that part is compiled (`native.deliver_publishes`, `native.scan_acks`). Otherwise the fan-out serves
it, or else `_publish`, which checks everything.

Promises: operations are served in order; nothing is served after the connection was closed; whatever a client
sends, an exception that leaves `receive` is a defect of the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from ...native import COMPILED, deliver_publishes, scan_publishes
from ...protocol.quoting import quoted
from ...protocol.subject import is_literal
from ...protocol.wire import encode
from ...protocol.wire.ops import CONNECT, ERR, HPUB, PING, PONG, SUB, UNSUB, VIOLATION, Op
from ...protocol.wire.violations import NOT_CONNECT, PayloadExceededError
from ..accounts.ack_routes import ACK_PUBLISH
from ..accounts.fanout import RESERVED_REPLIES, TOGETHER, fan_out
from ..accounts.routing import route
from ..accounts.server_trace import CLIENT, CLOSED, DENIED, EXCEEDED, TracePoint
from ..accounts.subscription import ConnectionKind, RoutedMessage
from ..accounts.traced_message import TracedMessage
from ..clock import SECOND
from ..connection.ping_timer import PingTimer
from .handshake import ClientHandshake
from .peer import ClientContext, ClientPeer
from .subscriptions import Subscriptions
from .traces import ClientTraces

if TYPE_CHECKING:
    from ..accounts import Account, Subscription
    from ..accounts.flusher import OutboundQueue
    from ..accounts.server_trace import ServerTrace
    from ..accounts.subscription import Publish
    from ..connection import ConnectionTransport

_FIRST_PING = 2 * SECOND
_CLIENT = ConnectionKind.CLIENT.value
_NOTHING: Iterator[Op] = iter(())


class ClientList(Protocol):
    """The open connections, and the ones that were closed last."""

    @property
    def full(self) -> bool:
        """Whether one more connection would exceed the limit."""

    def enter(self, connection: ClientConnection) -> None:
        """Add a connection, which has just been made."""

    def forget(self, connection: ClientConnection, reason: str) -> None:
        """Remove a connection, which is closed."""


class ClientConnection(ClientPeer):
    """A client's connection. It awaits CONNECT, then serves, and then is closed.

    subscriptions: its subscriptions, by sid.
    handshake: its login, and INFO.
    """

    def __init__(
        self, context: ClientContext, clients: ClientList, wire: ConnectionTransport, peer: tuple[str, int]
    ) -> None:
        super().__init__(context, wire, peer)
        self.subscriptions = Subscriptions(self)
        self.handshake = ClientHandshake(self, self.subscriptions)
        self.ping_timer = PingTimer(self, context, _FIRST_PING)
        self._traces = ClientTraces(self)
        self._clients = clients
        self._greeted = False  # whether its first PING was answered
        self._quick = False
        self._restricted = False

    # --- start and end

    def open(self) -> None:
        """Send INFO, as the wire is there."""
        self.context.statistics.total += 1
        full = self._clients.full
        self._clients.enter(self)
        self.handshake.greet()
        if full:
            self.fail("maximum connections exceeded", "Maximum Connections Exceeded")
        else:
            self.context.log.debug(f"{self} - Client connection created")
            self.ping_timer.start()
        self.flush()

    def stale(self) -> None:
        """Close a client that does not answer pings."""
        self.context.statistics.stale += 1
        super().stale()

    def stall(self, stalled: list[OutboundQueue]) -> None:
        """Read nothing for a moment; see `Connection.stall`."""
        before = self.stalls
        super().stall(stalled)
        self.context.statistics.stalls += self.stalls - before

    def _release(self, reason: str) -> None:
        self._quick = False
        self.parser.deliver = None
        self.handshake.leave()
        self.subscriptions.leave()
        self.stop_writing()
        self.outbound = None  # it is the connection itself: only the collector of cycles could free it
        account, events = self.account, self.context.events
        if account is not None:
            account.connections.discard(self)
        self._clients.forget(self, reason)
        self.context.log.debug(f"{self} - Client connection closed: {reason}")
        if events is not None:
            events.client_disconnected(self, reason)

    def send_line(self, line: bytes) -> None:
        """Queue a protocol line, in order with messages."""
        super().send_line(line)
        if self.context.options.trace:
            from .trace import line as describe

            self.context.log.trace(f"{self} - {describe(line)}")

    # --- operations of the client

    def _deliver(
        self, data: bytes, pos: int, most: int, longest: int, largest: int, verbs: tuple[bytes, bytes]
    ) -> tuple[int, int, bool]:
        """Deliver the publishes from `pos` on, as `fan_out` would deliver them parsed.

        See `protocol.wire.client.Deliver`.
        """
        account = self.account
        assert account is not None
        unmapped = account.mappings.empty
        lookups = account.lookups if unmapped else account.mapped_lookups
        if not self.headers:
            verbs = (verbs[0], b"")  # an HPUB of a client that has no headers ends its connection
        count = size = 0
        prepared = -1  # the place of the publish that a plan was made for last
        together, go_on = TOGETHER, True
        while go_on and count < most and pos < len(data):
            run: list[Publish] = []
            rest = most - count, longest, largest, verbs
            rules, pending = self.client_permissions.rules, account.pending_flush
            pos, some, some_bytes, queued, receiver = deliver_publishes(
                lookups, rules, _CLIENT, account.trace_mark, pending, run, together, data, pos, *rest
            )
            count += some
            size += some_bytes
            acked = 0
            if queued:
                self._flusher.queued_wide(queued)
            if run:
                receiver.delivered += len(run)
                receiver.batch_callback(run)
            elif not queued and unmapped and not self._restricted and data.startswith(ACK_PUBLISH, pos):
                limits = min(together, most - count), longest, largest, verbs
                pos, acked, acked_bytes = account.ack_routes.deliver(data, pos, *limits)
                count += acked
                size += acked_bytes
            if not (run or acked or queued):
                if pos in {prepared, len(data)} or not self._prepare(data, pos, longest, largest, verbs):
                    break
                prepared = pos
                continue
            go_on = pos == len(data) or not self.must_pause(_NOTHING)
            together = min(together << 1, most)  # as in `fan_out`
        self.in_msgs += count
        self.in_bytes += size
        account.in_msgs += count
        account.in_bytes += size
        statistics = self.context.statistics
        statistics.in_msgs += count
        statistics.in_bytes += size
        return pos, count, go_on

    def _prepare(self, data: bytes, pos: int, longest: int, largest: int, verbs: tuple[bytes, bytes]) -> bool:
        """Make the plan of the publish at `pos`, as `fan_out` does; return whether it was missing."""
        account = self.account
        if account is None or self._restricted or self.closed_reason or self.clock.now() >= self.until:
            return False
        found: list[Op] = []
        scan_publishes(data, pos, 1, longest, largest, verbs, found)
        return bool(found) and account.prepare(found[0][1])

    def _serve(self, operations: Iterator[Op]) -> None:
        while True:
            account = self.account
            if self._quick and account is not None:
                operation, plan, count, size = fan_out(operations, account, _CLIENT, self)
                self.in_msgs += count
                self.in_bytes += size
                account.in_msgs += count
                account.in_bytes += size
                statistics = self.context.statistics
                statistics.in_msgs += count
                statistics.in_bytes += size
                if operation is None:
                    return
                if plan is None and operation[0] <= HPUB:
                    self._keep(operation, operations)
                    return
            else:
                operation = next(operations, None)
                if operation is None:
                    return
            if operation[0] > HPUB:
                self._control_operation(operation[0], operation)
            else:
                self._count(account, operation[4])
                self._publish(*operation)
            if self.must_pause(operations):
                return

    def _count(self, account: Account | None, size: int) -> None:
        """Count one message that the fan-out did not serve."""
        self.in_msgs += 1
        self.in_bytes += size
        if account is not None:
            account.in_msgs += 1
            account.in_bytes += size
            self.context.statistics.in_msgs += 1
            self.context.statistics.in_bytes += size

    def _publish(
        self,
        code: int,
        subject: bytes,
        reply: bytes,
        header_size: int,
        size: int,
        tail: bytes,
        trace: ServerTrace | None = None,
        *,
        looked_at: bool = False,
    ) -> None:
        """Serve one publish, with all checks that may refuse, answer or redirect it.

        trace: its trace, if its headers were looked at and ask for one.
        """
        if not self.identified and not self.handshake.may_speak():
            return
        if code == HPUB and not self.headers:
            self.close("Message Header Violation")
            return
        account = self.account
        assert account is not None
        if (
            header_size
            and not looked_at
            and (tail.find(account.trace_mark, 0, len(tail) - 2 - size + header_size) >= 0)
        ):
            self._publish_traced(code, subject, reply, header_size, size, tail)
            return
        text = subject.decode("utf-8", "surrogateescape")
        if self.context.options.trace:
            self._trace((code, subject, reply, header_size, size, tail))
        if self.options.pedantic and not is_literal(text):
            self.send_line(encode.err("Invalid Publish Subject"))
        if not account.mappings.empty and account.plan(subject).mapping is not None:
            # From here on, also for permissions, the subject is the one that it was mapped to.
            mapped = account.mapped(text)
            if mapped is None:
                return
            text, subject = mapped, mapped.encode("utf-8", "surrogateescape")
            if trace is not None:
                trace.mapped(text)
        if self._traces.reserves(subject) or not self.client_permissions.may_publish(text):
            self._refuse(f"Permissions Violation for Publish to {quoted(text)}", trace)
            return
        if reply.startswith(RESERVED_REPLIES):
            shown = reply.decode("utf-8", "surrogateescape")
            self._refuse(f"Permissions Violation for Publish with Reply of {quoted(shown)}", trace)
            return
        if self.options.verbose:
            self.send_line(encode.OK)
        if code == HPUB and not header_size:
            tail = encode.tail(reply, b"", tail[len(tail) - 2 - size : -2])
        msg = RoutedMessage(self, subject, reply, header_size, size, tail)
        if trace is not None:
            msg = TracedMessage(msg, trace)
        if not route(account.plan(subject), msg) and reply:
            self._no_responders(subject, reply)

    def _publish_traced(
        self, code: int, subject: bytes, reply: bytes, header_size: int, size: int, tail: bytes
    ) -> None:
        """Serve one publish whose headers may ask for a trace, and send the event about it."""
        start = len(tail) - 2 - size
        header, body = tail[start : start + header_size], tail[start + header_size : -2]
        taken, now, trace, _ = self._traces.begin(subject, header, size)
        if not taken:
            return
        if now is not header:
            tail, header_size, size = encode.tail(reply, now, body), len(now), len(now) + len(body)
        self._publish(code, subject, reply, header_size, size, tail, trace, looked_at=True)
        if trace is not None:
            self._traces.send(trace)

    def _refuse(self, text: str, trace: ServerTrace | None) -> None:
        """Tell the client that it may not publish a message, and note it in its trace."""
        if trace is not None:
            trace.refuse(text)
        self.violation(text)

    def _no_responders(self, subject: bytes, reply: bytes) -> None:
        if not self.options.no_responders:
            return
        subscription = self.subscriptions.matching(reply.decode("utf-8", "surrogateescape"))
        if subscription is not None:
            self.send_run(encode.no_responders(reply, subscription.sid, subject), 1, 0)

    def _control_operation(self, code: int, operation: Op) -> None:
        if self.context.options.trace and code != VIOLATION:
            self._trace(operation)
        if code == PING:
            if self.handshake.may_speak():
                self._pinged()
        elif code == PONG:
            self.ping_timer.answered()
        elif code == SUB:
            if self.handshake.may_speak():
                self.subscriptions.subscribe(operation[1], operation[2], operation[3])
        elif code == UNSUB:
            if self.handshake.may_speak():
                self.subscriptions.unsubscribe(operation[1], operation[2])
        elif code == CONNECT:
            self.handshake.connect(operation[1])
        elif code == VIOLATION:
            if operation[1] is NOT_CONNECT:
                self.handshake.refuse()
            else:
                if isinstance(operation[1], PayloadExceededError) and operation[1].header:
                    self._traces.refuse(operation[1])
                self._broken(operation[1])
        elif code == ERR:
            self.context.log.error(f"{self} - Client error {operation[1]!r}")
            self.close("Parse Error")

    def _trace(self, operation: Op) -> None:
        from .trace import incoming

        for text in incoming(operation, self.context.options):
            self.context.log.trace(f"{self} - {text}")

    def _pinged(self) -> None:
        """Answer a PING. After the first one, send INFO with what is now known of the connection."""
        self.send_line(encode.PONG)
        if not self._greeted:
            self._greeted = True
            if self.options.protocol >= 1:
                self.handshake.send_connect_info()

    # --- what it receives

    def trace_point(self) -> TracePoint:
        """See MessageEndpoint."""
        return TracePoint(CLIENT, self.id, self.options.name)

    def refusal(self, subscription: Subscription, msg: RoutedMessage) -> str:
        """See MessageEndpoint."""
        if self.closed_reason:
            return CLOSED
        permissions = self.client_permissions
        if permissions.denies:
            shown = msg.shown or subscription.shown(msg.subject.decode("utf-8", "surrogateescape"))
            if not permissions.may_receive(shown.decode("utf-8", "surrogateescape"), subscription.queue):
                return DENIED
        holder = subscription.parent or subscription
        return EXCEEDED if holder.max and holder.delivered >= holder.max else ""

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Deliver one message that `route` sends, with regard to permissions, limits and headers."""
        if self.closed_reason:
            return False
        holder = subscription.parent or subscription
        shown = msg.shown
        if not shown:
            shown = msg.subject
            if subscription.transform is not None:
                shown = subscription.shown(shown.decode("utf-8", "surrogateescape"))
        permissions = self.client_permissions
        if permissions.denies and not permissions.may_receive(
            shown.decode("utf-8", "surrogateescape"), subscription.queue
        ):
            return False
        holder.delivered += 1
        if holder.max:
            if holder.delivered > holder.max:
                self.subscriptions.drop(holder)
                return False
            if holder.delivered == holder.max:
                self.subscriptions.drop(holder)
        size, tail = msg.size, msg.tail
        verb = b"MSG "
        if msg.header_size:
            if self.headers:
                verb = b"HMSG "
            else:
                tail = encode.without_header(msg.reply, msg.header_size, size, tail)
                size -= msg.header_size
        lead = b"%b%b %b " % (verb, shown, subscription.sid)
        if self.context.options.trace:
            self._trace_delivery(lead, tail, size)
        self.send_message(lead, tail, size)
        if msg.reply and permissions.expects_replies:
            permissions.expect_reply(msg.reply.decode("utf-8", "surrogateescape"))
        return True

    def _trace_delivery(self, lead: bytes, tail: bytes, size: int) -> None:
        from .trace import outgoing

        for text in outgoing(lead, tail, size, self.context.options):
            self.context.log.trace(f"{self} - {text}")

    # --- state that follows from options and account

    def refresh(self) -> None:
        """Update what depends on CONNECT, permissions and the account."""
        account = self.account
        options = self.options
        self.echo = options.echo
        self.headers = options.headers and not self.context.options.no_header_support
        fast = self.echo and not self.client_permissions.filters and not self.context.options.trace
        if fast != self.fast:
            self.fast = fast
            self.subscriptions.changed()
        plain = (
            account is not None
            and self.identified
            and not options.verbose
            and not options.pedantic
            and not self.context.options.trace
        )
        self._restricted = self.client_permissions.restricts_publish
        self._quick = plain and not self._restricted
        decidable = self._quick or self.client_permissions.rules is not None
        self.parser.deliver = self._deliver if COMPILED and plain and decidable else None

    def reload(self) -> None:
        """Apply the new options."""
        self.take_write_limits()
        self.handshake.reload()

    def send_async_info(self) -> None:
        """Send INFO again, if the client understands that."""
        if self.options.protocol >= 1 and self._greeted and not self.closed_reason:
            self.handshake.send_info()

    def who(self) -> dict[str, Any]:
        """See `Connection.who`."""
        return self.handshake.who()
