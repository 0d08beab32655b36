"""One leaf connection, of either end: bytes in, interest and messages routed, bytes out. Knows no socket.

What differs between the ends until both know each other is the handshake's: `AcceptedHandshake` or
`SolicitedHandshake`. From then on both do the same. Promises: operations are served in order; nothing of a
connection is served after it was closed; whatever a peer sends, the only exception out of `receive` is a
defect of ours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ...protocol.quoting import quoted
from ...protocol.tracing import MARK as TRACED
from ...protocol.tracing import only as only_traced
from ...protocol.wire import encode
from ...protocol.wire.leaf import LeafParser
from ...protocol.wire.ops import CONNECT, ERR, INFO, LMSG, LSUB, LUNSUB, PING, PONG, VIOLATION, Op
from ..accounts.leaving import Leaver, leave
from ..accounts.routing import route
from ..accounts.subscription import ConnectionKind, MessageEndpoint, RoutedMessage
from ..clock import SECOND
from ..connection import Connection
from ..connection.ping_timer import PingTimer
from ..connection.trace import control
from .frames import ACK, leaf_frame, split_delivery
from .handshake import AcceptedHandshake, LeafHandshake, SolicitedHandshake
from .interest_advertiser import InterestAdvertiser
from .permissions import LeafPermissions
from .subscriptions import LeafSubscriptions

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.plan import Plan
    from ..connection import Wire
    from .leafs import Leafs
    from .remote import LeafRemote

_FIRST_PING = SECOND


class LeafConnection(Connection, MessageEndpoint):
    """A leaf connection; `remote` says that this server solicited it. peer: (host, port).

    name, remote_cluster, remote_domain, remote_account: what the peer sent about itself. is_spoke: this
    server is the spoke, the peer its hub. peer_headers: it takes headers. isolated: the peer gets no interest
    that other leafs announce. States: greeting, joined, closed. interest_known: the peer has sent its own.
    """

    kind = ConnectionKind.LEAF
    tag = "lid"
    description: ClassVar = {"kind": "Leafnode"}

    def __init__(
        self, leafs: Leafs, wire: Wire, peer: tuple[str, int], remote: LeafRemote | None = None
    ) -> None:
        options = leafs.options
        deadline = options.leafnodes.write_deadline or options.write_deadline
        super().__init__(leafs, wire, peer, deadline)
        # Leafs are closed for lateness only: what they miss, a whole cluster misses.
        self.max_pending = sys.maxsize
        self.outbound = self
        self.leafs = leafs
        self.remote = remote
        self.name = ""
        self.remote_cluster = ""
        self.remote_domain = ""
        self.remote_account = ""
        self.is_spoke = remote is not None and not remote.options.hub
        self.isolated = options.leafnodes.isolate or (remote is not None and remote.options.isolate)
        self.peer_headers = False
        self.joined = False
        self.interest_known = False
        self.parser = LeafParser(options.max_control_line, options.max_payload)
        self.leaf_permissions = LeafPermissions()
        # A spoke's pings keep the way to the hub open through what stands between.
        self.ping_timer = PingTimer(self, _FIRST_PING, always=self.is_spoke)
        self.subscriptions = LeafSubscriptions(self)
        self.advertiser = InterestAdvertiser(self)
        self.handshake: LeafHandshake = (
            AcceptedHandshake(self) if remote is None else SolicitedHandshake(self, remote)
        )

    # --- start and end

    def open(self) -> None:
        """The wire is there."""
        self.leafs.opened(self)
        self.handshake.begin()
        self.flush()

    def join(self, account: Account) -> None:
        """The handshake is done: publish and receive in `account`."""
        self.joined = True
        self.account = account
        self.refresh()
        account.leafs.add(self)
        self.leafs.joined(self)
        self.ping_timer.estimate()
        self.ping_timer.start()
        self.admit()

    def refresh(self) -> None:
        """The leaf permissions have changed: work out whether messages need a look at each."""
        # Accounts have other names over there: who asks a service then goes by the other name.
        self.headers = self.peer_headers and not self.leafs.remote_accounts
        self.fast = self.leaf_permissions.replies is None and not self.leafs.options.trace
        if self.account is not None:
            self.account.forget_plans()

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer and the log why, then close."""
        if not self.closed_reason:
            self.leafs.log.error(f"{self} - Leafnode Error '{text}'")
        super().fail(text, reason)

    def _let_go(self, reason: str) -> None:
        self.handshake.leave()
        subscriptions, told = self.subscriptions.take(), self.advertiser.stop()
        if self.account is not None:
            self.account.leafs.discard(self)
            leave(self.clock, [Leaver(self.account, self, subscriptions, told)])
        self.stop_writing()
        self.leafs.log.info(f"{self} - Leafnode connection closed: {reason}{self.leafs.suffix(self)}")
        self.leafs.closed(self, reason)
        self.leafs.flusher.schedule()

    # --- operations of the peer

    def _serve(self, operations: Iterator[Op]) -> None:
        account = self.account
        pending_flush = self.leafs.flusher.pending_flush
        quick = self.joined and self.leaf_permissions.accept.open and not self.leafs.options.trace
        count = size_sum = 0
        for operation in operations:
            if operation[0] != LMSG:
                self._control_operation(operation)
                if self._rests(operations):
                    break
                account = self.account
                quick = self.joined and self.leaf_permissions.accept.open and not self.leafs.options.trace
                continue
            _, subject, reply, queues, header_size, size, payload = operation
            plan: Plan | None = None
            if quick and account is not None and not queues:
                plan = account.plans.get(subject)
                if plan is None:
                    if self._rests_before(operation, operations):
                        break
                    plan = account.plan(subject)
            count += 1
            size_sum += size
            if (
                plan is None
                or not plan.simple
                or plan.leafs
                or (header_size and not plan.headers)
                or (header_size and payload.find(TRACED, 0, header_size) >= 0)
                or (reply.startswith(ACK) and b"@" in reply)
            ):
                self._message(subject, reply, queues, header_size, size, payload)
                if self._rests(operations):
                    break
                continue
            if plan.targets:
                lead = reply + b" " if reply else b""
                if header_size:
                    tail = b"%b%d %d\r\n%b\r\n" % (lead, header_size, size, payload)
                else:
                    tail = b"%b%d\r\n%b\r\n" % (lead, size, payload)
                for subscription, queue, append, prefix, header_prefix in plan.targets:
                    subscription.delivered += 1
                    append(header_prefix if header_size else prefix)
                    append(tail)
                    queue.out_bytes += size
                    if not queue.flush_pending:
                        queue.flush_pending = True
                        pending_flush.append(queue)
            if plan.callbacks and account is not None:
                self._call_back(plan, self, reply, payload[:header_size], payload[header_size:])
                if self._rests(operations):
                    break
        self._count(account, count, size_sum)

    def _count(self, account: Account | None, messages: int, size: int) -> None:
        self.in_msgs += messages
        self.in_bytes += size
        if account is not None:
            account.in_msgs += messages
            account.in_bytes += size

    def _message(
        self,
        subject: bytes,
        reply: bytes,
        queues: tuple[bytes, ...],
        header_size: int,
        size: int,
        payload: bytes,
    ) -> None:
        """The careful way of a message: permissions, mappings, a subject that travels in the reply."""
        if not self._may_speak():
            return
        account = self.account
        assert account is not None
        text = subject.decode("utf-8", "surrogateescape")
        if self.leafs.options.trace:
            self.leafs.log.trace(f"{self} - <<- [LMSG {text} {size}]")
        if not self.leaf_permissions.may_accept(text, self.clock.now()):
            self.violation("Publish", text)
            return
        if header_size and only_traced(payload[:header_size]):
            return
        shown = b""
        if reply.startswith(ACK):
            reply, shown = split_delivery(reply)
        served: tuple[bytes, ...] | None = queues
        plan = account.plan(subject)
        if plan.mapping is not None:
            mapped = account.mapped(text)
            if mapped is None:
                return
            subject = mapped.encode("utf-8", "surrogateescape")
            plan = account.plan(subject)
            served = queues or None
        tail = encode.tail(reply, payload[:header_size], payload[header_size:])
        route(plan, RoutedMessage(self, subject, reply, header_size, size, tail, shown), served)

    def _may_speak(self) -> bool:
        """Whether anything but the handshake's words is served; if not, the connection is closed."""
        if self.account is not None:
            return True
        self.fail("Authorization Violation", "Authentication Failure")
        return False

    def _control_operation(self, operation: Op) -> None:
        code = operation[0]
        if self.leafs.options.trace and code != VIOLATION:
            self.leafs.log.trace(f"{self} - {control(operation)}")
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
        elif code == CONNECT:
            self.handshake.connect(operation[1])
        elif code == INFO:
            self.handshake.info(operation[1])
        elif code == ERR:
            self._told(operation[1].decode("utf-8", "replace").strip("'"))
        elif code == VIOLATION:
            self._broken(operation[1])

    def _told(self, text: str) -> None:
        """-ERR came: the peer closes. Some errors are better not provoked again soon."""
        self.leafs.log.error(f"{self} - Leafnode Error '{text}'")
        if self.remote is not None:
            self.remote.hub_error(text)
        self.close("Protocol Violation" if "Loop detected" in text else "Parse Error")

    def violation(self, action: str, subject: str) -> None:
        """The peer did what it may not. A hub closes; a spoke only does not do it."""
        if self.is_spoke:
            return
        if self.remote is not None:
            self.remote.pause("Permissions Violation")
        self.leafs.log.error(f"{self} - {action} Violation on {subject!r} - Check other side configuration")
        self.fail(f"Permissions Violation for {action} to {quoted(subject)}", "Protocol Violation")

    def loop_found(self) -> None:
        """Our own interest came back to us over this connection."""
        account = self.account.name if self.account is not None else ""
        if self.remote is not None:
            self.remote.pause("Loop detected")
        text = f'Loop detected for leafnode account="{account}". Delaying attempt to reconnect for 30s'
        self.fail(text, "Protocol Violation")

    # --- what goes to the peer

    def may_send(self, subject: str) -> bool:
        """See MessageEndpoint."""
        return self.leaf_permissions.may_send(subject)

    def prefixes(self, subject: bytes) -> tuple[bytes, bytes]:
        """See MessageEndpoint."""
        return b"LMSG %b " % subject, b"HMSG %b " % subject

    def deliver_leaf(self, msg: RoutedMessage, queues: tuple[bytes, ...]) -> bool:
        """See MessageEndpoint."""
        if self.closed_reason or not self.joined:
            return False
        prefix, tail, size = leaf_frame(msg, queues, self.peer_headers, self.leafs.remote_accounts)
        self.send_message(prefix, tail, size)
        if self.leaf_permissions.replies is not None and msg.reply:
            self.leaf_permissions.expect_reply(msg.reply.decode("utf-8", "surrogateescape"), self.clock.now())
        return True

    def who(self) -> dict[str, Any]:
        """See Connection."""
        return self.handshake.who()
