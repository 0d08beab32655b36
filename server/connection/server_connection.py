"""ServerConnection: a connection to another server, a leaf, route or gateway.

It delivers the messages of other servers' clients, and compression may be agreed on. Those that are not
compressed are read as any `Connection` is.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar

from ..accounts.fanout import deliver_routed
from .buffer_budget import SMALL
from .compressed_wire import CompressedWire
from .compression import ACCEPT, AUTO, EFFORTS, NOT_SUPPORTED, OFF, by_rtt, negotiate
from .connection import Connection

if TYPE_CHECKING:
    from ..accounts import Account
    from ..config.options import CompressionOptions, TLSOptions
    from .context import ConnectionContext
    from .wire import ConnectionTransport


class ServerConnection(Connection):
    """A connection to another server.

    number: that of its kind, as plans have it.
    compression: the mode in which this end compresses; "" until it is agreed on.
    """

    number: ClassVar[int]
    compression = ""
    _compressed: CompressedWire | None = None

    def __init__(
        self,
        context: ConnectionContext,
        wire: ConnectionTransport,
        peer: tuple[str, int],
        write_deadline: int,
    ) -> None:
        super().__init__(context, wire, peer, write_deadline)
        # Only the write deadline closes it: what it misses, a whole server or cluster misses.
        self.max_pending = sys.maxsize

    @property
    def compression_options(self) -> CompressionOptions:
        """The options of this connection's compression."""
        raise NotImplementedError

    def agree_on_compression(self, theirs: str) -> str:
        """Note in which mode this end compresses from now on, and return it; see `negotiate`.

        theirs: the peer's mode in its INFO, "" for none.
        """
        self.compression = negotiate(self.compression_options, theirs, self.clock.now() - self.start)
        return self.compression

    @property
    def announced_compression(self) -> str:
        """The mode that the peer is told once it is agreed on."""
        return AUTO if self.compression_options.mode == AUTO else self.compression

    def compress(self, mode: str) -> None:
        """Compress all that is sent from now on, and take all that comes for compressed.

        mode: a key of `EFFORTS`.
        """
        self.flush()
        self.compression = mode
        self.wire = self._compressed = CompressedWire(self.wire, self, self.clock, EFFORTS[mode])
        if not self.awaits_connect:
            self._compressed.admit()

    def adapt_compression(self, rtt: int) -> None:
        """Compress as suits a round trip time (ns) that was measured now, if the options say so."""
        options = self.compression_options
        if self._compressed is not None and options.mode == AUTO:
            self.compression = by_rtt(options, rtt)
            self._compressed.compress(EFFORTS[self.compression])

    def follow_compression(self) -> bool:
        """Compress as the options say now, after they have changed.

        Return False if that needs a new connection, because the peer has to agree.
        """
        mode = self.compression_options.mode
        if self.compression in {NOT_SUPPORTED, mode}:
            return True
        if self._compressed is None or mode in {OFF, ACCEPT, NOT_SUPPORTED}:
            return False
        if mode == AUTO:
            self.adapt_compression(self.ping_timer.rtt)
        else:
            self.compression = mode
            self._compressed.compress(EFFORTS[mode])
        return True

    def is_pinned(self, tls: TLSOptions | None) -> bool:
        """Return whether `pinned_certs` of these options, if there are any, have the peer's certificate."""
        if tls is None or not tls.pinned_certs:
            return True
        return self.secure is not None and self.secure.is_pinned(tls.pinned_certs)

    def _unread(self) -> int:
        """See `Outbound._unread`."""
        return super()._unread() if self._compressed is None else self._compressed.unread()

    # --- reading

    def receive(self, data: bytes) -> None:
        """See `Connection.receive`."""
        if self._compressed is None:
            super().receive(data)
        elif not self.closed_reason:
            self._compressed.feed(data)

    def receive_plain(self, data: bytes) -> None:
        """See `CompressedConnection.receive_plain`."""
        super().receive(data)

    def undecodable(self, reason: str) -> None:
        """See `CompressedConnection.undecodable`."""
        self.context.log.error(f"{self} - read error: {reason}")
        self.close("Read Error")

    def admit(self) -> None:
        """See `Connection.admit`."""
        if self._compressed is not None:
            self._compressed.admit()
        super().admit()

    def count_part(self) -> None:
        """See `CompressedConnection.count_part`."""
        compressed = self._compressed
        if self._in_part or (compressed is not None and compressed.part > SMALL):
            self._count_part(next_message=False)

    def _count_part(self, *, next_message: bool) -> None:
        """See `Connection._count_part`. The chunk that has arrived in part counts too."""
        part = 0 if self._compressed is None else self._compressed.part
        if part <= SMALL:
            super()._count_part(next_message=next_message)
            return
        buffer = self.parser.buffer
        size = buffer.size + part
        self._in_part = True
        need = max(buffer.need, size + SMALL)
        self._buffer_budget.incoming(self, size, need, next_message=next_message)

    # --- messages

    def _quick_account(self) -> Account | None:
        """Return the account that gets the next publishes while they are parsed; None if they need checks."""
        raise NotImplementedError

    def _deliver(
        self, data: bytes, pos: int, most: int, longest: int, largest: int, verbs: tuple[bytes, bytes]
    ) -> tuple[int, int, bool]:
        """Deliver the publishes from `pos` on while they are parsed; see `wire.parser.Deliver`."""
        account = self._quick_account()
        if account is None:
            return pos, 0, True
        pos, count, size, queued = deliver_routed(
            account, self.number, data, pos, most, longest, largest, verbs
        )
        self._count(account, count, size)
        self._flusher.queued_wide(queued)
        return pos, count, not queued

    def _count(self, account: Account | None, messages: int, size: int) -> None:
        self.in_msgs += messages
        self.in_bytes += size
        if account is not None:
            account.in_msgs += messages
            account.in_bytes += size
