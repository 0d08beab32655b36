"""BufferBudget: limits the bytes that are buffered for all connections together.

It counts messages that have arrived in part, and what was written and not yet taken by the peer. Above
`limit` memory is short, until an eighth of the limit is free again. While it is short,

- of the connections in the middle of a message the oldest are still read: as many as need no more than a
  quarter of the limit for the rest of their messages, and at least one. The newer ones wait and are not read.
- a connection that has published to a peer that does not keep up waits until there is room. Such peers are
  closed by their write deadline, so nobody waits forever.
- a connection that is still read and sends less than 64 KiB in each of three seconds is closed, because it
  would hold up the others. Each time that happens, twice as much is allowed in place of the quarter.

It counts what has arrived, not what was announced: to make others wait, somebody has to fill the memory
first. Promises: at most the limit and three quarters more are buffered, besides one read of each connection;
whatever peers do, somebody is read, and nobody who does not send can keep that place. Small messages (8 KiB)
never wait and are not counted, since a connection itself costs as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..clock import SECOND

if TYPE_CHECKING:
    from ..clock import Clock
    from ..logging import Logger

SMALL = 8 << 10  # bytes; a message up to this size is not counted
SLOW = "Payload Timeout"
_SLOWEST = 64 << 10  # bytes a second
_STRIKES = 3
_TICK = SECOND // 10


class PendingOutput(Protocol):
    """What was written for a peer."""

    @property
    def pending(self) -> int:
        """Bytes that the peer has not taken."""


class BufferedConnection(PendingOutput, Protocol):
    """A connection as the budget sees it."""

    @property
    def awaits_connect(self) -> bool:
        """Whether its peer must log in before anything else."""

    def wait(self) -> None:
        """Read nothing until `proceed`."""

    def proceed(self) -> None:
        """Read on: there is memory again."""

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer why, then close."""


class PartialMessage:
    """A message of which a part has arrived.

    size: how many bytes of it have arrived.
    need: how many bytes it has in all.
    waits: whether its connection is not read.
    strikes: how many seconds in a row brought too little of it.
    seen: `size` at the last check, which was at `seen_at` (ns).
    """

    __slots__ = ("connection", "need", "seen", "seen_at", "size", "strikes", "waits")

    def __init__(self, connection: BufferedConnection) -> None:
        self.connection = connection
        self.size = 0
        self.need = 0
        self.waits = False
        self.strikes = 0
        self.seen = 0
        self.seen_at = 0


class BufferBudget:
    """The buffer budget of a server; see the module.

    limit: bytes.
    short: whether memory is short.
    waits: how often a connection had to wait.
    """

    def __init__(self, clock: Clock, log: Logger, limit: int) -> None:
        self.limit = limit
        self.short = False
        self.waits = 0
        self._clock = clock
        self._log = log
        self._incoming = 0
        self._outgoing = 0
        self._parts: dict[BufferedConnection, PartialMessage] = {}  # oldest first
        self._pending: dict[PendingOutput, int] = {}  # bytes that each had not taken when last asked
        self._producers: dict[BufferedConnection, None] = {}
        self._generosity = 1
        self._reviewing = False

    @property
    def size(self) -> int:
        """Bytes buffered now. What peers have not taken counts as it was when last looked at."""
        return self._incoming + self._outgoing

    @property
    def waiting(self) -> int:
        """How many connections are not read at the moment."""
        return len(self._producers) + sum(part.waits for part in self._parts.values())

    # --- what connections report

    def incoming(self, connection: BufferedConnection, size: int, need: int, *, next_message: bool) -> None:
        """Count the part of a message that has arrived: `size` of `need` bytes.

        next_message: the message that was counted before is finished.
        """
        part = self._parts.get(connection)
        if next_message or need <= SMALL:
            if part is not None:
                self._drop(part)
                part = None
            if need <= SMALL:
                return
        begins = part is None
        if part is None:
            part = self._parts[connection] = PartialMessage(connection)
            part.seen_at = self._clock.now()
        self._incoming += size - part.size
        part.size, part.need = size, need
        if self.short:
            if begins:
                self._wait(part)
            self._review_soon()
        elif self.size > self.limit:
            self._begin()

    def outgoing(self, queue: PendingOutput, pending: int) -> None:
        """Count `pending` bytes as not taken by a peer."""
        before = self._pending.get(queue, 0)
        self._outgoing += pending - before
        if pending:
            self._pending[queue] = pending
        elif before:
            del self._pending[queue]
        if pending > before and not self.short and self.size > self.limit:
            self._begin()

    def forget(self, connection: BufferedConnection) -> None:
        """Forget a connection that is closed."""
        part = self._parts.get(connection)
        if part is not None:
            self._drop(part)
        self._producers.pop(connection, None)
        self.outgoing(connection, 0)

    def hold_back(self, connection: BufferedConnection) -> None:
        """Read nothing from a producer while memory is short."""
        if connection not in self._producers:
            self._producers[connection] = None
            self.waits += 1
            connection.wait()

    def _recount(self) -> None:
        for queue, before in list(self._pending.items()):
            pending = queue.pending
            if pending != before:
                self.outgoing(queue, pending)

    # --- while memory is short

    def _begin(self) -> None:
        self.short = True
        self._generosity = 1
        self._log.warning(
            f"{self.size} bytes are held for connections, more than max_buffered ({self.limit}): "
            "the newest senders wait"
        )
        self._review()  # now, because one turn of the loop may read megabytes from each
        self._clock.call_later(_TICK, self._tick)

    def _end(self) -> None:
        self.short = False
        for part in self._parts.values():
            self._go_on(part)
        producers, self._producers = self._producers, {}
        for connection in producers:
            connection.proceed()
        self._log.info(f"{self.size} bytes are held for connections: nobody waits any more")

    def _drop(self, part: PartialMessage) -> None:
        del self._parts[part.connection]
        self._incoming -= part.size
        self._go_on(part)
        if self.short:
            self._review_soon()

    def _review_soon(self) -> None:
        """Review once in a turn of the loop, however many messages begin or end in it."""
        if not self._reviewing:
            self._reviewing = True
            self._clock.soon(self._review)

    def _review(self) -> None:
        """Decide which connections are read: the oldest, as long as there is room for their messages."""
        self._reviewing = False
        if not self.short:
            return
        if self.size <= self.limit - self.limit // 8:
            self._end()
            return
        quarter = self.limit // 4
        room = min(quarter * self._generosity, self.limit + 3 * quarter - self.size)
        first = True
        for part in self._parts.values():
            missing = part.need - part.size
            if first or missing <= room:
                self._go_on(part)
                room -= missing
            else:
                self._wait(part)
            first = False

    def _wait(self, part: PartialMessage) -> None:
        if not part.waits:
            part.waits = True
            self.waits += 1
            part.connection.wait()

    def _go_on(self, part: PartialMessage) -> None:
        if part.waits:
            part.waits = False
            part.strikes, part.seen, part.seen_at = 0, part.size, self._clock.now()
            part.connection.proceed()

    def _tick(self) -> None:
        if not self.short:
            return
        self._recount()
        self._strike()
        self._review_soon()
        self._clock.call_later(_TICK, self._tick)

    def _strike(self) -> None:
        """Close connections that are read and do not send."""
        now = self._clock.now()
        slow = []
        for part in self._parts.values():
            if part.waits or part.connection.awaits_connect or now - part.seen_at < SECOND:
                continue
            part.strikes = part.strikes + 1 if part.size - part.seen < _SLOWEST else 0
            part.seen, part.seen_at = part.size, now
            if part.strikes >= _STRIKES:
                slow.append(part.connection)
        if slow:
            self._generosity *= 2
        for connection in slow:
            connection.fail(SLOW, SLOW)
