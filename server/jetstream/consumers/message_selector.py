"""Which message a consumer gets next, and how many it has yet to get.

`MessageSelector` returns messages due for redelivery first, then picked ones, then the stream in order.
Promises: it never returns a message that is not committed or fails its checksum. A message that could not be
sent can be given back, and then comes first.

`NumPending` counts once, and is then kept up to date. Promises: it never walks the stream. For new messages
it asks the store's index about the new sequences only; deliveries and removals are counted as they happen.

Both read the stream, and send nothing.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from ....protocol.lazy_dataclass import dataclass
from ....protocol.subject import matches
from ....store.errors import Damaged, NotFound
from ....store.message import StoredMessage
from ....store.sequences import Sequences
from ....store.stream import StreamStore
from .delivery_state import DeliveryState

AHEAD_SIZE = 1 << 18  # bytes that are read ahead at most, unless one message is larger


@dataclass(slots=True)
class StartPosition:
    """Where a consumer begins to read.

    next_seq: the first sequence to look at.
    picked: the only sequences to deliver below `resume`, ascending.
    resume: from this sequence on all messages are delivered; 0 if none are picked.
    """

    next_seq: int
    picked: list[int] | Sequences
    resume: int = 0


class MessageSelector:
    """The reading position of a consumer in the store of its stream.

    lost: called with (sequence, text) for a message that cannot be read.
    dropped: called with the sequence of a message that was due again but left the stream.
    exhausted: called with the sequence of a message that is out of deliveries.
    filters: the subjects that it selects; empty for all.
    next_seq: the next new message is at or after this sequence.
    ahead: how many messages to read at once; 1 for no reading ahead.
    """

    __slots__ = (
        "_ahead",
        "_delivery_state",
        "_dropped",
        "_exhausted",
        "_lost",
        "_picked",
        "_resume",
        "_returned",
        "_store",
        "ahead",
        "filters",
        "next_seq",
    )

    def __init__(
        self,
        store: StreamStore,
        delivery_state: DeliveryState,
        filters: Sequence[str],
        *,
        lost: Callable[[int, str], None],
        dropped: Callable[[int], None],
        exhausted: Callable[[int], None],
    ) -> None:
        self._store = store
        self._delivery_state = delivery_state
        self.filters = tuple(filters)
        self.next_seq = 1
        self.ahead = 1
        self._ahead: deque[StoredMessage] = deque()  # read and not taken yet, at or after next_seq
        self._picked = Sequences()
        self._resume = 0
        self._returned: StoredMessage | None = None
        self._lost = lost
        self._dropped = dropped
        self._exhausted = exhausted

    def start(self, start: StartPosition) -> None:
        """Begin where `start` says."""
        self.next_seq = start.next_seq
        picked = start.picked
        self._picked = picked if isinstance(picked, Sequences) else Sequences(picked)
        self._resume = start.resume
        self.rest()
        self._returned = None

    def restart(self, seq: int) -> None:
        """Continue at `seq`, whatever was to come before."""
        self.start(StartPosition(seq, []))

    @property
    def picked(self) -> int:
        """How many picked messages are not taken yet."""
        return len(self._picked)

    @property
    def tail(self) -> int:
        """The sequence from which on no message is taken yet."""
        return max(self.next_seq, self._resume) if self._picked else self.next_seq

    def take(self, committed: int) -> tuple[StoredMessage, int] | None:
        """Take the next message; return it and the number of this delivery of it, 1 for the first.

        committed: the last sequence that may be delivered. Returns None at the end of the stream, and when
        the consumer has too many pending messages.
        """
        state = self._delivery_state
        if state.queued:
            again = self._take_again()
            if again is not None:
                return again
        # The same as `stalled`, without a call for each message.
        if 0 < state.max_ack_pending <= len(state.pending) + len(state.aside):
            return None
        if self._returned is not None:
            message, self._returned = self._returned, None
        elif self._resume and self._picked:
            return self._take_picked(committed)
        elif self._ahead:
            message = self._ahead.popleft()
        else:
            return self._take_new(committed)
        self.next_seq = message.seq + 1
        return message, 1

    def peek(self, most: int, committed: int) -> list[StoredMessage]:
        """Return up to `most` of the next messages without taking them; see `skip`.

        The list is empty if something must be redelivered, given back or picked first, if the consumer is
        stalled, or if the store is damaged.
        """
        delivery_state, store = self._delivery_state, self._store
        if (
            delivery_state.queued
            or self._returned is not None
            or self._picked
            or delivery_state.stalled
            or store.damaged()
        ):
            return []
        if not self._ahead and self.next_seq <= committed:
            self._ahead.extend(store.next_run(self.filters, self.next_seq, committed, most, AHEAD_SIZE))
        return list(islice(self._ahead, most))

    def skip(self, count: int) -> None:
        """Take the first `count` messages that `peek` returned."""
        self.next_seq = self._ahead[count - 1].seq + 1
        if count == len(self._ahead):
            self._ahead.clear()
        else:
            for _ in range(count):
                self._ahead.popleft()

    def _take_again(self) -> tuple[StoredMessage, int] | None:
        delivery_state = self._delivery_state
        while seq := delivery_state.take():
            if delivery_state.exhausted(seq):
                self._exhausted(seq)
                continue
            try:
                return self._store.get(seq), delivery_state.deliveries(seq) + 1
            except NotFound:
                self._dropped(seq)
            except Damaged as damage:
                self._lost(seq, damage.where)
                self._dropped(seq)
        return None

    def _take_picked(self, committed: int) -> tuple[StoredMessage, int] | None:
        while self._picked:
            seq = self._picked.pop_first()
            self.next_seq = seq + 1 if self._picked else max(self._resume, seq + 1)
            try:
                return self._store.get(seq), 1
            except NotFound:
                continue
            except Damaged as damage:
                self._lost(seq, damage.where)
        return self._take_new(committed)

    def rest(self) -> None:
        """Drop what was read ahead and not taken, to free its memory; it is read again when needed."""
        self._ahead.clear()

    def _take_new(self, committed: int) -> tuple[StoredMessage, int] | None:
        if self.next_seq > committed:
            return None
        store = self._store
        if self.ahead > 1 and not store.damaged():
            self._ahead.extend(store.next_run(self.filters, self.next_seq, committed, self.ahead, AHEAD_SIZE))
            if self._ahead:
                first = self._ahead.popleft()
                self.next_seq = first.seq + 1
                return first, 1
        message = store.next(self.filters, self.next_seq)
        if (message is None or message.seq > self.next_seq) and (lost := store.damaged()):
            self._report_lost(lost, message.seq if message is not None else committed + 1)
        if message is None:
            self.next_seq = max(self.next_seq, store.last_seq + 1)
            return None
        if message.seq > committed:
            self._returned, self.next_seq = None, message.seq
            return None
        self.next_seq = message.seq + 1
        return message, 1

    def _report_lost(self, lost: list[int], end: int) -> None:
        for seq in lost:
            if self.next_seq <= seq < end:
                self._lost(seq, "it is damaged")

    def give_back(self, message: StoredMessage, count: int) -> None:
        """Take back a message that was taken but not delivered, as delivery `count`: it comes first again."""
        if count > 1:
            self._delivery_state.queue_first(message.seq)
        elif self._resume and message.seq < self._resume:
            self._picked.prepend(message.seq)
            self.next_seq = message.seq
        else:
            # It is kept, so that a message which has to wait for its time is read only once.
            self._returned, self.next_seq = message, message.seq

    def removed(self, seq: int) -> bool:
        """Take note that a message left the stream; return True if it was picked and not taken yet."""
        if self._returned is not None and self._returned.seq == seq:
            self._returned = None
        if self._ahead and seq >= self._ahead[0].seq:
            self.rest()
        if self._picked.discard(seq):
            if not self._picked:
                self.next_seq = max(self.next_seq, self._resume)
            return True
        return False

    def purged(self, first_seq: int, gone: Iterable[int]) -> None:
        """Take note that these, and everything below `first_seq`, left the stream."""
        self._returned = None
        self.rest()
        self.next_seq = max(self.next_seq, first_seq)
        if self._picked:
            self._picked.drop_before(first_seq)
            for seq in gone:
                self._picked.discard(seq)
            if not self._picked:
                self.next_seq = max(self.next_seq, self._resume)

    def refilter(self, filters: Sequence[str]) -> None:
        """Continue with other filters."""
        self.filters = tuple(filters)
        self.rest()
        self._returned = None


class NumPending:
    """The number of matching messages at or after the consumer's position.

    count: the number, up to date except for what was stored since the last `grow`.
    """

    __slots__ = ("_filters", "_store", "_through", "count")

    def __init__(self, store: StreamStore, filters: Sequence[str]) -> None:
        self._store = store
        self._filters = tuple(filters)
        self.count = 0
        self._through = 0  # the last sequence that was counted

    def recount(self, next_seq: int, picked: int = 0, filters: Sequence[str] | None = None) -> None:
        """Count again from `next_seq`, and add `picked` messages before it that are still to come."""
        if filters is not None:
            self._filters = tuple(filters)
        self.count = picked + self._store.count(self._filters, next_seq)
        self._through = max(self._store.last_seq, next_seq - 1)

    def left(self, next_seq: int, picked: int) -> int:
        """Return the number for a consumer that continues at `next_seq`, with `picked` messages before it."""
        self.grow()
        if next_seq > self._store.last_seq and not picked:
            self.count = 0  # at the end of the stream; the count may still include messages lost to damage
        return max(self.count, 0)

    def grow(self) -> None:
        """Count the messages stored since the last call."""
        last = self._store.last_seq
        if last > self._through:
            self.count += self._store.count(self._filters, self._through + 1)
            self._through = last

    def removed(self, seq: int, subject: str, next_seq: int) -> None:
        """Take note that the message `seq` left the stream before it was delivered."""
        if next_seq <= seq <= self._through and self.selects(subject):
            self.count -= 1

    def selects(self, subject: str) -> bool:
        """Return whether the consumer's filters match `subject`."""
        filters = self._filters
        return not filters or subject in filters or any(matches(one, subject) for one in filters)
