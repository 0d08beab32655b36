"""BufferBudget: the bytes buffered for all connections together, and which wait when they are too many.

Counted are messages of which a part has come, and what was written and not taken by its peer. Above `limit`
memory is short, until an eighth of it is free again. While it is short,

- of those in the middle of a message the oldest are read on, as many as a quarter of the limit is enough for,
  and one in any case; the newer ones wait, and are not read;
- a connection that has published to a peer that does not keep up waits until there is room. Such peers are
  closed by their write deadline, so nobody waits for ever;
- one that is read on and brings less than 64 KiB in each of three seconds is closed: it would hold up the
  others. Each time that happens, twice as many are read on.

What is counted is what has come, not what was announced: to make others wait, memory has to be filled first.
Promises: at most the limit and three quarters more, besides one read of each connection; whatever peers do,
somebody is read on, and nobody who does not send can keep that place. Small messages (8 KiB) are never
waited for or counted: a connection costs as much by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..clock import SECOND

if TYPE_CHECKING:
    from ..clock import Clock
    from ..logging import Logger

SMALL = 8 << 10  # bytes of a message that is not counted
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
    """A connection as its buffers see it."""

    @property
    def awaits_connect(self) -> bool:
        """Whether its peer must log in before anything else."""

    def wait(self) -> None:
        """Read nothing until `proceed`."""

    def proceed(self) -> None:
        """There is memory again."""

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer why, then close."""


class PartialMessage:
    """A message of which a part has come. size: bytes of it here; need: of all of it. strikes: seconds in
    which too little came.
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
    """See the module. limit: bytes. short: whether they are exceeded. waits: how often somebody waited."""

    def __init__(self, clock: Clock, log: Logger, limit: int) -> None:
        self.limit = limit
        self.short = False
        self.waits = 0
        self._clock = clock
        self._log = log
        self._incoming = 0
        self._outgoing = 0
        self._parts: dict[BufferedConnection, PartialMessage] = {}  # oldest first
        self._pending: dict[PendingOutput, int] = {}  # what each has not taken, when it was last asked
        self._producers: dict[BufferedConnection, None] = {}
        self._generosity = 1
        self._reviewing = False

    @property
    def size(self) -> int:
        """Bytes buffered now; those that peers have not taken as they were last seen."""
        return self._incoming + self._outgoing

    @property
    def waiting(self) -> int:
        """Connections that are not read at the moment."""
        return len(self._producers) + sum(part.waits for part in self._parts.values())

    # --- what connections tell

    def incoming(self, connection: BufferedConnection, size: int, need: int, *, anew: bool) -> None:
        """`size` of `need` bytes of a message have come; `anew`: one before it has been finished."""
        part = self._parts.get(connection)
        if anew or need <= SMALL:
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
        """`pending` bytes are not taken by a peer."""
        before = self._pending.get(queue, 0)
        self._outgoing += pending - before
        if pending:
            self._pending[queue] = pending
        elif before:
            del self._pending[queue]
        if pending > before and not self.short and self.size > self.limit:
            self._begin()

    def forget(self, connection: BufferedConnection) -> None:
        """A connection is closed."""
        part = self._parts.get(connection)
        if part is not None:
            self._drop(part)
        self._producers.pop(connection, None)
        self.outgoing(connection, 0)

    def hold_back(self, connection: BufferedConnection) -> None:
        """Read nothing of a producer while memory is short."""
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
        self._review()  # now: one turn of the loop may read megabytes of each
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
        """Once in a turn of the loop, however many bring or finish something in it."""
        if not self._reviewing:
            self._reviewing = True
            self._clock.call_later(0, self._review)

    def _review(self) -> None:
        """Decide which are read on: the oldest, as far as what they still bring has room."""
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
        """Close those that are read on and do not send."""
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
