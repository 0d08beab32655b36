"""Connection: one connection of any protocol, with its peer, what it has sent, and its end. Knows no socket.

Each kind of connection defines what operations mean (`_serve`) and what it must release at the end
(`_release`). Promises: operations are served in order; nothing is served after a connection was closed, and
it ends once, whoever ends it; a producer waits for peers that read too slowly, but never for long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...protocol.timestamp import format_rfc3339
from ...protocol.wire import encode
from ..accounts.subscription import Message, MessageEndpoint
from .buffer_budget import SMALL
from .input_buffer import SLOW, InputBuffer
from .outbound import Outbound

if TYPE_CHECKING:
    from ...protocol.errors import PeerError
    from ...protocol.wire.ops import Op
    from ...protocol.wire.parser import Parser
    from ..accounts import Account
    from ..accounts.flusher import OutboundQueue
    from ..accounts.plan import Plan
    from ..accounts.subscription import ConnectionKind
    from .context import ConnectionContext
    from .ping_timer import PingTimer
    from .secure import TLSState
    from .upgrade import Upgrade
    from .wire import ConnectionTransport

_STALL = 10_000_000  # ns that a producer waits, at most, for stalled peers
_TURN = 5_000_000  # ns after which other connections have their turn, whatever one read brought
_LINGER = 20_000_000  # ns in which the unread input of a waiting connection is dropped before its close


class Connection(Outbound, MessageEndpoint):
    """A connection of any kind.

    peer: (host, port) of the other end.
    start, last_activity: when it began, and when the peer last sent an operation, in ns.
    account: None before login.
    secure: the result of the TLS handshake; None without TLS.
    upgrade: what the HTTP request of a WebSocket connection told; None for any other.
    proxy_key: the public key of the trusted proxy that it comes through, "" for none.
    closed_reason: why it was closed; "" while it is open.
    stalls: how often it was stalled because others read too slowly.
    """

    kind: ConnectionKind
    tag: ClassVar[str]  # stands before its id in the log
    description: ClassVar[Mapping[str, str]]  # what `client_info` shows of its kind
    parser: Parser
    ping_timer: PingTimer

    def __init__(
        self,
        context: ConnectionContext,
        wire: ConnectionTransport,
        peer: tuple[str, int],
        write_deadline: int,
    ) -> None:
        super().__init__(
            wire, context.flusher, context.buffer_budget, context.options.max_pending, write_deadline
        )
        self.context = context
        self.id = context.next_id()
        self.peer = peer
        self.start = context.clock.now()
        self.last_activity = self.start
        self.account: Account | None = None
        self.in_msgs = 0
        self.in_bytes = 0
        self.stalls = 0
        self.closed_reason = ""
        self.secure: TLSState | None = None
        self.upgrade: Upgrade | None = None
        self.proxy_key = ""
        self._buffer = InputBuffer()
        self._pending_operations: list[Op] = []  # parsed, and not served yet
        self._pauses = 0  # how many calls of `pause` have no `resume` yet
        self._stalled = self._paused = self._scheduled = self._over = False
        self.until = 0
        self._waits = 0  # how many calls of `wait` have no `proceed` yet
        self._in_part = False

    # --- what each kind defines

    def open(self) -> None:
        """Begin: the wire exists."""
        raise NotImplementedError

    def who(self) -> dict[str, Any]:
        """Return what the peer sent about itself at login, as `client_info` shows it."""
        raise NotImplementedError

    def _serve(self, operations: Iterator[Op]) -> None:
        """Serve operations until there are none left, or the connection closes or goes on hold.

        What is left when it goes on hold stays in `_pending_operations`.
        """
        raise NotImplementedError

    def _release(self, reason: str) -> None:
        """Release what is this kind's own after the close, and report it.

        Interest ends before `stop_writing`.
        """
        raise NotImplementedError

    # --- reading

    @property
    def awaits_connect(self) -> bool:
        """Whether the peer must log in before anything it sends is kept or served."""
        return self.parser.awaits_connect

    def receive(self, data: bytes) -> None:
        """Serve what one read brought: as much as one turn allows now, the rest after other connections."""
        if self.closed_reason:
            return
        buffer = self._buffer
        waits = self._scheduled or self._pauses or buffer.reads or self._pending_operations
        if waits or len(data) > buffer.piece:
            buffer.add(data)
            data = b""
        if not self._scheduled:
            self._work(data)

    def ended(self) -> None:
        """Close when everything is served that the peer has sent: it sends nothing more."""
        self._over = True
        if not (self._buffer.reads or self._pending_operations):
            self.close("Client Closed")

    def _work(self, piece: bytes = b"") -> None:
        """Serve what was read until the turn is over, then arrange for the rest.

        piece: a whole read, if nothing comes before it and it is not larger than a piece, as is usual. It
        does not enter the buffer.
        """
        now, buffer, parser, flusher = self.clock.now, self._buffer, self.parser, self._flusher
        overflows = flusher.overflows
        began = now()
        self.until = began + _TURN
        same = flusher.reader == id(self)  # what follows is `Flusher.begin_read`, without a call
        flusher.before = None if same else (flusher.reader, flusher.since)
        flusher.since = flusher.since if same else began
        flusher.reader = id(self)
        flusher.reading = True
        try:
            while began < self.until and not (self.closed_reason or self._pauses):
                if piece:
                    pass
                elif self._pending_operations:
                    self._serve_pending()
                    began = now()
                    continue
                elif buffer.reads:
                    piece = buffer.take_all() if parser.awaits_connect else buffer.take()
                else:
                    break
                operations = parser.feed(piece)
                served = bool(operations) or parser.delivered > 0
                if served:  # bytes alone do not count: a line or payload that never ends is no activity
                    self.last_activity = began
                if self._in_part or parser.buffer.need > SMALL:
                    self._count_part(next_message=served)
                left = parser.left
                if left:
                    buffer.give_back(piece, left)
                if operations:
                    self._serve(iter(operations))
                size = len(piece) - left
                piece = b""
                ended = now()
                if size >= buffer.piece or ended - began > SLOW:
                    buffer.took(size, ended - began)
                began = ended
        except BaseException:
            flusher.end_read()
            flusher.reading = False
            flusher.schedule()
            raise
        if flusher.at_end:
            flusher.end_read()
        flusher.reading = False
        if flusher.pending_flush:
            flusher.flush()
        if self.flush_pending or flusher.overflows != overflows:
            self._write_later(overflowed=flusher.overflows != overflows)
        if self._paused or self._over or self.closed_reason or buffer.reads or self._pending_operations:
            self._read_on()

    def _write_later(self, *, overflowed: bool) -> None:
        """Go on after a turn of which not everything is written.

        overflowed: this connection caused more than the flusher could write in one turn. Then it reads
        nothing until all of that is written.
        """
        if not overflowed:
            self.flush()  # it is among those that are written to later: its answers need not wait for that
            return
        if self.closed_reason or self._stalled:
            return
        self._stalled = True
        self._pause()
        self._flusher.when_written(self._written)

    def _written(self) -> None:
        self._stalled = False
        self.stall_behind_slow_peers()
        self._read_on()

    def _read_on(self) -> None:
        """Go on with what is buffered, or else read from the peer, unless there is a reason to wait."""
        if self.closed_reason:
            self._buffer.clear()
        elif self._pauses or self._stalled or self._scheduled:
            return
        elif self._buffer.reads or self._pending_operations:
            self._pause()
            self._scheduled = True
            self.clock.soon(self._next_turn)
        elif self._over:
            self.close("Client Closed")
        elif self._paused and not self._waits:
            self._paused = False
            self.wire.resume_reading()

    def _next_turn(self) -> None:
        self._scheduled = False
        if not self._stalled:
            self._work()
            self.stall_behind_slow_peers()

    def stall_behind_slow_peers(self) -> None:
        """Stall this producer if others have not read what they were sent."""
        flusher = self._flusher
        if flusher.stalled:
            self.stall(flusher.take_stalled())

    def _pause(self) -> None:
        self._paused = True
        self.wire.pause_reading()

    def _keep(self, operation: Op, operations: Iterator[Op]) -> None:
        """Keep `operation`, which may take long, and the operations after it for the next turn."""
        self._pending_operations.append(operation)
        self._pending_operations.extend(operations)

    def must_pause(self, operations: Iterator[Op]) -> bool:
        """Return whether to serve no more of these operations now.

        They are dropped if the connection is closed, and kept if it is on hold or its turn is over.
        """
        if self.closed_reason:
            return True
        if not self._pauses and self.clock.now() < self.until:
            return False
        self._pending_operations.extend(operations)
        return True

    def _count_part(self, *, next_message: bool) -> None:
        """Report to the buffer budget how much of an unfinished message has arrived."""
        buffer = self.parser.buffer
        need = buffer.size if self.parser.awaits_connect else buffer.need
        self._in_part = need > SMALL
        self._buffer_budget.incoming(self, buffer.size, need, next_message=next_message)

    def admit(self) -> None:
        """Accept the peer after its CONNECT: what it sent after that is served next."""
        kept = self.parser.connected() if self.parser.awaits_connect else b""
        if kept:
            self._buffer.put_back(kept)

    def _serve_pending(self) -> None:
        pending, self._pending_operations = self._pending_operations, []
        self._serve(iter(pending))

    def pause(self) -> None:
        """Serve nothing more until `resume`, because everything else depends on an answer.

        Each `pause` needs its own `resume`.
        """
        self._pauses += 1
        self._pause()

    def resume(self) -> None:
        """Serve what has arrived meanwhile, and read on."""
        self._pauses -= 1
        if not (self._pauses or self.closed_reason):
            self._work()

    def wait(self) -> None:
        """Read nothing until `proceed`, because memory is short."""
        self._waits += 1
        self._pause()

    def proceed(self) -> None:
        """Read on: there is memory again."""
        self._waits -= 1
        self._read_on()

    def stall(self, stalled: list[OutboundQueue]) -> None:
        """Read nothing until the first of `stalled` has caught up, at most for `_STALL`.

        While memory is short, read nothing until it no longer is.
        """
        if self.closed_reason:
            return
        if self._buffer_budget.short:
            self._buffer_budget.hold_back(self)
        if self._pauses or self._stalled or self.context.options.no_fast_producer_stall:
            return
        self.stalls += 1
        self._stalled = True
        self._pause()

        def resume() -> None:
            if self._stalled:
                self._stalled = False
                timer.cancel()
                self._read_on()

        timer = self.clock.call_later(_STALL, resume)
        for queue in stalled:
            queue.when_writable(resume)

    # --- publishes that need more than to be queued for their targets

    def serve_special(
        self, plan: Plan, operation: Op, operations: Iterator[Op], source: MessageEndpoint | None = None
    ) -> bool:
        """See `fanout.Producer`. source: where the publish comes from; None means this connection."""
        if plan.callbacks:
            _, _, reply, header_size, size, tail = operation
            start = len(tail) - 2 - size
            body_at = start + header_size
            shown = reply.decode("utf-8", "surrogateescape")
            message = Message(
                plan.text, shown, tail[start:body_at], tail[body_at:-2], self if source is None else source
            )
            for subscription in plan.callbacks:
                subscription.delivered += 1
                if subscription.callback is not None:
                    subscription.callback(message)
        elif plan.silent:
            if operation[2]:
                self._no_responders(plan.subject, operation[2])
            return False  # hardly anything was done
        if plan.wide:
            self._flusher.queued_wide(plan.wide)
        return self.must_pause(operations)

    def _no_responders(self, subject: bytes, reply: bytes) -> None:
        """Report that nobody received a request. Only clients are told."""

    # --- the end

    def lost(self, reason: str = "Client Closed") -> None:
        """End the connection, whose wire is gone."""
        self._end(reason)

    def close(self, reason: str) -> None:
        """Close from our side, after sending what is queued."""
        if self.closed_reason:
            return
        self.flush()
        self._end(reason)
        if self.wire.get_write_buffer_size():
            # What is still queued has the usual time: a peer that does not read it cannot keep it here.
            self.clock.call_later(self.write_deadline, self.wire.abort)
        if not self._paused:
            self.wire.close()
            return
        # Unread input would turn the close into a reset, which can discard the last lines that were sent.
        self.wire.resume_reading()
        self.clock.call_later(_LINGER, self.wire.close)

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer why, then close."""
        if not self.closed_reason:
            self.send_line(encode.err(text))
            self.close(reason)

    def stale(self) -> None:
        """Close, because the peer does not answer pings."""
        self.fail("Stale Connection", "Stale Connection")

    def slow_consumer(self, reason: str, *, keep: bool = False) -> None:
        """See `Outbound.slow_consumer`."""
        if self.closed_reason:
            return
        self.count_slow()
        self.context.log.warning(f"{self} - Slow Consumer Detected: {reason}, {self.pending} bytes pending")
        if not keep:
            self._end(reason)
            self.wire.abort()

    def _broken(self, peer_error: PeerError) -> None:
        """Close a peer that broke the protocol, after telling it if NATS has an error text for that."""
        self.context.log.error(f"{self} - {peer_error.reason}")
        if peer_error.text:
            self.send_line(encode.err(peer_error.text))
        self.close(peer_error.reason.partition(":")[0].partition(" (")[0])

    def _end(self, reason: str) -> None:
        if self.closed_reason:
            return
        self.closed_reason = reason
        self._buffer.clear()
        self._pending_operations.clear()
        self.parser.buffer.clear()
        self.ping_timer.stop()
        self._release(reason)
        self._buffer_budget.forget(self)

    # --- description

    def client_info(self, *, share: bool = True) -> dict[str, object]:
        """Return what advisories show of this connection; see MessageEndpoint."""
        info: dict[str, object] = {}
        if share:
            info["start"] = format_rfc3339(self.start)
            info["host"] = self.peer[0]
            info["id"] = self.id
        info["acc"] = self.account.name if self.account is not None else ""
        if share:
            info.update((key, value) for key, value in self.who().items() if value)
        if self.ping_timer.rtt:
            info["rtt"] = self.ping_timer.rtt
        if share:
            info.update(self.context.server_fields())
            info.update(self.description)
        return info

    def __repr__(self) -> str:
        before = "" if self.upgrade is None else self.upgrade.prefix()
        return f"{before}{self.peer[0]}:{self.peer[1]} - {self.tag}:{self.id}"
