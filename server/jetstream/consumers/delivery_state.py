"""DeliveryState: what was delivered, what is acknowledged, what waits for an ack and what is due again.

Promises (the numbers are used in the tests):
 1. the ack floor never passes the lowest pending message, and never the last delivered one;
 2. a message is pending from its first delivery until it is acked, terminated, gone, or out of deliveries;
 3. a message keeps the consumer sequence of its first delivery while it is pending;
 4. only pending messages are queued for redelivery.
Costs: each operation is O(1) amortized, or goes in steps of `STEP` messages and leaves the state consistent
after each. There is no timer or object per message: an entry is a tuple in a dict. No clock, stream or store
is read: times (ns) and sequences are arguments.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat

from ....store.consumer_state import ConsumerChange, ConsumerState
from ....store.subjects import Heap
from .sequence_heap import SequenceHeap

# As nats-server does (server/consumer.go: ackWaitDelay), so that a burst expires at once.
GRACE = 1_000_000
STEP = 256  # messages in one step
MANY = 8192  # with more messages than this, a save has only what changed: copying all would take too long

Entry = tuple[int, int]


class DeliveryState:
    """The delivery and ack state of one consumer.

    ack_wait, backoff: ns; nothing expires if ack_wait is 0 and backoff empty.
    max_deliver, max_ack_pending: less than 1 for no limit.
    leaving: messages that are about to be given up, and count as out of deliveries.
    """

    __slots__ = (
        "_changes",
        "_deadlines",
        "_given_up",
        "_latest",
        "_remains",
        "_window",
        "ack_wait",
        "aside",
        "backoff",
        "consumer_seq",
        "floor_consumer",
        "floor_stream",
        "leaving",
        "max_ack_pending",
        "max_deliver",
        "pending",
        "queued",
        "redelivered",
        "stream_seq",
        "track",
    )

    def __init__(self, *, track: bool, ack_wait: int = 0, backoff: tuple[int, ...] = ()) -> None:
        self.track, self.ack_wait, self.backoff = track, ack_wait, backoff
        self.max_deliver, self.max_ack_pending = -1, 0
        self.consumer_seq = self.stream_seq = self.floor_consumer = self.floor_stream = 0
        self.leaving: set[int] = set()
        # Each pending message is in one of these: stream seq -> (consumer seq of its first delivery, time of
        # its last one). `pending` is in the order of that time and so of the deadlines; `aside` has what is
        # queued, delayed or under a backoff.
        self.pending: dict[int, Entry] = {}
        self.aside: dict[int, Entry] = {}
        self.redelivered: dict[int, int] = {}  # stream seq -> how often it was delivered again
        self.queued: OrderedDict[int, None] = OrderedDict()  # due for redelivery, in that order
        # Delivered sequences in stream order. All pending ones are in it; others leave it later.
        self._window: deque[int] = deque()
        self._deadlines = SequenceHeap()  # of messages that are aside and not queued
        self._latest = 0  # no deadline in `aside` is later than this
        self._given_up = SequenceHeap()  # sequences in `redelivered` that are not pending
        self._changes: ConsumerChange | None = None  # since the last save; only if there are `MANY` messages
        self._remains: list[Heap] = []

    @property
    def outstanding(self) -> int:
        """How many messages are pending."""
        return len(self.pending) + len(self.aside)

    @property
    def stalled(self) -> bool:
        """Whether no new message may be delivered before some are acked."""
        return 0 < self.max_ack_pending <= len(self.pending) + len(self.aside)

    def entry(self, seq: int) -> Entry | None:
        """Return (consumer seq, time of the last delivery) of a pending message; None if it is not."""
        return self.pending.get(seq) or self.aside.get(seq)

    def remains(self) -> list[Heap]:
        """Return large objects that are no longer used, for the caller to free in slices."""
        remains, self._remains = self._remains, []
        return remains

    def start(self, stream_seq: int) -> None:
        """Begin after `stream_seq`, with nothing delivered: the next delivery gets the number 1."""
        self.consumer_seq = self.floor_consumer = 0
        self.stream_seq = self.floor_stream = stream_seq
        self.drop_all()

    def skip_to(self, stream_seq: int) -> None:
        """Continue after `stream_seq`, when nothing is pending and all messages up to there are gone."""
        self.stream_seq = stream_seq
        self.advance_floor()

    def drop_all(self) -> None:
        """Forget all pending messages and delivery counts, in constant time; see `remains`."""
        self._remains += [self.pending, self.aside, self.redelivered, self.queued]
        self._remains += [*self._deadlines.remains(), *self._given_up.remains()]
        self.pending, self.aside, self.redelivered, self.queued = {}, {}, {}, OrderedDict()
        self._window = deque()
        self._changes = None

    def restore(self, state: ConsumerState, now: int) -> None:
        """Take over a saved state. Pending messages keep the time of their last delivery."""
        self.drop_all()
        self.consumer_seq, self.stream_seq = state.delivered
        self.floor_consumer, self.floor_stream = state.ack_floor
        self.redelivered.update(state.redelivered)
        for seq, entry in sorted(state.pending.items(), key=lambda item: item[1][1]):
            if entry[1] > now:  # delayed, see `delay`
                self._set_aside(seq, entry, entry[1] + self.wait(seq))
            else:
                self._wait(seq, entry)
        for seq in state.redelivered:
            if seq not in state.pending:
                self._given_up.set(seq, seq)
        self._window.extend(sorted(state.pending))

    def state(self) -> ConsumerState:
        """Return a copy of the whole state."""
        return ConsumerState(
            (self.consumer_seq, self.stream_seq),
            (self.floor_consumer, self.floor_stream),
            {**self.pending, **self.aside},
            dict(self.redelivered),
        )

    def to_save(self) -> ConsumerState | ConsumerChange:
        """Return a copy of what must be saved: the whole state, or what changed since the last call."""
        changes = self._changes
        self.saved()
        if changes is None:
            return self.state()
        changes.delivered = (self.consumer_seq, self.stream_seq)
        changes.ack_floor = (self.floor_consumer, self.floor_stream)
        return changes

    def saved(self) -> None:
        """Take note that the state is saved. If it is large, `to_save` returns only later changes."""
        much = len(self.pending) + len(self.aside) + len(self.redelivered) > MANY
        self._changes = ConsumerChange() if much else None

    def deliver(self, seq: int, now: int) -> int:
        """Record the first delivery of `seq`, above all sequences before; return its consumer sequence."""
        self.consumer_seq = number = self.consumer_seq + 1
        self.stream_seq = seq
        if self.track:
            if self.backoff or self._changes is not None:
                self._wait(seq, (number, now))
            else:
                self.pending[seq] = (number, now)
            self._window.append(seq)
        else:
            self.floor_consumer, self.floor_stream = number, seq
        return number

    def deliver_run(self, seqs: Sequence[int], now: int) -> None:
        """Record the first deliveries of these messages, at least one, as `deliver` does one by one."""
        entries = zip(range(self.consumer_seq + 1, self.consumer_seq + 1 + len(seqs)), repeat(now))
        self.consumer_seq, self.stream_seq = self.consumer_seq + len(seqs), seqs[-1]
        if not self.track:
            self.floor_consumer, self.floor_stream = self.consumer_seq, self.stream_seq
            return
        self._window.extend(seqs)
        if not self.backoff and self._changes is None:
            self.pending.update(zip(seqs, entries, strict=True))
            return
        for seq, entry in zip(seqs, entries, strict=True):
            self._wait(seq, entry)

    def redeliver(self, seq: int, now: int) -> int:
        """Record another delivery of the pending `seq`; return the consumer sequence of this delivery."""
        self.consumer_seq = number = self.consumer_seq + 1
        self.recount(seq, self.redelivered.get(seq, 0) + 1)
        self._wait(seq, (self._take_out(seq)[0], now))
        return number

    def undo(self, seq: int, count: int, before: Entry) -> None:
        """Take back the last delivery, which reached nobody. before: (consumer_seq, stream_seq) before it."""
        self.consumer_seq, self.stream_seq = before
        if count > 1:
            self.recount(seq, max(self.redelivered.get(seq, 1) - 1, 0))
            if self.entry(seq) is not None:
                self.queue_first(seq)
        elif self.track:
            self.forget(seq)
            if self._window and self._window[-1] == seq:
                self._window.pop()
        else:
            self.floor_consumer, self.floor_stream = before

    def deliveries(self, seq: int) -> int:
        """Return how often the pending `seq` was delivered."""
        return self.redelivered.get(seq, 0) + 1

    def _wait(self, seq: int, entry: Entry) -> None:
        """Let a message wait for its ack from the time in `entry`, which no other entry's time exceeds."""
        if self.backoff:
            self._set_aside(seq, entry, entry[1] + self.wait(seq))
            return
        self.pending[seq] = entry
        if self._changes is not None:
            self._changes.pending[seq] = entry

    def _set_aside(self, seq: int, entry: Entry, deadline: int, *, queued: bool = False) -> None:
        """Let a message wait until `deadline`, or queue it, which ends the wait."""
        self.aside[seq] = entry
        self._latest = max(self._latest, deadline)
        if queued:
            self.queued[seq] = None
        else:
            self._deadlines.set(seq, deadline)
        if self._changes is not None:
            self._changes.pending[seq] = entry

    def _take_out(self, seq: int) -> Entry:
        """Take a pending message from where it is kept; return its entry."""
        entry = self.pending.pop(seq, None)
        if entry is None:
            entry = self.aside.pop(seq)
            self.queued.pop(seq, None)
            self._deadlines.drop(seq)
        return entry

    def forget(self, seq: int) -> Entry | None:
        """Make a message no longer pending; return its entry, None if it was not pending."""
        if seq not in self.pending and seq not in self.aside:
            return None
        if self._changes is not None:
            self._changes.pending[seq] = None
        return self._take_out(seq)

    def recount(self, seq: int, count: int) -> None:
        """Record how often a message was redelivered."""
        if count:
            self.redelivered[seq] = count
        elif self.redelivered.pop(seq, None) is None:
            return
        else:
            self._given_up.drop(seq)
        if self._changes is not None:
            self._changes.redelivered[seq] = count

    def ack(self, seq: int) -> bool:
        """Acknowledge a message; return False if it is not pending (acked before, gone, never delivered)."""
        return self.ack_run([seq])

    def ack_run(self, seqs: list[int]) -> bool:
        """Acknowledge these messages, as `ack` does one by one; return whether any was pending."""
        if self.redelivered:
            for seq in seqs:
                self.recount(seq, 0)
        if self.aside or self._changes is not None:
            acked = [seq for seq in seqs if self.forget(seq) is not None]
        else:
            pop = self.pending.pop
            acked = [seq for seq in seqs if pop(seq, None) is not None]
        if acked:  # once for all: the floor moves if the lowest is below what is still pending
            self.advance_floor(min(acked))
        return bool(acked)

    def ack_through(self, number: int, seq: int, most: int = STEP) -> tuple[list[int], bool]:
        """Acknowledge up to stream sequence `seq`, delivered as `number`: about `most`, the oldest first.

        Returns the sequences that were pending or given up until now, and whether those are all.
        """
        acked: list[int] = []
        if number <= self.floor_consumer or seq <= self.floor_stream:
            return acked, True
        window = self._window
        last = (self.floor_consumer, self.floor_stream)
        for _ in range(most):
            if not window or window[0] > seq:
                break
            one = window.popleft()
            if (entry := self.forget(one)) is not None:
                self.recount(one, 0)
                acked.append(one)
                last = (max(last[0], entry[0]), max(last[1], one))
        bound = min(seq, window[0]) if window else seq
        while len(acked) < 2 * most and (one := self._given_up.take(bound)):
            self.recount(one, 0)
            acked.append(one)
        done = not (window and window[0] <= seq) and (self._given_up.first() or seq + 1) > seq
        self.floor_consumer, self.floor_stream = (number, seq) if done else last
        return acked, done

    def touch(self, seq: int, now: int) -> bool:
        """Restart the ack wait of a pending message (+WPI); return False if it is not pending."""
        if self.entry(seq) is None:
            return False
        if seq in self.queued:
            self._set_aside(seq, (self.aside[seq][0], now), now, queued=True)
        else:
            self._wait(seq, (self._take_out(seq)[0], now))
        return True

    def delay(self, seq: int, now: int, delay: int) -> None:
        """Redeliver a pending message after `delay` ns (-NAK with a delay)."""
        # With this time in the entry, a restart calculates the same deadline from the saved state.
        entry = (self._take_out(seq)[0], now + delay - self.wait(seq))
        self._set_aside(seq, entry, now + delay)

    def gone(self, seq: int) -> Entry | None:
        """Drop a message that left the stream; return (consumer seq, deliveries) if it was pending."""
        entry = self.entry(seq)
        if entry is None:
            self.recount(seq, 0)
            return None
        count = self.deliveries(seq)
        self.ack(seq)
        return entry[0], count

    def purging(self, first_seq: int, gone: Iterable[int] | None) -> Iterator[None]:
        """Drop, in steps, messages that left the stream: these, or (None) all below `first_seq`."""
        if gone is not None:
            for seq in gone if self.outstanding or self.redelivered else ():
                self.gone(seq)
        elif first_seq > self.stream_seq:
            self.drop_all()
            self.advance_floor()
        else:
            yield from self._dropping(first_seq)

    def _dropping(self, first_seq: int) -> Iterator[None]:
        window, given_up = self._window, self._given_up
        while window and window[0] < first_seq:
            for seq in list(islice(window, STEP)):
                if seq < first_seq:
                    self.gone(seq)
            while window and window[0] < first_seq and self.entry(window[0]) is None:
                window.popleft()
            yield
            window = self._window
        while seq := given_up.take(first_seq - 1):
            self.recount(seq, 0)
            if len(given_up) % STEP == 0:
                yield

    def give_up(self, seq: int) -> int:
        """Stop delivering a pending message that is out of deliveries; return how often it was delivered.

        Its count stays, so that a stream which keeps messages for its consumers keeps this one. The ack
        floor stays until the next ack, as on the reference.
        """
        count = self.deliveries(seq)
        self.recount(seq, count)
        self.forget(seq)
        self._given_up.set(seq, seq)
        return count

    def advance_floor(self, done: int = 0) -> None:
        """Move the ack floor up to just below the lowest pending message.

        As on the reference, this happens only if `done` was the lowest one (or is 0).
        """
        pending, aside, window = self.pending, self.aside, self._window
        if not pending and not aside:
            self.floor_consumer, self.floor_stream = self.consumer_seq, self.stream_seq
            if window:
                window.clear()
            return
        lowest = window[0]
        while lowest not in pending and lowest not in aside:
            window.popleft()
            lowest = window[0]
        if done < lowest and lowest - 1 > self.floor_stream:
            entry = pending.get(lowest) or aside[lowest]
            self.floor_consumer, self.floor_stream = entry[0] - 1, lowest - 1
        if len(window) > 2 * (len(pending) + len(aside)) + 1024:
            self._window = deque([seq for seq in window if seq in pending or seq in aside])

    def wait(self, seq: int) -> int:
        """Return how long (ns) the last delivery of `seq` may go without an ack."""
        if self.backoff:
            return self.backoff[min(self.redelivered.get(seq, 0), len(self.backoff) - 1)] + GRACE
        return self.ack_wait + GRACE

    def queue(self, seq: int) -> None:
        """Queue a pending message for redelivery, if it is not queued yet."""
        if seq not in self.queued:
            entry = self._take_out(seq)
            self._set_aside(seq, entry, entry[1] + self.wait(seq), queued=True)

    def queue_first(self, seq: int) -> None:
        """Queue a message before all others, because it was taken and could not be sent."""
        self.queue(seq)
        self.queued.move_to_end(seq, last=False)

    def take(self) -> int:
        """Take the next message from the queue for redelivery; 0 if there is none."""
        return self.queued.popitem(last=False)[0] if self.queued else 0

    def unqueueing(self) -> Iterator[None]:
        """Empty the queue for redelivery, in steps: its messages wait for their acks again."""
        queued, self.queued = self.queued, OrderedDict()
        while queued:
            seq, _ = queued.popitem(last=False)
            entry = self.aside.get(seq)
            if entry is not None and seq not in self.queued and seq not in self._deadlines:
                self._set_aside(seq, entry, entry[1] + self.wait(seq))
            if queued and len(queued) % STEP == 0:
                yield

    def exhausted(self, seq: int) -> bool:
        """Return whether a pending message has been delivered as often as it may be, or is leaving."""
        return (self.max_deliver > 0 and self.deliveries(seq) >= self.max_deliver) or seq in self.leaving

    def expire(self, now: int, most: int = STEP) -> list[int]:
        """Queue up to `most` pending messages whose wait is over; return those that are out of deliveries.

        The latter are not queued: the caller gives up each of them (`give_up`) and publishes its advisory.
        """
        expired: list[int] = []
        if not self.backoff:
            limit = now - self.ack_wait - GRACE
            for seq, entry in self.pending.items():
                if entry[1] > limit or len(expired) >= most:
                    break
                expired.append(seq)
        while len(expired) < most and (seq := self._deadlines.take(now)):
            expired.append(seq)
        expired.sort()
        exhausted = []
        for seq in expired:
            if self.exhausted(seq):
                exhausted.append(seq)
            else:
                self._set_aside(seq, (self._take_out(seq)[0], now), now + self.wait(seq), queued=True)
        return exhausted

    def expiring_all(self) -> Iterator[list[int]]:
        """Do what `expire` does, in steps, with every wait over, because the deliver subject changed."""
        exhausted: list[int] = []
        for place, seq in enumerate(list(self._window), 1):
            if seq not in self.queued and self.entry(seq) is not None:
                if self.exhausted(seq):
                    exhausted.append(seq)
                else:
                    self.queue(seq)
            if place % STEP == 0:
                yield exhausted
                exhausted = []
        yield exhausted

    def retiming(self) -> Iterator[None]:
        """Recalculate all deadlines, in steps, because ack_wait or backoff changed."""
        self._latest = 0
        for place, seq in enumerate(list(self.aside), 1):
            entry = self.aside.get(seq)
            if entry is not None:
                self._set_aside(seq, entry, entry[1] + self.wait(seq), queued=seq in self.queued)
            if place % STEP == 0:
                yield
        while self.backoff and self.pending:
            for seq in list(islice(self.pending, STEP)):
                self._wait(seq, self._take_out(seq))
            if self.pending:
                yield

    def next_deadline(self) -> int | None:
        """Return the time when `expire` next finds something, ns; None if nothing waits."""
        if not self.ack_wait and not self.backoff:
            return None
        nearest = self._deadlines.first()
        if self.pending and not self.backoff:
            oldest = next(iter(self.pending.values()))[1] + self.ack_wait + GRACE
            nearest = oldest if nearest is None else min(nearest, oldest)
        return nearest

    def last_deadline(self) -> int:
        """Return a time (ns) when all waits are over; 0 if nothing waits."""
        last = self._latest if self.aside else 0
        if self.pending:
            last = max(last, next(reversed(self.pending.values()))[1] + self.ack_wait + GRACE)
        return last

    def needs(self, seq: int) -> bool:
        """Return whether the message `seq` must be kept for this consumer (interest, work queue)."""
        return seq in self.redelivered or seq > self.stream_seq or seq in self.pending or seq in self.aside
