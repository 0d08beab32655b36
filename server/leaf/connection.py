"""One leaf connection, of either end: bytes in, interest and messages routed, bytes out. Knows no socket.

What differs between the ends until both know each other is the handshake's: `Accepted` or `Solicited`. From
then on both do the same. Promises: operations are served in order; nothing of a connection is heard after it
was closed; whatever a peer sends, the only exception out of `receive` is a defect of ours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...protocol.timestamp import format_rfc3339
from ...protocol.wire import encode
from ...protocol.wire.leaf import LeafParser
from ...protocol.wire.ops import CONNECT, ERR, FAULT, INFO, LMSG, LSUB, LUNSUB, PING, PONG, Op
from ..accounts.parcel import Message, Parcel
from ..accounts.routing import route
from ..accounts.source import Kind
from ..client.outbound import Outbound
from .advertiser import Advertiser
from .frames import ACK, leaf_frame, split_delivery
from .gate import Gate
from .handshake import Accepted, Handshake, Solicited
from .heartbeat import Heartbeat
from .subscriptions import LeafSubscriptions

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.plan import Outbox, Plan
    from ..client.outbound import Wire
    from .leafs import Leafs
    from .remote import Remote

_STALL = 10_000_000  # ns that a peer is not read, at most, for those who are behind


class LeafConnection(Outbound):
    """A leaf connection; `remote` says that this server solicited it. peer: (host, port).

    name, remote_cluster, remote_domain, remote_account: what the peer says of itself. is_spoke: this server
    is the spoke, the peer its hub. peer_headers: it takes headers. isolated: the peer is not told what other
    leafs hear. States: greeting, joined, closed. settled: the peer has told what it hears, too.
    """

    kind = Kind.LEAF

    def __init__(self, leafs: Leafs, wire: Wire, peer: tuple[str, int], remote: Remote | None = None) -> None:
        options = leafs.options
        deadline = options.leafnodes.write_deadline or options.write_deadline
        super().__init__(wire, leafs.flusher, options.max_pending, deadline)
        # Leafs are closed for lateness only: what they miss, a whole site misses.
        self.max_pending = sys.maxsize
        self.leafs = leafs
        self.remote = remote
        self.id = leafs.next_id()
        self.peer = peer
        self.start = leafs.clock.now()
        self.last_activity = self.start
        self.account: Account | None = None
        self.name = ""
        self.remote_cluster = ""
        self.remote_domain = ""
        self.remote_account = ""
        self.is_spoke = remote is not None and not remote.options.hub
        self.isolated = options.leafnodes.isolate or (remote is not None and remote.options.isolate)
        self.in_msgs = 0
        self.in_bytes = 0
        self.closed_reason = ""
        self.peer_headers = False
        self.joined = False
        self.settled = False
        self.parser = LeafParser(options.max_control_line, options.max_payload)
        self.gate = Gate()
        self.heartbeat = Heartbeat(self)
        self.subscriptions = LeafSubscriptions(self)
        self.advertiser = Advertiser(self)
        self.handshake: Handshake = Accepted(self) if remote is None else Solicited(self, remote)
        self._backlog: list[Op] = []
        self._held = False

    # --- life

    def open(self) -> None:
        """The wire is there."""
        self.leafs.opened(self)
        self.handshake.begin()
        self.flush()

    def receive(self, data: bytes) -> None:
        """Serve what one read brought."""
        if self.closed_reason:
            return
        self.last_activity = self.clock.now()
        operations = self.parser.feed(data)
        if self._held:
            self._backlog.extend(operations)
        else:
            self._serve(iter(operations))
        self.leafs.flusher.flush()

    def join(self, account: Account) -> None:
        """The handshake is done: hear and be heard in `account`."""
        self.joined = True
        self.account = account
        self.refresh()
        account.leafs.add(self)
        self.leafs.joined(self)
        self.heartbeat.start()

    def refresh(self) -> None:
        """What passes the gate has changed: work out whether messages need a look at each."""
        # Accounts have other names over there: who asks a service is then told by the other name.
        self.headers = self.peer_headers and not self.leafs.remote_accounts
        self.fast = self.gate.replies is None and not self.leafs.options.trace
        if self.account is not None:
            self.account.forget_plans()

    def lost(self, reason: str = "Client Closed") -> None:
        """The wire is gone."""
        self._finish(reason)

    def close(self, reason: str) -> None:
        """Close from our side, after what was queued is sent."""
        if self.closed_reason:
            return
        self.flush()
        self._finish(reason)
        self.wire.close()

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer why, then close."""
        if not self.closed_reason:
            self.leafs.log.error(f"{self} - Leafnode Error '{text}'")
            self.send_line(encode.err(text))
            self.close(reason)

    def slow_consumer(self, reason: str) -> None:
        """Close a peer that does not read."""
        if self.closed_reason:
            return
        self.leafs.log.warning(f"{self} - Slow Consumer Detected: {reason}, {self.pending} bytes pending")
        self._finish(reason)
        self.wire.abort()

    def _finish(self, reason: str) -> None:
        if self.closed_reason:
            return
        self.closed_reason = reason
        self._backlog.clear()
        self.heartbeat.stop()
        self.handshake.stop()
        self.advertiser.stop()
        if self.account is not None:
            self.account.leafs.discard(self)
        self.subscriptions.clear()
        self.stop_writing()
        self.leafs.log.info(f"{self} - Leafnode connection closed: {reason}{self.leafs.suffix(self)}")
        self.leafs.closed(self, reason)
        self.leafs.flusher.schedule()

    # --- what the peer says

    def _serve(self, operations: Iterator[Op]) -> None:
        account = self.account
        dirty = self.leafs.flusher.dirty
        quick = self.joined and self.gate.accept.open and not self.leafs.options.trace
        count = size_sum = 0
        for operation in operations:
            if operation[0] != LMSG:
                self._control_operation(operation)
                if self._held:
                    self._backlog.extend(operations)
                    break
                if self.closed_reason:
                    break
                account = self.account
                quick = self.joined and self.gate.accept.open and not self.leafs.options.trace
                continue
            _, subject, reply, queues, header_size, size, payload = operation
            count += 1
            size_sum += size
            plan: Plan | None = None
            if quick and account is not None and not queues:
                plan = account.plans.get(subject) or account.plan(subject)
            if (
                plan is None
                or not plan.simple
                or plan.leafs
                or (header_size and not plan.headers)
                or (reply.startswith(ACK) and b"@" in reply)
            ):
                self._message(subject, reply, queues, header_size, size, payload)
                if self.closed_reason:
                    break
                continue
            if plan.targets:
                lead = reply + b" " if reply else b""
                if header_size:
                    tail = b"%b%d %d\r\n%b\r\n" % (lead, header_size, size, payload)
                else:
                    tail = b"%b%d\r\n%b\r\n" % (lead, size, payload)
                for subscription, box, append, prefix, header_prefix in plan.targets:
                    subscription.delivered += 1
                    append(header_prefix if header_size else prefix)
                    append(tail)
                    box.out_bytes += size
                    if not box.dirty:
                        box.dirty = True
                        dirty.append(box)
            if plan.callbacks:
                self._call_back(plan, reply, header_size, payload)
        self.in_msgs += count
        self.in_bytes += size_sum
        if account is not None:
            account.in_msgs += count
            account.in_bytes += size_sum

    def _call_back(self, plan: Plan, reply: bytes, header_size: int, payload: bytes) -> None:
        assert self.account is not None
        message = Message(
            plan.text,
            reply.decode("utf-8", "surrogateescape"),
            payload[:header_size] if header_size else b"",
            payload[header_size:] if header_size else payload,
            self.account,
            self,
        )
        for subscription in plan.callbacks:
            subscription.delivered += 1
            if subscription.callback is not None:
                subscription.callback(message)

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
        if not self.gate.may_accept(text, self.clock.now()):
            self.violation("Publish", text)
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
        route(plan, Parcel(account, self, subject, reply, header_size, size, tail, shown), served)

    def _may_speak(self) -> bool:
        """Whether anything but the handshake's words is served; if not, the connection is closed."""
        if self.account is not None:
            return True
        self.fail("Authorization Violation", "Authentication Failure")
        return False

    def _control_operation(self, operation: Op) -> None:
        code = operation[0]
        if self.leafs.options.trace:
            self.leafs.log.trace(f"{self} - <<- {operation!r}")
        if code == LSUB:
            if self._may_speak():
                self.subscriptions.subscribe(operation[1], operation[2], operation[3])
        elif code == LUNSUB:
            if self._may_speak():
                self.subscriptions.unsubscribe(operation[1], operation[2])
        elif code == PING:
            if self.handshake.may_ping():
                self.send_line(encode.PONG)
        elif code == PONG:
            self.heartbeat.answered()
        elif code == CONNECT:
            self.handshake.connect(operation[1])
        elif code == INFO:
            self.handshake.info(operation[1])
        elif code == ERR:
            self._told(operation[1].decode("utf-8", "replace").strip("'"))
        elif code == FAULT:
            fault = operation[1]
            self.leafs.log.error(f"{self} - {fault.reason}")
            if not self.joined and self.remote is None:
                self.fail("Authorization Violation", "Authentication Failure")
                return
            if fault.text:
                self.send_line(encode.err(fault.text))
            self.close(fault.reason.partition(":")[0].partition(" (")[0])

    def _told(self, text: str) -> None:
        """-ERR came: the peer closes. Some errors are better not provoked again soon."""
        self.leafs.log.error(f"{self} - Leafnode Error '{text}'")
        if self.remote is not None:
            self.remote.blamed(text)
        self.close("Protocol Violation" if "Loop detected" in text else "Parse Error")

    def violation(self, action: str, subject: str) -> None:
        """The peer did what it may not. A hub closes; a spoke only does not do it."""
        if self.is_spoke:
            return
        if self.remote is not None:
            self.remote.pause("Permissions Violation")
        self.leafs.log.error(f"{self} - {action} Violation on {subject!r} - Check other side configuration")
        self.fail(f'Permissions Violation for {action} to "{subject}"', "Protocol Violation")

    def loop_found(self) -> None:
        """Our own interest came back to us over this connection."""
        account = self.account.name if self.account is not None else ""
        if self.remote is not None:
            self.remote.pause("Loop detected")
        text = f'Loop detected for leafnode account="{account}". Delaying attempt to reconnect for 30s'
        self.fail(text, "Protocol Violation")

    def hold(self) -> None:
        """Serve nothing more until `go_on`: an answer is awaited that everything else depends on."""
        self._held = True
        self.wire.pause_reading()

    def go_on(self) -> None:
        """Serve what came in meanwhile, and read on."""
        if not self._held:
            return
        self._held = False
        if self.closed_reason:
            return
        backlog, self._backlog = self._backlog, []
        self.wire.resume_reading()
        self._serve(iter(backlog))
        self.leafs.flusher.flush()

    def stall(self, behind: list[Outbox]) -> None:
        """Read nothing until the first of those behind has caught up, or for a moment."""
        if self.closed_reason or self._held or self.leafs.options.no_fast_producer_stall:
            return
        self.wire.pause_reading()
        done = False

        def resume() -> None:
            nonlocal done
            if not done:
                done = True
                timer.cancel()
                if not self.closed_reason and not self._held:
                    self.wire.resume_reading()

        timer = self.clock.call_later(_STALL, resume)
        for box in behind:
            box.when_writable(resume)

    # --- what goes to the peer

    def may_send(self, subject: str) -> bool:
        """See LeafSink."""
        return self.gate.may_send(subject)

    def deliver_leaf(self, parcel: Parcel, queues: tuple[bytes, ...]) -> bool:
        """See LeafSink."""
        if self.closed_reason or not self.joined:
            return False
        prefix, tail, size = leaf_frame(parcel, queues, self.peer_headers, self.leafs.remote_accounts)
        self.send_message(prefix, tail, size)
        if self.gate.replies is not None and parcel.reply:
            self.gate.expect_reply(parcel.reply.decode("utf-8", "surrogateescape"), self.clock.now())
        return True

    def client_info(self, *, share: bool = True) -> dict[str, Any]:
        """See Source."""
        info: dict[str, Any] = {}
        if share:
            info["start"] = format_rfc3339(self.start)
            info["host"] = self.peer[0]
            info["id"] = self.id
        info["acc"] = self.account.name if self.account is not None else ""
        if share:
            info.update((key, value) for key, value in self.handshake.who().items() if value)
        if self.heartbeat.rtt:
            info["rtt"] = self.heartbeat.rtt
        if share:
            info["server"] = self.leafs.identity.name
            if self.leafs.documents.cluster:
                info["cluster"] = self.leafs.documents.cluster
            info["kind"] = "Leafnode"
        return info

    def __repr__(self) -> str:
        return f"{self.peer[0]}:{self.peer[1]} - lid:{self.id}"
