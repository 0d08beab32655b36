"""BackupSender: sends one backup to a client in chunks, as fast as the client acknowledges them.

Promises:
- The backup is the stream as it was when the backup began, without messages that were deleted meanwhile.
- The loop is busy for one chunk at a time.
- The last message has no body and a status that says how the backup ended: 204, or why it was given up.
- A message that cannot be read ends the backup. So a backup is complete, or says that it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .....protocol import headers, s2
from .....protocol.api.stream import StreamState
from .....protocol.archive.entries import END, MAGIC, encode
from .....store.errors import StoreError
from .content import SavedConsumer, consumer_entry, state_entry

if TYPE_CHECKING:
    from ....accounts.subscription import Message, Subscription
    from ....clock import Timer
    from ...consumers.core import Consumer
    from ...streams.core import Stream

SMALLEST_CHUNK, CHUNK, LARGEST_CHUNK = 1024, 128 << 10, 1 << 20
WINDOW, LARGEST_WINDOW = 8 << 20, 32 << 20
ACK_TIMEOUT = 10_000_000_000  # ns without an acknowledgement after which the backup is given up
INTEREST = 2_000_000_000  # ns to wait for the client's subscription
INTEREST_CHECK = 50_000_000  # ns between two checks
_RUN, _RUN_BYTES = 256, 64 << 10  # messages read at once, and bytes of them
_ACK = "$JS.SNAPSHOT.ACK."

Ended = Callable[[str], None]


class BackupAbortedError(Exception):
    """The backup cannot continue. The exception's text is a status line."""


class BackupSender:
    """One backup.

    stream, state: the stream, and its state when the backup begins.
    deliver: the subject to send the chunks to.
    ended: called at the end with the reason why the backup was given up, "" if it is complete.
    """

    def __init__(
        self,
        stream: Stream[Consumer],
        state: StreamState,
        deliver: str,
        ended: Ended,
        *,
        chunk: int = 0,
        window: int = 0,
        consumers: bool = True,
    ) -> None:
        """chunk, window: bytes, 0 for the default. consumers: whether the backup has the consumers too."""
        self._stream = stream
        self._host = stream.host
        self._account = stream.account
        self._deliver = deliver
        self._ended = ended
        self._chunk = min(max(SMALLEST_CHUNK, chunk or CHUNK), LARGEST_CHUNK)
        window = max(min(max(SMALLEST_CHUNK, window or WINDOW), LARGEST_WINDOW), self._chunk)
        self._free = window // self._chunk  # chunks that may be sent before one is acknowledged
        self._index = 0
        self._subject = f"{_ACK}{stream.name}.{self._host.new_id()}"
        self._subscription: Subscription | None = None
        self._timer: Timer | None = None
        self._waiting = self._over = False
        self._named = False  # whether somebody subscribed to exactly this subject
        self._buffer = bytearray(s2.begin())
        saved = [SavedConsumer(c.name, c.config, c.delivery_state.state()) for c in stream.consumers.public()]
        self._source = self._archive(state, saved if consumers else [])

    def start(self) -> None:
        """Begin as soon as somebody subscribes to exactly `deliver`, at the latest after `INTEREST`."""
        self._subscription = self._account.subscribe(self._subject + ".>", self._acknowledged)
        self._wait(INTEREST)

    def _wait(self, timeout: int) -> None:
        """Send the first chunk, but wait up to `timeout` ns for a subscription to exactly `deliver`.

        A client may also have one subscription for all its inboxes, and would drop chunks that come before
        the one for this inbox.
        """
        self._named = self._has_interest_by_name()
        if self._named or timeout <= 0:
            self._patient()
            self._step()
        else:
            self._host.clock.call_later(INTEREST_CHECK, lambda: self._wait(timeout - INTEREST_CHECK))

    def _has_interest_by_name(self) -> bool:
        plain, groups = self._account.sublist.match(self._deliver)
        found = [*plain, *(member for members in groups.values() for member in members)]
        return any(each.subject == self._deliver for each in found)

    @property
    def _has_interest(self) -> bool:
        return self._has_interest_by_name() if self._named else self._account.has_interest(self._deliver)

    def _patient(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._host.clock.call_later(ACK_TIMEOUT, lambda: self._end("408 No Flow Response"))

    def _acknowledged(self, _: Message) -> None:
        self._free += 1
        self._patient()
        if self._waiting:
            self._waiting = False
            self._host.executor.soon(self._step)

    # --- chunks

    def _step(self) -> None:
        """Send one chunk, if the window allows it; at the end, or on an error, send the final status."""
        if self._over:
            return
        if not self._has_interest:
            self._end("408 No Interest")
            return
        if not self._free:
            self._waiting = True
            return
        try:
            whole = self._fill()
        except BackupAbortedError as error:
            self._end(str(error))
            return
        except (StoreError, OSError) as error:
            self._end(f"500 {error}")
            return
        piece = bytes(self._buffer[: self._chunk])
        del self._buffer[: self._chunk]
        if piece:
            self._index += 1
            self._free -= 1
            reply = f"{self._subject}.{len(piece)}.{self._index}"
            self._account.publish(self._deliver, piece, reply=reply)
        if whole:
            self._host.executor.soon(self._step)
        else:
            self._end("")

    def _fill(self) -> bool:
        """Fill the buffer with enough bytes for a chunk; return False if this is the last one."""
        while len(self._buffer) < self._chunk:
            piece = next(self._source, b"")
            if not piece:
                return False
            for at in range(0, len(piece), s2.CHUNK):
                self._buffer += s2.snappy_chunk(piece[at : at + s2.CHUNK])
        return True

    def _archive(self, state: StreamState, consumers: list[SavedConsumer]) -> Iterator[bytes]:
        """Yield the archive in pieces. Raises BackupAbortedError if damaged messages were found."""
        now = self._host.clock.now()
        state.consumer_count = len(consumers)
        entries = [state_entry(state, now)]
        entries += [consumer_entry(consumer, state.first_seq, state.last_seq, now) for consumer in consumers]
        yield MAGIC + b"".join(entry.encode() for entry in entries)
        store = self._stream.store
        lost = len(store.damaged())
        sequence = state.first_seq
        while sequence <= state.last_seq:
            run = store.next_run((), sequence, state.last_seq, _RUN, _RUN_BYTES)
            if not run:
                found = store.next((), sequence)
                if found is None or found.seq > state.last_seq:
                    break
                run = [found]
            yield b"".join([encode(m.subject, m.time, m.seq, m.header, m.body) for m in run])
            sequence = run[-1].seq + 1
        found_lost = len(store.damaged()) - lost
        if found_lost > 0:
            raise BackupAbortedError(
                f"500 {found_lost} messages are damaged; they are listed as lost from now on"
            )
        yield END.encode()

    def _end(self, why: str) -> None:
        if self._over:
            return
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._subscription is not None:
            self._account.unsubscribe(self._subscription)
        self._account.publish(self._deliver, header=headers.encode(status=why or "204"))
        self._ended(why)
